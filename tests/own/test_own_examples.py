"""The example of a Trainer: killed, it goes on."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import repro

ROOT = Path(repro.__file__).parents[1]
SESSION = [
    sys.executable, "-m", "pytest", "-k", "one_layer", "--seed-budget", "2", "--tb=short",
    "-p", "no:cacheprovider",
]  # fmt: skip

pytestmark = pytest.mark.thorough


@pytest.fixture
def example(tmp_path, monkeypatch):
    for needed in ("transformers", "accelerate"):
        pytest.importorskip(needed)
    shutil.copytree(ROOT / "examples" / "trainer", tmp_path / "trainer")
    monkeypatch.delenv("REPRO_STORE", raising=False)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_PLUGINS", "repro.plugin.plugin,xdist.plugin")
    return tmp_path / "trainer"


def session(example):
    return subprocess.run(SESSION, cwd=example, capture_output=True, text=True)


def killed_after_an_epoch(example):
    """Kill a session once a run has saved its first epoch; return the folder of the run."""
    process = subprocess.Popen(SESSION, cwd=example, stdout=subprocess.DEVNULL)
    until = time.monotonic() + 240
    while time.monotonic() < until and process.poll() is None:
        saved = list(example.glob(".repro/folders/*/*/files/checkpoint-*/trainer_state.json"))
        if saved:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            return saved[0].parents[2]
        time.sleep(0.005)
    process.kill()
    raise AssertionError("no run has saved anything")


def test_a_trainer_that_is_killed_goes_on(example):
    folder = killed_after_an_epoch(example)
    told = json.loads((folder / "told.json").read_text())
    told[0]["accuracy"] = 0.123  # what only a run that goes on has in its curve
    (folder / "told.json").write_text(json.dumps(told))
    done = session(example)
    assert done.returncode == 0, done.stdout
    assert "2 distinct runs needed" in done.stdout
    results = [json.loads(p.read_text()) for p in example.glob(".repro/runs/*/*/result.json")]
    firsts = [str(result).count("0.123,") for result in results]
    assert sorted(firsts) == [0, 1]
    assert not list(example.glob(".repro/folders/*/*"))
