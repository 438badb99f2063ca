"""A simulated Slurm of many nodes, on which nothing is trained: are they busy, and at what cost?

    python benchmarks/cluster.py                          # 1,000 claims, 200 nodes: ten minutes
    python benchmarks/cluster.py --claims 20 --nodes 4    # half a minute
    python benchmarks/cluster.py --quick                  # the same, with shorter runs

A project of so many claims is written, each comparing two arms over 20 seeds, and pytest trains it
by `--executor slurm`. The session, its pool, submitit and the store are real. Slurm's commands are
scripts, and one process stands for its controller and all nodes: it starts waiting jobs once a
second, and a job sleeps for its start and for each of its runs, whose made-up result it then
stores as a node does. Prints what share of the time the nodes were busy, how much of that they
trained, when they were, and what the session's process took of a core.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import deque
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

from scale import CLAIMS, STUDY, write

SBATCH_SECONDS = 0.05
"""The time of a real `sbatch`."""

START_SECONDS = 2.8
"""The time for a job to start Python and torch (`NOTES.md`)."""

SCHEDULER_SECONDS = 1.0
"""The time between two looks of Slurm for jobs that can start."""

SEEDS = 20
COMMANDS = {
    "sbatch": """#!/bin/sh
sleep {sbatch}
number=$(($(cat {folder}/number) + 1))
echo $number > {folder}/number
cp "$1" {folder}/new/$number.part
mv {folder}/new/$number.part {folder}/new/$number
echo Submitted batch job $number
""",
    "squeue": "#!/bin/sh\ncat {folder}/states\n",
    "srun": "#!/bin/sh\n",
    "scancel": "#!/bin/sh\n",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--claims", type=int, default=1000)
    parser.add_argument("--nodes", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=2.0, help="of a run, in the mean")
    parser.add_argument("--quick", action="store_true", help="20 claims, 4 nodes, short runs")
    options = parser.parse_args()
    claims, nodes, seconds = options.claims, options.nodes, options.seconds
    if options.quick:
        claims, nodes, seconds = 20, 4, 0.1
    with tempfile.TemporaryDirectory(prefix="repro-cluster-") as name:
        folder = Path(name)
        project = written(folder, claims)
        context = get_context("spawn")
        ended = context.Event()
        cluster = context.Process(target=simulate, args=(folder, project, nodes, seconds, ended))
        cluster.start()
        began = time.monotonic()
        trained(folder, project, jobs=nodes * 5 // 4)
        wall = time.monotonic() - began
        ended.set()
        cluster.join()
        report(folder, wall=wall, nodes=nodes, claims=claims)


def written(folder: Path, claims: int) -> Path:
    """Write the commands of Slurm and a project; return the project's folder."""
    (folder / "bin").mkdir()
    (folder / "new").mkdir()
    (folder / "number").write_text("0")
    (folder / "states").write_text("")
    for name, text in COMMANDS.items():
        command = folder / "bin" / name
        command.write_text(text.format(folder=folder, sbatch=SBATCH_SECONDS))
        command.chmod(0o755)
    project = folder / "project"
    project.mkdir()
    (project / "made_up.py").write_text(STUDY)
    (project / "test_made_up.py").write_text(CLAIMS.format(count=claims))
    (project / "pytest.ini").write_text("[pytest]\n")
    return project


def trained(folder: Path, project: Path, *, jobs: int) -> None:
    """Let pytest train and judge the project on the cluster, with so many jobs in the queue."""
    places = os.pathsep.join([str(project), str(Path(__file__).parents[1])])
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": places,
        "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
    }
    seeds = ("--update-ledger", "--reference-seeds", str(SEEDS))
    slurm = ("--executor", "slurm", "--slurm", f"array_parallelism={jobs}")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *seeds, *slurm]
    with (folder / "log").open("w") as log:
        done = subprocess.run(command, cwd=project, env=environment, stdout=log, stderr=log)
    if done.returncode:
        raise SystemExit(f"the session failed:\n{(folder / 'log').read_text()[-3000:]}")


