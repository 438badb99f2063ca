"""Sessions in an environment without torch: black boxes are trained there, and nothing else is."""

import os
import textwrap

import pytest

from tests.plugin.sessions import run_apart, trained

pytestmark = pytest.mark.thorough

WITHOUT_TORCH = """
import sys
from importlib import metadata

class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")

version = metadata.version

def version_of(name):
    if name == "torch":
        raise metadata.PackageNotFoundError(name)
    return version(name)

sys.meta_path.insert(0, NoTorch())
metadata.version = version_of
"""

ARMS = """
from dataclasses import dataclass
from typing import ClassVar
from repro import Metric, OutsideArm

@dataclass(frozen=True, kw_only=True)
class Sum(OutsideArm):
    metrics: ClassVar[dict] = {"total": Metric("identity")}
    size: float = 1.0
    data: str = "none"

@dataclass(frozen=True, kw_only=True)
class Drawn(Sum):
    study: ClassVar[str] = "sums"

@dataclass(frozen=True, kw_only=True)
class Printed(Sum):
    study: ClassVar[str] = "commands"
    reads: ClassVar[tuple] = ("script.py",)
"""

FILES = {
    "kinds": ARMS,
    "sums": """
        import random
        import numpy as np
        from repro import OutsideStudy
        def train(arm, seed):
            return {"total": arm.size * (1 + random.random() + np.random.rand())}
        STUDY = OutsideStudy(train)
    """,
    "commands": """
        from repro import CommandStudy
        STUDY = CommandStudy("python script.py {size} {seed}")
    """,
    "script": """
        import random, sys
        print(float(sys.argv[1]) * (1 + random.Random(int(sys.argv[2])).random()))
    """,
    "test_sums": """
        import pytest
        from repro import claim
        from kinds import Drawn, Printed
        from repro.studies.depth_ladder.arms import D256_L4

        @claim("more is more", source="900")
        @pytest.mark.parametrize("kind", [Drawn, Printed])
        def test_more(trials, kind):
            more, less = trials(kind(size=3.0), kind())
            assert more.total > less.total

        @claim("networks learn", source="900")
        def test_network(trials):
            assert trials(D256_L4).accuracy > 0.1
    """,
}


@pytest.fixture
def project(pytester, monkeypatch):
    for name, text in FILES.items():
        (pytester.path / f"{name}.py").write_text(textwrap.dedent(text))
    blocking = pytester.mkdir("blocking")
    (blocking / "sitecustomize.py").write_text(WITHOUT_TORCH)
    pytester.makeini("[pytest]\npythonpath = .\n")
    path = [str(blocking), os.environ.get("PYTHONPATH", ""), os.getcwd()]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path))
    monkeypatch.setenv("REPRO_STORE", str(pytester.path / "store"))
    return pytester


def test_black_boxes_are_trained_and_judged_and_others_say_what_they_need(project):
    here = run_apart(project, "-n", "0", "-k", "Drawn or network")
    here.assert_outcomes(passed=1, skipped=1)
    here.stdout.fnmatch_lines(["NOT RUN*900/network*", "*needs torch, to train: pip install*"])
    needed, now = trained(here)
    assert needed == now > 0
    with_trainers = run_apart(project, "-n", "2")
    with_trainers.assert_outcomes(passed=2, skipped=1)
    assert trained(with_trainers) == (2 * needed, needed)


def test_a_device_that_torch_would_find_is_refused(project):
    result = run_apart(project, "-n", "0", "--device", "cuda")
    result.stderr.fnmatch_lines(["ERROR: *--device cuda needs torch: pip install*"])
