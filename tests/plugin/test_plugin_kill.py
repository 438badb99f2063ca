"""Sessions killed without warning leave nothing that changes the results of the next."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from tests.plugin.test_plugin_sessions import make_slow

WORKERS = ["2", "0", "0"]
"""Of each session that is killed; 0: it trains in the process that was started."""

pytestmark = pytest.mark.processes


def results(store):
    return {path.parent.name: path.read_bytes() for path in (store / "runs").rglob("result.json")}


def command(store, workers="0"):
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    return [*command, "-n", workers, "--store", store]


def test_killed_sessions_end_in_the_results_of_an_undisturbed_one(outside_project):
    project = outside_project
    undisturbed, killed = project.path / "undisturbed", project.path / "killed"
    project.runpytest_inprocess("-p", "no:cacheprovider", "--store", str(undisturbed))
    make_slow(project, seconds=0.1)  # enough to be killed at its work
    moments = random.Random(4)
    for workers in WORKERS:
        wanted = len(results(killed)) + moments.randint(1, 4)
        session = subprocess.Popen(
            command(killed, workers), cwd=project.path, start_new_session=True
        )
        while len(results(killed)) < wanted and session.poll() is None:
            time.sleep(0.02)
        time.sleep(moments.uniform(0, 0.1))  # a run takes as long
        before = results(killed)
        os.killpg(session.pid, signal.SIGKILL)  # the controller and its workers at once
        session.wait()
        assert before.items() <= results(killed).items()
    last = subprocess.run(command(killed), cwd=project.path, capture_output=True, text=True)
    assert "2 reproduced, 1 refuted, 1 not run" in last.stdout
    assert sorted(results(killed).values()) == sorted(results(undisturbed).values())
