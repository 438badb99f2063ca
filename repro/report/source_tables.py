"""Tables of one source: the verdict on each claim, and each figure beside what is documented."""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from repro.data.files import TWIN
from repro.ledger import KINDS, VERDICTS, Entry
from repro.report.counts import MANY
from repro.report.markdown import as_code, as_text, table_row

SIZES = ("small", "documented", "any")
"""The sizes of experiments, smallest first; what has no size is the same at any."""

PROFILE_SIZES = {"any": "any", "paper": "documented"}


def source_of(entry: Entry) -> str:
    """Return the source that an entry's claim is about."""
    return entry.claim.partition("/")[0]


def size_of(profile: str) -> str:
    """Return the size of the experiments of a profile, as `SIZES` has it."""
    return PROFILE_SIZES.get(profile, "small")


def source_tables(
    entries: Iterable[Entry], source: str, *, figures: Sequence[dict[str, Any]] = ()
) -> str:
    """Return the claims of a source with their verdicts, and its figures, as Markdown tables.

    A verdict is that at the largest size at which a claim was judged on this data. Verdicts on
    generated data are left out where there is one on the data that it stands for. A figure that
    is given at several sizes has a table of each, the documented one first.

    >>> print(source_tables(entries_at(Path("claims/ledger")), "004"))
    """
    of_it = [entry for entry in entries if source_of(entry) == source]
    if not of_it:
        raise ValueError(f"The ledgers have no claim of a source {source!r}.")
    parts = []
    for kind in KINDS:
        if of_kind := [entry for entry in of_it if entry.kind == kind]:
            title = MANY[kind].replace("sources'", "source's")
            parts.append(f"### {title[0].upper()}{title[1:]}\n\n{_claims(of_kind)}")
    by_title: dict[str, list[str]] = {}
    for figure in sorted(figures, key=lambda figure: -SIZES.index(size_of(figure["profile"]))):
        if figure["source"].partition(",")[0] == source:
            by_title.setdefault(figure["title"], []).append(_figure(figure))
    for title, tables in by_title.items():
        parts.append(f"### {as_text(title)}\n\n" + "\n".join(tables))
    return "\n".join(parts)


def read_figures(path: Path) -> list[dict[str, Any]]:
    """Return the figures of a report's `results.json`; raise ValueError where it is none."""
    try:
        figures = json.loads(path.read_text(encoding="utf-8"))["figures"]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ValueError(
            f"{path} is no results.json of a report ({error}); pytest --report FOLDER writes one."
        ) from error
    return list(figures)


def _claims(entries: Iterable[Entry]) -> str:
    """Return a row for each claim, and a column for each data set on which any was judged."""
    by_claim: dict[str, list[Entry]] = {}
    for entry in entries:
        by_claim.setdefault(entry.claim.partition("[")[0], []).append(entry)
    shown = {name: _most_telling(cases) for name, cases in sorted(by_claim.items())}
    data = sorted({entry.data for cases in shown.values() for entry in cases})
    lines = [("claim", *map(as_text, data)), ["---"] * (1 + len(data))]
    for name, cases in shown.items():
        said = as_text(cases[0].sentence)
        if len({case.sentence for case in cases}) > 1:
            said += ", and the like"
        cells = [_verdicts([case for case in cases if case.data == each]) for each in data]
        lines.append((f"{said}<br>{as_code(name.partition('/')[2])}", *cells))
    return "".join(f"{table_row(line)}\n" for line in lines)


def _most_telling(cases: Iterable[Entry]) -> list[Entry]:
    """Return the largest experiment of each case on each data set, real where there is real."""
    largest: dict[tuple[str, str], Entry] = {}
    for entry in sorted(cases, key=lambda entry: SIZES.index(size_of(entry.profile))):
        largest[entry.claim, entry.data] = entry
    return [
        entry
        for (claim, data), entry in largest.items()
        if not data.endswith(TWIN) or (claim, data.removesuffix(TWIN)) not in largest
    ]


def _verdicts(cases: Sequence[Entry]) -> str:
    """Return the verdicts on the cases of a claim by size; of a single case also its numbers."""
    parts = []
    for size in reversed(SIZES):
        of_size = [case for case in cases if size_of(case.profile) == size]
        if not of_size:
            continue
        counts = Counter(case.verdict for case in of_size)
        said = ", ".join(f"{counts[v]} {v}" for v in VERDICTS if counts[v])
        if len(of_size) == 1:
            said = as_text(f"{of_size[0].verdict}: {of_size[0].measured}")
        parts.append(said if size == "any" else f"*{size} size*: {said}")
    return "<br>".join(parts)


def _figure(figure: dict[str, Any]) -> str:
    """Return each point of a figure: what is documented, and our mean, deviation and seeds.

    A point that is neither documented nor trained is left out.
    """
    x = as_text(figure["x"])
    head = ("panel", "line", x, "documented", "our mean", "standard deviation", "seeds")
    lines = [head, (*["---"] * 2, *["--:"] * 5)]
    for panel in figure["panels"]:
        for line in panel["lines"]:
            documented = line["documented"] or [None] * len(line["at"])
            for at, values, said in zip(line["at"], line["values"], documented, strict=True):
                if said is None and not values:
                    continue
                mean = f"{statistics.mean(values):.4g}" if values else ""
                deviation = f"{statistics.stdev(values):.2g}" if len(values) > 1 else ""
                lines.append(
                    (
                        as_text(panel["title"]),
                        as_text(line["label"]),
                        f"{at:g}",
                        "" if said is None else f"{said:g}",
                        mean,
                        deviation,
                        str(len(values)),
                    )
                )
    data = ", ".join(map(as_text, figure["data"])) or "nothing yet"
    place = f"At the {size_of(figure['profile'])} size, on {data}."
    return f"{place}\n\n" + "".join(f"{table_row(line)}\n" for line in lines)