def report(folder: Path, *, wall: float, nodes: int, claims: int) -> None:
    """Print what was seen."""
    seen = json.loads((folder / "seen").read_text())
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    session = usage.ru_utime + usage.ru_stime - seen["cpu"]
    print(f"{claims:,} claims, {seen['runs']:,} runs, {seen['jobs']:,} jobs, {nodes} nodes")
    first, last = min(begin for begin, _ in seen["spans"]), max(end for _, end in seen["spans"])
    span = last - first
    busy = sum(end - begin for begin, end in seen["spans"])
    for what, seconds in (("busy", busy), ("training", seen["trained"])):
        print(f"{what:>10} {seconds / nodes / span:6.1%} of {span:.0f} s, first job to last")
    edges = [first + tenth * span / 10 for tenth in range(11)]
    tenths = [
        sum(max(0.0, min(end, high) - max(begin, low)) for begin, end in seen["spans"])
        for low, high in itertools.pairwise(edges)
    ]
    print(f"{'busy':>10} {' '.join(f'{10 * x / nodes / span:.0%}' for x in tenths)}, by tenths")
    print(f"{'session':>10} {session / wall:6.2f} cores for {wall:.0f} s, judging included")


class Cluster:
    """The nodes, and the jobs that wait for them."""

    def __init__(self, folder: Path, nodes: int, seconds: float) -> None:
        self._folder, self._free, self._seconds = folder, nodes, seconds
        self._waiting: deque[str] = deque()
        self._coming: list[tuple[float, int, str, Any]] = []
        """What happens when: a run of a job is done, or (None) the job is over."""
        self._states: dict[str, str] = {}
        self._logs: dict[str, Path] = {}
        self._draws = random.Random(1)
        self.seen = {"runs": 0, "jobs": 0, "trained": 0.0}
        self.jobs: list[tuple[float, float]] = []
        """When each job began and ended."""

    def look(self) -> None:
        """Take new jobs, and start those that have a node."""
        for path in sorted((self._folder / "new").iterdir(), key=lambda path: path.stem):
            if path.suffix != ".part":
                text = path.read_text()
                [logs] = re.findall(r"--output='?(.*)/%", text)
                array = re.findall(r"--array=0-(\d+)", text)
                many = [f"{path.name}_{i}" for last in array for i in range(int(last) + 1)]
                for name in many or [path.name]:
                    self._waiting.append(name)
                    self._states[name] = "PENDING"
                    self._logs[name] = Path(logs)
                path.unlink()
        while self._free and self._waiting and (job := self._loaded(self._waiting[0])) is not None:
            self._start(self._waiting.popleft(), job)
        lines = [f"{number}|{state}|Resources\n" for number, state in self._states.items()]
        states = self._folder / "states.part"
        states.write_text("".join(lines))
        states.replace(self._folder / "states")

    def _loaded(self, number: str) -> Any:
        """Return what a job does; None until submitit has written it."""
        from submitit.helpers import DelayedSubmission

        with suppress(OSError, EOFError):
            return DelayedSubmission.load(self._logs[number] / f"{number}_submitted.pkl").function
        return None

    def _start(self, number: str, job: Any) -> None:
        began = at = time.monotonic()
        self._free -= 1
        self._states[number] = "RUNNING"
        at += START_SECONDS
        for batch in job.batches:
            for run in batch.runs:
                took = self._seconds * self._draws.uniform(0.5, 1.5)
                at += took
                self.seen["trained"] += took
                heapq.heappush(self._coming, (at, self.seen["runs"], number, (job, batch, run)))
                self.seen["runs"] += 1
        heapq.heappush(self._coming, (at, sys.maxsize - self.seen["jobs"], number, None))
        self.seen["jobs"] += 1
        self.jobs.append((began, at))

    def go_on(self) -> None:
        """Do what is due."""
        from repro.backends.slurm import Said
        from repro.store import Store

        while self._coming and self._coming[0][0] <= time.monotonic():
            _, _, number, what = heapq.heappop(self._coming)
            if what is None:
                self._free += 1
                del self._states[number]
                continue
            job, batch, run = what
            value = random.Random(f"{run.arm.label} {run.seed}").gauss(2.0 * run.arm.better, 1.0)
            values = {"measures": {"score": value}, "history": {}, "steps": 0}
            key = write(Store(job.root), batch.runs[run], values, seconds=self._seconds)
            job._say(batch, run, Said(key))


def simulate(folder: Path, project: Path, nodes: int, seconds: float, ended: Event) -> None:
    """Be Slurm's controller and its nodes, until the session has ended."""
    sys.path.insert(0, str(project))
    cluster = Cluster(folder, nodes, seconds)
    looked = 0.0
    while not ended.is_set():
        if time.monotonic() - looked > SCHEDULER_SECONDS:
            looked = time.monotonic()
            cluster.look()
        cluster.go_on()
        time.sleep(0.01)
    (folder / "seen").write_text(
        json.dumps({**cluster.seen, "spans": cluster.jobs, "cpu": time.process_time()})
    )


if __name__ == "__main__":
    main()
