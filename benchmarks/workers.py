"""What pytest's workers add to the training: `pytest claims -n 1, 2, 4`, cold and warm.

    python benchmarks/workers.py                                # all claims: hours
    python benchmarks/workers.py claims/test_depth_ladder.py -k d512 --seed-budget 5    # minutes

The arguments are pytest's. Each line is one number of workers: seconds with an empty store, and
with the store that this left; the share of the workers' time, of the first, in which none of their
runs was trained (starting, collecting, planning, timing, waiting, judging, reporting); and how many
times as fast the first is as with one worker.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WORKERS = (1, 2, 4)


def seconds(arguments: list[str], workers: int, store: Path) -> float:
    """How long a session takes, whatever it finds."""
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments, "-n", str(workers), "--store", str(store)],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    if done.returncode not in (0, 1):
        raise SystemExit(done.stdout[-2000:] + done.stderr)
    return time.monotonic() - began


def in_training(store: Path) -> float:
    """Seconds that all runs of a store were trained."""
    found = store.glob("runs/*/*/provenance.json")
    return sum(json.loads(path.read_text())["seconds"] for path in found)


def main() -> None:
    arguments = sys.argv[1:] or ["claims"]
    alone = 0.0
    print(f"{'workers':>7}{'cold':>9}{'warm':>9}{'not training':>14}{'times as fast':>15}")
    for workers in WORKERS:
        with tempfile.TemporaryDirectory() as name:
            cold, warm = (seconds(arguments, workers, Path(name)) for _ in range(2))
            idle = 1 - in_training(Path(name)) / (workers * cold)
        alone = alone or cold
        print(
            f"{workers:>7}{cold:>8.1f}s{warm:>8.1f}s{idle:>14.0%}{alone / cold:>15.2f}", flush=True
        )


if __name__ == "__main__":
    main()
