"""A whole session of claims, against plain PyTorch loops that train the same runs.

    pytest claims -n 4 --store full                              # says at its end what it took
    python benchmarks/whole_session.py --store full --took 1448  # some minutes, nothing beside it

Every arm that the session trained is timed for some steps of the loop that a researcher would write
(`opponents.py`), and that time is counted for every step that its runs took in the session. All is
in the loops' favour: they start in no time, evaluate nothing, and train what differs in evaluation
alone once. `default` is one process with torch's threads. `best` is the fused optimiser with one
thread a process, as many processes as cores, as if these did not slow each other down.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable

import pytest
import torch
from opponents import plain_loop

from repro.arm import Arm, Run
from repro.core.study import TrainsOutside
from repro.core.weights import load_data
from repro.plugin.plugin import SESSION
from repro.runs.results import Results
from repro.studies.find import study_of

CPU = torch.device("cpu")
WARMUP_STEPS, SECONDS = 3, 0.4


class Trained:
    """The steps that each arm of a session took, all its seeds together; instead of the session."""

    results: Results
    steps: dict[Arm, int]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        claims = session.config.stash[SESSION]
        if missing := claims.plan().missing():
            pytest.exit(f"{len(missing)} runs are not in this store; train them first", 1)
        self.results = claims.work.results
        self.steps = _steps(self.results, claims.asked)
        return True


def _steps(results: Results, runs: Iterable[Run]) -> dict[Arm, int]:
    longest: dict[Run, int] = {}  # of runs that are one training
    for run in runs:
        result = results.get(run)
        values = {} if result is None else result.values
        taken = values.get("steps", values.get("diverged_at", 0))
        longest[run.training] = max(taken, longest.get(run.training, 0))
    steps: dict[Arm, int] = defaultdict(int)
    for run, taken in longest.items():
        if not isinstance(study_of(run.arm), TrainsOutside):
            steps[run.arm] += taken
    return steps


def seconds_a_step(step: Callable[[], None]) -> float:
    for _ in range(WARMUP_STEPS):
        step()
    began, done = time.perf_counter(), 0
    while time.perf_counter() - began < SECONDS:
        step()
        done += 1
    return (time.perf_counter() - began) / done


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--store", required=True)
    parser.add_argument("--took", type=float, required=True, help="seconds of the session")
    options = parser.parse_args()
    trained, cores = Trained(), os.cpu_count() or 1
    quiet = ["-qq", "-W", "ignore::pytest.PytestAssertRewriteWarning"]  # repro is imported already
    if pytest.main(["claims", "--store", options.store, *quiet], plugins=[trained]):
        raise SystemExit("The session's runs could not be read.")
    loops = {"default": (1, cores, None), "best": (cores, 1, True)}
    taken: dict[str, Counter[str]] = {how: Counter() for how in loops}
    for arm, steps in trained.steps.items():
        data = load_data(study_of(arm), arm, CPU, trained.executor.weights)
        for how, (processes, threads, fused) in loops.items():
            torch.set_num_threads(threads)
            seconds = seconds_a_step(plain_loop(Run(arm, 1), data, fused=fused))
            taken[how][arm.study.split(".")[-2]] += steps * seconds / processes
    print(
        f"{len(trained.steps)} arms, {sum(trained.steps.values()):,} steps, {cores} cores; seconds"
    )
    for how, by_study in taken.items():
        parts = ", ".join(f"{study} {seconds:,.0f}" for study, seconds in by_study.items())
        times = by_study.total() / options.took
        print(f"{how}: {by_study.total():,.0f} ({parts}); the session is {times:.1f} times as fast")


if __name__ == "__main__":
    main()
