"""Fail where a ledger has a verdict that the evidence beside it does not give.

    python scripts/ledger_rests_on_evidence.py claims/ledger REPORT/results.json ...

A `results.json` is what `pytest claims --evidence FILE --report REPORT` wrote for one file.
"""

import json
import sys
from pathlib import Path

from repro.ledger import Entry, entries_at


def disagreements(entries: list[Entry], results: list[Path]) -> list[str]:
    """Return a line for each entry that is judged otherwise from evidence, or not at all."""
    judged = {
        (claim["claim"], claim["profile"], claim["data"]): claim["verdict"]
        for path in results
        for claim in json.loads(path.read_text(encoding="utf-8"))["claims"]
        if claim["verdict"] != "not run"
    }
    return [
        f"{' '.join(entry.place)}: {entry.verdict} in the ledger,"
        f" {judged.get(entry.place, 'not judged')} from evidence"
        for entry in entries
        if judged.get(entry.place) != entry.verdict
    ]


if __name__ == "__main__":
    ledger, *results = map(Path, sys.argv[1:])
    lines = disagreements(entries_at(ledger), results)
    print("\n".join(lines) or f"every verdict of {ledger} is given by the evidence")
    sys.exit(bool(lines))
