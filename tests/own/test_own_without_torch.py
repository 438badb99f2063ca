"""Sessions in an environment without torch: black boxes are trained there, and nothing else is."""

import os
import shutil
from pathlib import Path

import pytest

from tests.plugin.sessions import run_apart, trained
from tests.without_torch import WITHOUT_TORCH

pytestmark = pytest.mark.thorough

BLACK_BOX = Path(__file__).parents[2] / "examples" / "black_box"
NETWORK = """
from repro import claim
from repro.studies.depth_ladder.arms import D256_L4

@claim("networks learn", source="900")
def test_network(trials):
    assert trials(D256_L4).accuracy > 0.1
"""


@pytest.fixture
def project(pytester, monkeypatch):
    shutil.copytree(BLACK_BOX, pytester.path, dirs_exist_ok=True)
    pytester.makepyfile(test_network=NETWORK)
    blocking = pytester.mkdir("blocking")
    (blocking / "sitecustomize.py").write_text(WITHOUT_TORCH)
    path = [str(blocking), os.environ.get("PYTHONPATH", ""), os.getcwd()]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path))
    monkeypatch.setenv("REPRO_STORE", str(pytester.path / "store"))
    return pytester


def test_black_boxes_are_trained_and_judged_and_others_say_what_they_need(project):
    here = run_apart(project, "-n", "0", "-k", "equal or network")
    here.assert_outcomes(xfailed=1, skipped=1)  # one open, as its ledger says; one needs torch
    here.stdout.fnmatch_lines(["NOT RUN*900/network*", "*needs torch, to train: pip install*"])
    needed, now = trained(here)
    assert needed == now > 0
    with_trainers = run_apart(project, "-n", "2")
    assert with_trainers.ret == 0
    assert trained(with_trainers)[1] > 0


def test_a_device_that_torch_would_find_is_refused(project):
    result = run_apart(project, "-n", "0", "--device", "cuda")
    result.stderr.fnmatch_lines(["ERROR: *--device cuda needs torch: pip install*"])
