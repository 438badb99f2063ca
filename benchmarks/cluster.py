"""Many batches through a Ray cluster: what one costs, and what a second node gains.

    python benchmarks/cluster.py

Starts a head and two worker nodes on this machine (as the tests do), sends batches of one run each
from a process on the head, and prints seconds: tiny batches, which cost nothing but the way there
and back, and as many runs on this machine alone; on one node and on two, batches that wait, as for
an accelerator, and batches that compute. Nodes here share the cores of one machine.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "backends")]

WORK_SECONDS, FEW = 0.5, 40
LABELS = {
    "local": "tiny, --executor local",
    "tiny": "tiny",
    "waits": f"waits for {WORK_SECONDS} s",
    "computes": f"computes for {WORK_SECONDS} s",
}

STUDY = """
import time
from dataclasses import dataclass
from typing import ClassVar

from repro.arm import Metric
from repro.own.arm import OutsideArm
from repro.own.outside import OutsideStudy


@dataclass(frozen=True, kw_only=True)
class Tiny(OutsideArm):
    study: ClassVar[str] = "tiny"
    metrics: ClassVar[dict[str, Metric]] = {"seed": Metric("identity")}
    waits: float = 0.0
    computes: float = 0.0
    sent: str = ""
    data: str = "none"


def train(arm, seed):
    time.sleep(arm.waits)
    began = time.process_time()
    while time.process_time() - began < arm.computes:
        pass
    return {"seed": seed}


STUDY = OutsideStudy(train)
"""


def work_on(where: str, folder: Path):
    """Work over an empty store."""
    from repro.backends.choose import backend_named
    from repro.runs.work import Work
    from repro.store import Store

    store = Store(tempfile.mkdtemp(dir=folder))
    backend = backend_named(where, store, device="cpu", processes=1, project=folder)
    return Work(store, backend, engine="auto", project=folder)


def seconds(where: str, folder: Path, count: int, **settings: float | str) -> float:
    """How long a backend takes for so many batches, once it is at work; then it is left."""
    from tiny import Tiny

    from repro.arm import Run
    from repro.runs.plan import Plan, RunsMissing

    work = work_on(where, folder)
    warm = [Run(Tiny(sent="before", waits=0.5), seed) for seed in range(12)]
    runs = [Run(Tiny(**settings), seed) for seed in range(count)]
    began = 0.0

    def read() -> None:
        nonlocal began
        for group in (warm, runs):
            if missing := [run for run in group if work.results.get(run) is None]:
                raise RunsMissing(missing)
            began = began or time.monotonic()

    plan = Plan([read], is_settled=work.results.is_settled, asked=set())
    work.train(plan, lambda status: None)
    took = time.monotonic() - began
    assert work.trained == count + len(warm), [work.results.failed(run) for run in runs]
    return took


def inside(folder: Path, what: str, count: int) -> None:
    """One measurement, by a process on the head."""
    sys.path.insert(0, str(folder))
    where = "local" if what == "local" else "ray"
    settings = {"waits": {"waits": WORK_SECONDS}, "computes": {"computes": WORK_SECONDS}}
    print(seconds(where, folder, count, **settings.get(what, {})))


def main() -> None:
    from ray_cluster import Cluster

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=10_000)
    parser.add_argument("--inside", nargs=2, metavar=("FOLDER", "WHAT"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        inside(Path(options.inside[0]), options.inside[1], options.batches)
        return
    found: dict[tuple[str, int], float] = {}
    print(f"{'batches':28}{'nodes':>7}{'count':>8}{'seconds':>9}{'ms each':>9}")
    with Cluster(workers=2, later=1) as cluster, tempfile.TemporaryDirectory() as name:
        (Path(name) / "tiny.py").write_text(STUDY)
        for what, nodes, count in (
            ("local", 0, options.batches // 50),
            ("tiny", 1, options.batches // 10),
            ("waits", 1, FEW),
            ("computes", 1, FEW),
            ("tiny", 2, options.batches),
            ("waits", 2, FEW),
            ("computes", 2, FEW),
        ):
            if nodes == 2:
                cluster.revive()
            command = [sys.executable, __file__, "--inside", name, what, "--batches", str(count)]
            done = subprocess.run(
                cluster.command(*command),
                env=cluster.environment(),
                cwd=name,
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0, done.stdout + done.stderr
            took = found[what, nodes] = float(done.stdout.split()[-1])
            label = LABELS[what]
            print(f"{label:28}{nodes:>7}{count:>8}{took:>9.1f}{1000 * took / count:>9.2f}")
    for what in ("waits", "computes"):
        print(f"{what}: two nodes are {found[what, 1] / found[what, 2]:.2f} times as fast as one")


if __name__ == "__main__":
    main()
