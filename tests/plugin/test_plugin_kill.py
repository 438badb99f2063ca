"""Sessions killed without warning leave nothing that changes the results of the next."""

import os
import random
import signal
import subprocess
import sys
import time

KILLS = 4


def results(store):
    return {path.parent.name: path.read_bytes() for path in (store / "runs").rglob("result.json")}


def command(*options):
    return [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options]


def test_killed_sessions_end_in_the_results_of_an_undisturbed_one(project):
    undisturbed, killed = project.path / "undisturbed", project.path / "killed"
    subprocess.run(command("-n", "2", "--store", str(undisturbed)), cwd=project.path, check=False)
    study = project.path / "line.py"  # slow enough to be killed at its work
    study.write_text(
        study.read_text().replace("def loss(self, x):", "def loss(self, x):\n        slow()")
        + "\n\ndef slow():\n    import time\n\n    time.sleep(0.02)\n"
    )
    moments = random.Random(4)
    for _ in range(KILLS):
        session = subprocess.Popen(
            command("-n", "2", "--store", str(killed)), cwd=project.path, start_new_session=True
        )
        time.sleep(moments.uniform(2.0, 6.0))
        before = results(killed)
        os.killpg(session.pid, signal.SIGKILL)  # the controller and its workers at once
        session.wait()
        assert before.items() <= results(killed).items()
    last = subprocess.run(
        command("-n", "2", "--store", str(killed)), cwd=project.path, capture_output=True, text=True
    )
    assert "2 reproduced, 1 refuted, 1 not run" in last.stdout
    assert sorted(results(killed).values()) == sorted(results(undisturbed).values())
