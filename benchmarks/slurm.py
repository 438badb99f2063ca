"""Many tiny batches through a Slurm on this machine: what one costs, beside a job of its own.

    python benchmarks/slurm.py

Starts a controller and two nodes of one core (as the tests do; as root), and sends batches of one
run each: first jobs of one batch, whose programs nobody has timed, then batches of a program that
is known to be short, which share jobs. All of it shares the cores of one machine.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

from cluster import STUDY, work_on

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "backends")]

ALONE = 8


def seconds(work, runs) -> float:
    """How long it takes until these runs are stored."""
    from repro.runs.plan import Plan, RunsMissing

    def read() -> None:
        if missing := [run for run in runs if work.results.get(run) is None]:
            raise RunsMissing(missing)

    began = time.monotonic()
    plan = Plan([read], is_settled=work.results.is_settled, asked=set())
    work.train(plan, lambda status: None)
    return time.monotonic() - began


def main() -> None:
    from slurm_cluster import Slurm

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=1000)
    options = parser.parse_args()
    with Slurm(nodes=2) as slurm, tempfile.TemporaryDirectory() as name:
        (Path(name) / "tiny.py").write_text(STUDY)
        sys.path.insert(0, name)
        os.environ.update(slurm.environment())
        from tiny import Tiny

        from repro.arm import Run

        work = work_on("slurm", Path(name))
        one = seconds(work, [Run(Tiny(), 0)])
        alone = seconds(work, [Run(Tiny(sent=str(n)), 0) for n in range(ALONE)])
        tiny = seconds(work, [Run(Tiny(), seed + 1) for seed in range(options.batches)])
        assert work.trained == 1 + ALONE + options.batches
    print(f"{'batches':44}{'count':>8}{'seconds':>9}{'ms each':>9}")
    for label, count, took in (
        ("one, with a snapshot of the code", 1, one),
        ("a job each, on two nodes", ALONE, alone),
        ("known to be short, which share jobs", options.batches, tiny),
    ):
        print(f"{label:44}{count:>8}{took:>9.1f}{1000 * took / count:>9.1f}")


if __name__ == "__main__":
    main()
