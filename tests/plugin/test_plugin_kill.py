"""Sessions killed without warning leave nothing that changes the results of the next."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from tests.plugin.sessions import change, counted

KILLS = 2


def results(store):
    return {path.parent.name: path.read_bytes() for path in (store / "runs").rglob("result.json")}


def command(store):
    return [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-n", "2", "--store", store]


@pytest.mark.thorough
def test_killed_sessions_end_in_the_results_of_an_undisturbed_one(outside_project):
    project = outside_project
    undisturbed, killed = project.path / "undisturbed", project.path / "killed"
    project.runpytest_inprocess("-p", "no:cacheprovider", "--store", str(undisturbed))
    change(project, "sleep(0)", "sleep(0.2)")  # slow enough to be killed at its work
    moments = random.Random(4)
    for _ in range(KILLS):
        wanted = len(results(killed)) + moments.randint(1, 4)
        session = subprocess.Popen(command(killed), cwd=project.path, start_new_session=True)
        while len(results(killed)) < wanted and session.poll() is None:
            time.sleep(0.02)
        time.sleep(moments.uniform(0, 0.2))  # a run takes as long
        before = results(killed)
        os.killpg(session.pid, signal.SIGKILL)  # the controller and its workers at once
        session.wait()
        assert before.items() <= results(killed).items()
    last = subprocess.run(command(killed), cwd=project.path, capture_output=True, text=True)
    assert counted(last.stdout) == ["2", "1", "·", "1"]
    assert sorted(results(killed).values()) == sorted(results(undisturbed).values())
