"""The runs of MLPerf Training: `python mlperf.py CLONE > mlperf.csv`.

A row is a run: a file `SUBMITTER/results/SYSTEM/BENCHMARK/result_N.txt`, of which the lines
`:::MLLOG {…}` are read and nothing else. An accuracy is the last that was logged, in a column of
its own where the log names its metric (FID, CLIP). Minutes run from `run_start` to `run_stop`, and
only a run that stopped with success has them.
"""

import csv
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

METRICS = "eval_accuracy", "FID", "CLIP"
COLUMNS = (
    *("submitter", "system", "benchmark", "run", "seed", "global_batch_size", "status"),
    *METRICS,
    "minutes",
)
KEYS = "seed", "global_batch_size", "run_start", "run_stop", "eval_accuracy"
LINE = re.compile(rf':::MLLOG (\{{.*"key": "(?:{"|".join(KEYS)})".*\}})\s*$', re.MULTILINE)


def run(text: str) -> dict[str, object]:
    """Return what a log says of its run.

    >>> run('''
    ... :::MLLOG {"time_ms": 0, "key": "seed", "value": 7, "metadata": {}}
    ... :::MLLOG {"time_ms": 60000, "key": "run_start", "value": null, "metadata": {}}
    ... :::MLLOG {"time_ms": 90000, "key": "eval_accuracy", "value": 0.7, "metadata": {}}
    ... :::MLLOG {"time_ms": 240000, "key": "run_stop", "metadata": {"status": "success"}}
    ... ''')
    {'seed': 7, 'eval_accuracy': 0.7, 'status': 'success', 'minutes': '3.0000'}
    """
    found: dict[str, object] = {}
    began = None
    for line in LINE.findall(text):
        event = json.loads(line)
        key, about = event["key"], event.get("metadata") or {}
        if key == "run_start":
            began = event["time_ms"]
        elif key == "run_stop":
            found["status"] = about.get("status", event.get("value"))
            if found["status"] == "success" and began is not None:
                found["minutes"] = f"{(event['time_ms'] - began) / 60_000:.4f}"
        elif key == "eval_accuracy":
            found[about.get("metric", key)] = event["value"]
        else:
            found[key] = event["value"]
    return found


def rows(clone: Path) -> Iterator[dict[str, object]]:
    """Yield a row for each run of a clone; say on stderr which have no minutes."""
    logs = sorted(clone.glob("*/results/*/*/result_*.txt"))
    if not logs:
        sys.exit(
            f"{clone} has no file SUBMITTER/results/SYSTEM/BENCHMARK/result_N.txt: give the path of"
            " a clone of training_results_v5.0."
        )
    for log in logs:
        found = run(log.read_text(errors="replace"))
        name = log.relative_to(clone)
        if "minutes" not in found:
            status = found.get("status", "no run_stop")
            print(f"{name}: {status}, so it has no minutes", file=sys.stderr)
        submitter, _, system, benchmark, _ = name.parts
        where = {"submitter": submitter, "system": system, "benchmark": benchmark}
        yield {**where, "run": name.name, **found}


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("Usage: python mlperf.py PATH_OF_A_CLONE > mlperf.csv")
    table = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n")
    table.writeheader()
    table.writerows(rows(Path(sys.argv[1])))
