"""Black boxes that ask for several devices, on a real Ray cluster: one worker node of two cores."""

import json
import subprocess
import sys

import pytest
from ray_cluster import Cluster

from tests.oracles import oracle

oracle("ray")
pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("one cluster for all of these tests")]

STUDY = """
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
from repro.arm import Metric
from repro.own.arm import OutsideArm
from repro.own.outside import OutsideStudy


@dataclass(frozen=True, kw_only=True)
class Wide(OutsideArm):
    study: ClassVar[str] = "wide"
    metrics: ClassVar[dict] = {{"length": Metric("identity")}}
    devices: int = 1
    threads: int = 1
    data: str = "none"


def train(arm, seed, run):
    began = time.time()
    time.sleep(0.5)
    told = [run.devices, os.environ["OMP_NUM_THREADS"], began, time.time()]
    name = f"{{arm.devices}}-{{arm.threads}}-{{seed}}.json"
    Path("{marks}", name).write_text(json.dumps(told))
    return {{"length": arm.devices + seed / 1000}}


STUDY = OutsideStudy(train)
"""

CLAIMS = """
import pytest
from repro import claim
from wide import Wide

@claim("it has a length", source="900, Text")
@pytest.mark.parametrize(("devices", "threads"), [(1, 1), (2, 1), (1, 2), (3, 1)])
def test_length(trials, devices, threads):
    assert trials(Wide(devices=devices, threads=threads)).length > 0
"""


def test_a_node_gives_as_many_as_are_asked_for_and_none_twice(tmp_path):
    marks, project = tmp_path / "marks", tmp_path / "project"
    marks.mkdir()
    project.mkdir()
    (project / "wide.py").write_text(STUDY.format(marks=marks))
    (project / "test_wide.py").write_text(CLAIMS)
    (project / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--seed-budget", "2"]
    with Cluster(workers=1, cores=2) as cluster:
        session = subprocess.run(
            cluster.command(*command, "--executor", "ray", "--store", str(tmp_path / "store")),
            cwd=project,
            env=cluster.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=180,
        )
    text = session.stdout
    assert "asks for 3 devices, and the largest node of the Ray cluster has 2 cores" in text
    runs = {path.stem: json.loads(path.read_text()) for path in marks.glob("*.json")}
    assert {name.rpartition("-")[0] for name in runs} == {"1-1", "2-1", "1-2"}, text
    assert len(runs) == 6, text
    for name, (devices, threads, began, _) in runs.items():
        asked, of_threads, _ = map(int, name.split("-"))
        assert devices == ["cpu"] * asked
        assert int(threads) == of_threads
        at_once = [other for other, (*_, a, b) in runs.items() if a <= began < b]
        assert sum(max(map(int, other.split("-")[:2])) for other in at_once) <= 2
