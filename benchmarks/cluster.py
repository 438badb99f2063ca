"""Small batches through a cluster on this machine: what one costs.

    python benchmarks/cluster.py ray
    python benchmarks/cluster.py slurm --batches 20

Starts two nodes of one core (as the tests do; Slurm as root), sends batches of one run each, whose
function returns at once, and prints seconds. All of it shares the cores of one machine.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "backends")]

STUDY = """
from dataclasses import dataclass
from typing import ClassVar

from repro.arm import Metric
from repro.own.arm import OutsideArm
from repro.own.outside import OutsideStudy


@dataclass(frozen=True, kw_only=True)
class Tiny(OutsideArm):
    study: ClassVar[str] = "tiny"
    metrics: ClassVar[dict[str, Metric]] = {"seed": Metric("identity")}
    data: str = "none"


STUDY = OutsideStudy(lambda arm, seed: {"seed": seed})
"""


def seconds(pool, store, count: int, *, first: int) -> float:
    """How long a pool takes for so many batches of seeds that it has not seen."""
    from cluster_lines import Session
    from tiny import Tiny

    from repro.arm import Run
    from repro.runs.identity import identity
    from repro.runs.pool import Batch

    batches = []
    for number in range(first, first + count):
        run = Run(Tiny(), number)
        batches.append(Batch(number, {run: identity(run, device="cpu")}, "loop"))
    began = time.monotonic()
    session = Session(store, pool, batches)
    session.finish()
    assert session.failed == {}, session.failed
    return time.monotonic() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("where", choices=["ray", "slurm"])
    parser.add_argument("--batches", type=int, default=500)
    options = parser.parse_args()
    from ray_cluster import Cluster
    from slurm_cluster import Slurm

    starts = {"ray": Cluster, "slurm": Slurm}
    with starts[options.where]() as cluster, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "tiny.py").write_text(STUDY)
        sys.path.insert(0, name)
        os.environ.update(cluster.environment())  # before Ray is imported, which reads it then
        from repro.store import Store

        store = Store(folder / "store")
        if options.where == "ray":
            from repro.backends.ray import RayPool

            pool = RayPool(store, address=cluster.address, device="cpu", project=folder)
        else:
            from repro.backends.cluster import SlurmSettings
            from repro.backends.slurm import SlurmPool

            pool = SlurmPool(store, SlurmSettings(), device="cpu", project=folder)
        print(f"{'batches':>10}{'seconds':>10}{'ms each':>10}")
        try:
            for count, first in ((1, 0), (options.batches, 1)):
                took = seconds(pool, store, count, first=first)
                print(f"{count:>10}{took:>10.1f}{1000 * took / count:>10.0f}", flush=True)
        finally:
            pool.stop()


if __name__ == "__main__":
    main()
