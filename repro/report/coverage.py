"""The command `coverage`: which test judges each claim of the sources, where, and how it went.

`coverage.toml` beside the claims lists what the sources claim, in a few words each, with the tests
that judge it. Everything else is read: the tests' decorators, without importing them, and the
ledgers beside them.
"""

from __future__ import annotations

import argparse
import ast
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from repro.ledger import Entry, folders_with_ledgers, read_ledgers
from repro.report.markdown import as_code, as_text, table_row
from repro.text import shown

NAME = "coverage.toml"
DOCUMENT = "the document"


class CoverageError(Exception):
    """A list of claims that cannot be shown; says where and what to do."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One claim of a source, as `coverage.toml` has it."""

    source: str
    number: str
    says: str
    """The claim in a few words."""
    read: str
    """The day on which it was last read against the original."""
    mended: str
    """The change that was made then; "nothing" if none was."""
    judged_by: tuple[str, ...] = ()
    """Names of claims, without their source; in brackets a part of the cases' names, if not all."""
    tested_by: tuple[str, ...] = ()
    """Paths of ordinary tests, for what holds exactly: `tests/test_x.py::test_y`."""

    @property
    def judges(self) -> list[tuple[str, str]]:
        """The names of its claims in the ledger, without parameters, and what cases are named."""
        parts = (name.removesuffix("]").partition("[") for name in self.judged_by)
        return [(f"{self.source}/{name}", case) for name, _, case in parts]


@dataclass(frozen=True)
class Judge:
    """A claim's test, as its file has it."""

    sizes: str
    """The sizes at which it can be judged, in words."""
    needs: str
    """The need that keeps it from ever running; else empty."""


def add_to(commands: Any) -> None:
    """Add `coverage` to the commands of a parser.

    >>> add_to(argparse.ArgumentParser().add_subparsers())
    """
    parser = commands.add_parser("coverage", help="show which test judges each claim of a source")
    parser.add_argument("claims", type=Path, metavar="CLAIMS", help=f"folder that holds {NAME}")
    parser.add_argument("--into", type=Path, metavar="FILE", help="write it to this file instead")
    parser.set_defaults(run=_run)


def coverage_page(claims: Path) -> str:
    """Return the page about the claims in a folder; raise CoverageError where one is not judged.

    >>> print(coverage_page(Path("claims")))
    """
    rows = read_rows(claims / NAME)
    files = sorted(claims.rglob("test_*.py"))
    judges = dict(each for path in files for each in read_judges(path))
    entries = _by_test(
        entry
        for folder in folders_with_ledgers(claims)
        for ledger in read_ledgers(folder)
        for entry in ledger.entries.values()
    )
    for row in rows:
        _require_judged(row, judges, claims.parent)
    parts = [_HEAD]
    for source in dict.fromkeys(row.source for row in rows):
        lines = [
            ("claim", "says", "judged by", "sizes", "verdicts", "last read", "mended then"),
            ("--:", *["---"] * 6),
            *(_line(row, judges, entries) for row in rows if row.source == source),
        ]
        table = "".join(f"{table_row(line)}\n" for line in lines)
        parts.append(f"## Source {source}\n\n{table}")
    return "\n".join(parts)


def read_rows(path: Path) -> list[Row]:
    """Return the claims that a file lists; raise CoverageError where it is not sound."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))["claim"]
        rows = [Row(**{k: _frozen(v) for k, v in table.items()}) for table in tables]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise CoverageError(
            f"{path} cannot be read ({error}); list each claim as [[claim]], with source, number,"
            " says, judged_by or tested_by, read and mended."
        ) from error
    twice = [each for each, n in Counter((r.source, r.number) for r in rows).items() if n > 1]
    if twice:
        raise CoverageError(f"{path} lists claim {twice[0][1]} of source {twice[0][0]} twice.")
    return rows


def read_judges(path: Path) -> Iterator[tuple[str, Judge]]:
    """Yield the claims in a file, named as in the ledger without parameters, and their judges."""
    known: dict[str, str] = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            known[node.targets[0].id] = _text(node.value, known)
        if isinstance(node, ast.FunctionDef) and (mark := _mark(node, known)) is not None:
            source = mark.get("source", "").partition(",")[0].strip()
            name = f"{source}/{node.name.removeprefix('test_')}"
            yield name, Judge(_sizes(node, mark), _needs(node))


def _mark(function: ast.FunctionDef, known: Mapping[str, str]) -> dict[str, str] | None:
    """Return the texts that a test's claim is given by name; None where it is no claim."""
    for each in function.decorator_list:
        if isinstance(each, ast.Call) and getattr(each.func, "id", None) == "claim":
            return {
                keyword.arg: _text(keyword.value, known) for keyword in each.keywords if keyword.arg
            }
    return None


