"""Sessions of another project that trains by a script, by whichever repro is installed.

CI runs them from the checkout, and again from the wheel: nothing of `tests` is imported.
"""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.thorough

STEPS = """
from dataclasses import dataclass
from typing import ClassVar

from repro import CommandStudy, Metric, OutsideArm


@dataclass(frozen=True, kw_only=True)
class Steps(OutsideArm):
    study: ClassVar[str] = "steps"
    metrics: ClassVar[dict[str, Metric]] = {"height": Metric("identity")}
    reads: ClassVar[tuple[str, ...]] = ("train.py",)

    data: str = "random steps"
    size: float = 1.0


STUDY = CommandStudy("python train.py {seed} {size}")
"""

TRAIN = """
import random
import sys

from model_lib import height

print(height(float(sys.argv[2]), random.Random(sys.argv[1])))
"""

MODEL = """
def height(size, rng):
    return size * (1 + rng.gauss(0, 0.1))
"""

CLAIM = """
from steps import Steps

from repro import claim


@claim("Longer steps lead higher", source="Ours, Table 2")
def test_longer_steps_lead_higher(trials):
    longer, shorter = trials(Steps(size=2.0), Steps(size=1.0))
    assert longer.height > shorter.height
"""


@pytest.fixture
def session(tmp_path):
    """Write files into a project, run pytest in it, and return its exit code and what it says."""

    def run(*options, **files):
        for name, text in files.items():
            (tmp_path / f"{name}.py").write_text(text)
        environment = {name: x for name, x in os.environ.items() if not name.startswith("REPRO_")}
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-n", "2", *options]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
        )
        return done.returncode, done.stdout + done.stderr

    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    return run


def test_what_a_script_imports_trains_its_runs_again(session):
    code, said = session(
        "--update-ledger", steps=STEPS, train=TRAIN, model_lib=MODEL, test_it=CLAIM
    )
    assert (code, "40 trained now" in said) == (0, True), said
    code, said = session()
    assert (code, " 0 trained now" in said) == (0, True), said
    code, said = session(model_lib=MODEL.replace("size *", "-size *"))
    assert code == 1, said
    assert "refuted" in said
