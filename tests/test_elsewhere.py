"""Sessions of another project, by whichever repro is installed beside pytest.

CI runs them from the checkout, and again from the wheel: nothing of `tests` is imported.
"""

import os
import random
import subprocess
import sys

import pytest

pytestmark = pytest.mark.thorough

RECORDED = """
from repro import Metric, claim
from repro.recorded import recorded

METRICS = {"accuracy": Metric("identity")}
RESULTS = recorded("results.csv", arm="method", seed="seed", epoch="epoch", metrics=METRICS)


@claim("A beats B", source="Ours, Table 1")
def test_a_beats_b(trials):
    a, b = trials(RESULTS(method="A"), RESULTS(method="B"))
    assert a.accuracy > b.accuracy
"""

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

NEEDS = """
import pytest

pytest.importorskip("a_library_that_is_not_here")
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


def test_runs_that_were_cut_short_are_refused_by_name(session, tmp_path):
    rng, lines = random.Random(1), ["method,seed,epoch,accuracy"]
    for method, last, most in (("A", 20, 0.81), ("B", 5, 0.80)):
        for seed in range(8):
            noise = rng.gauss(0, 0.02)
            lines += [f"{method},{seed},{n},{most * n / 20 + noise}" for n in range(1, last + 1)]
    (tmp_path / "results.csv").write_text("\n".join(lines))
    code, said = session(test_it=RECORDED)
    assert code == 1, said
    assert "accuracy of B ends at epoch 5" in said


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


def test_a_reproduced_claim_that_cannot_be_judged_fails_unless_that_is_allowed(session):
    files = {"steps": STEPS, "train": TRAIN, "model_lib": MODEL}
    assert session("--update-ledger", test_it=CLAIM, **files)[0] == 0
    code, said = session(test_it=NEEDS + CLAIM)
    assert code == 1, said
    assert "longer_steps_lead_higher" in said
    skipped = CLAIM.replace("trials):", "trials):\n    import pytest\n    pytest.skip('no GPU')")
    code, said = session("--gate", test_it=skipped)
    assert code == 1, said
    assert "no GPU" in said
    assert session("--allow-not-run", test_it=skipped)[0] == 0