def _text(value: ast.expr, known: Mapping[str, str]) -> str:
    """Return a text of a module, made of texts that are known; empty where it is none."""
    if isinstance(value, ast.Constant):
        return value.value if isinstance(value.value, str) else ""
    if isinstance(value, ast.Name):
        return known.get(value.id, "")
    if isinstance(value, ast.FormattedValue):
        return _text(value.value, known)
    return "".join(_text(each, known) for each in getattr(value, "values", []))


def _sizes(function: ast.FunctionDef, mark: Mapping[str, str]) -> str:
    if "document" in [argument.arg for argument in function.args.args]:
        return DOCUMENT
    sizes = {
        _text(keyword.value, {})
        for call in ast.walk(function)
        if isinstance(call, ast.Call)
        for keyword in call.keywords
        if keyword.arg == "size"
    }
    if sizes:
        return f"{', '.join(sorted(sizes))}, untrained"
    return mark.get("only_at") or "ci, paper"


def _needs(function: ast.FunctionDef) -> str:
    """Return what a test needs that does nothing but say so."""
    for each in function.body:
        raised = each.exc if isinstance(each, ast.Raise) else None
        if (
            isinstance(raised, ast.Call)
            and raised.args
            and isinstance(raised.args[0], ast.Constant)
        ):
            return str(raised.args[0].value)
    return ""


def _by_test(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    """Return the entries of each test of each source, without parameters."""
    by_test: dict[str, list[Entry]] = {}
    for entry in entries:
        by_test.setdefault(entry.claim.partition("[")[0], []).append(entry)
    return by_test


def _require_judged(row: Row, judges: Mapping[str, Judge], root: Path) -> None:
    where = f"Claim {row.number} of source {row.source} in {NAME}"
    for name in ("says", "read", "mended"):
        if not getattr(row, name).strip():
            raise CoverageError(f"{where} has no {name}; write it, and “nothing” for nothing.")
    if not row.judged_by and not row.tested_by:
        raise CoverageError(f"{where} is judged by nothing; name a test.")
    for name, _ in row.judges:
        if name not in judges:
            raise CoverageError(f"{where} is judged by {name!r}, which is no claim; rename it.")
    for name in row.tested_by:
        path, _, test = name.partition("::")
        if not (root / path).is_file() or f"def {test}(" not in (root / path).read_text("utf-8"):
            raise CoverageError(f"{where} is tested by {name!r}, which there is not; rename it.")


def _line(
    row: Row, judges: Mapping[str, Judge], entries: Mapping[str, list[Entry]]
) -> tuple[str, ...]:
    tests = [as_code(name) for name in (*row.judged_by, *row.tested_by)]
    sizes = dict.fromkeys(judges[name].sizes for name, _ in row.judges)
    cases = {
        (name, case): [e for e in entries.get(name, []) if case in e.claim.partition("[")[2]]
        for name, case in row.judges
    }
    said = _verdicts(entry for judged in cases.values() for entry in judged)
    said += dict.fromkeys(_open(judges[name]) for (name, _), judged in cases.items() if not judged)
    if row.tested_by:
        said.append("holds exactly, by ordinary tests")
    return (
        as_text(row.number),
        as_text(row.says),
        "<br>".join(tests),
        "; ".join(sizes) or "any",
        "<br>".join(said),
        as_text(row.read),
        as_text(row.mended),
    )


def _open(judge: Judge) -> str:
    """Say why a claim has no verdict in any ledger."""
    if judge.needs:
        return f"not run: {as_text(judge.needs)}"
    return "not run: needs `--profile paper`" if judge.sizes == "paper" else "no verdict yet"


def _verdicts(entries: Iterable[Entry]) -> list[str]:
    """Return how often each verdict was accepted, by profile and data."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for entry in entries:
        counts.setdefault((entry.profile, entry.data), Counter())[entry.verdict] += 1
    return [
        f"{data if data == DOCUMENT else f'{profile}, {as_text(data)}'}: "
        + ", ".join(f"{count} {verdict}" for verdict, count in sorted(by_verdict.items()))
        for (profile, data), by_verdict in sorted(counts.items())
    ]


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _run(chosen: argparse.Namespace) -> int:
    try:
        page = coverage_page(chosen.claims)
        if chosen.into is None:
            print(page, end="")
        else:
            chosen.into.write_text(page, encoding="utf-8")
    except (CoverageError, OSError, SyntaxError) as error:
        print(shown(str(error)), file=sys.stderr)
        return 1
    return 0


_HEAD = """\
# Coverage

Every claim of the sources, the test that judges it, the sizes at which it can be judged, and the
verdicts in the ledgers, counted over a test's cases. Several claims may share a test. `paper` is
the documented size; a verdict at `ci` is about the small size, and never stands for it. “Last read”
is the day on which claim and test were last held against the original text, sentence by sentence.
[Findings](findings.md) say in prose what was found.

Written by `python -m repro coverage claims --into docs/coverage.md`, from `claims/coverage.toml`,
the tests and the ledgers.
"""
