"""The runs of parameter-golf's track of ten minutes: `python golf.py CLONE > golf.csv`.

A row is an evaluation that a log names at the end of a run, such as `final_int8_zlib_roundtrip
val_loss:X val_bpb:Y`; a record has several, and its README says which one counts. If the log
prints one again as `…_exact`, that has all digits and is the row. Nothing but logs is read. The
seed is the one that the log prints. A log that repeats another of its record is left out.
"""

import csv
import re
import sys
from collections.abc import Iterator
from pathlib import Path

FOLDER = "records/track_10min_16mb"
LOGS = ".log", ".txt"
COLUMNS = "record", "arm", "run", "seed", "evaluation", "val_loss", "val_bpb"

EVALUATION = re.compile(
    r"^(?:[\d.]+ )?([a-z][\w -]*?)(_exact)?(?: stride:\d+)? val_loss:([\d.]+) val_bpb:([\d.]+)",
    re.MULTILINE,
)
SEED = re.compile(r"^(?:[\d.]+ )? *seed: *(\d+)$|\bseed=(\d+) ", re.MULTILINE)
NAMES_A_RUN = re.compile(r"seed[-_]?\d+|(?<=_)\d+$|^train\d*|^logs?$")


def evaluations(text: str) -> dict[str, tuple[str, str]]:
    """Return the loss and the bits per byte of each evaluation of a log, by its name.

    >>> evaluations("step:9/9 val_loss:2.1 val_bpb:1.2\\nfinal val_loss:2.0 val_bpb:1.2\\n"
    ...             "final_exact val_loss:2.0345 val_bpb:1.2345")
    {'final': ('2.0345', '1.2345')}
    """
    found: dict[str, tuple[str, str]] = {}
    exact: set[str] = set()
    for name, is_exact, loss, bpb in EVALUATION.findall(text):
        if is_exact or name not in exact:
            found[name] = loss, bpb
        if is_exact:
            exact.add(name)
    return found


def rows(clone: Path) -> Iterator[dict[str, str]]:
    """Yield a row for each evaluation in the logs of a clone; say on stderr what was left out."""
    top = clone / FOLDER
    if not top.is_dir():
        sys.exit(f"{clone} has no {FOLDER}: give the path of a clone of parameter-golf.")
    known: dict[tuple[str, str], str] = {}
    for log in sorted(each for each in top.rglob("*") if each.suffix in LOGS):
        name = log.relative_to(top)
        text = log.read_text(errors="replace")
        found = evaluations(text)
        seeds = {one or other for one, other in SEED.findall(text)}
        if not found or len(seeds) != 1:
            what = "no named val_loss:X val_bpb:Y" if not found else f"{len(seeds)} seeds"
            print(f"{name}: {what}", file=sys.stderr)
            continue
        first = known.setdefault((name.parts[0], text), name.as_posix())
        if first != name.as_posix():
            print(f"{name}: the same text as {first}", file=sys.stderr)
            continue
        parts = [*name.parts[1:-1], name.name.removesuffix(name.suffix)]
        words = (NAMES_A_RUN.sub("", part).strip("-_") for part in parts)
        where = {"record": name.parts[0], "arm": "/".join(filter(None, words)) or "."}
        where |= {"run": name.as_posix(), "seed": seeds.pop()}
        for evaluation, (loss, bpb) in found.items():
            yield {**where, "evaluation": evaluation, "val_loss": loss, "val_bpb": bpb}


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("Usage: python golf.py PATH_OF_A_CLONE > golf.csv")
    table = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n")
    table.writeheader()
    table.writerows(rows(Path(sys.argv[1])))
