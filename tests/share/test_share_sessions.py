"""Sessions of machines that share results: a folder, and a real object store that speaks S3."""

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import ExitStack

import pytest

from tests.oracles import oracle
from tests.plugin.conftest import CLAIMS, OUTSIDE_STUDY
from tests.share.ceph_gateway import Gateway, lacking

pytestmark = pytest.mark.thorough

SHORT = (
    "import repro.share.leases as l\nl.LEASE_SECONDS, l.BEAT_SECONDS, l.LOOK_SECONDS = 15, 1, 0.5\n"
)


@pytest.fixture(scope="module")
def gateway():
    oracle("s3fs")
    if lacking():  # CI installs it; the folder is tested everywhere
        pytest.skip(f"no Ceph can be started: {lacking()}")
    with Gateway() as started:
        yield started


@pytest.fixture(params=["folder", "s3"])
def share(request, tmp_path):
    """The URL of an empty share, and what a process needs in its environment to use it."""
    if request.param == "folder":
        (tmp_path / "share").mkdir()
        return str(tmp_path / "share"), {}
    gateway = request.getfixturevalue("gateway")
    import s3fs

    surroundings = gateway.environment()
    bucket = f"test{time.time_ns()}"
    s3fs.S3FileSystem(
        key="access", secret="secret", endpoint_url=surroundings["AWS_ENDPOINT_URL"]
    ).mkdir(bucket)
    return f"s3://{bucket}/claims", surroundings


@pytest.fixture
def session(tmp_path, share):
    """Start sessions of machines, by the names of their stores."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "pytest.ini").write_text("[pytest]\n")
    (project / "conftest.py").write_text(SHORT)
    (project / "test_lines.py").write_text(CLAIMS)
    url, surroundings = share
    environment = {
        **os.environ,
        **surroundings,
        "PYTHONPATH": f"{project}{os.pathsep}{os.getcwd()}",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTEST_PLUGINS": "repro.plugin.plugin,xdist.plugin",
    }

    with ExitStack() as stack:

        def started(store, *arguments, seconds=0.2):
            study = OUTSIDE_STUDY.replace("sleep(0)", f"sleep({seconds})")
            if not (project / "line.py").exists():
                (project / "line.py").write_text(study)
            command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
            places = ["--store", str(tmp_path / store), "--share", url]
            process = subprocess.Popen(
                [*command, *places, *arguments],
                cwd=project,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )
            stack.callback(process.wait)
            stack.callback(process.kill)
            return process

        yield started


def trained(output):
    counts = re.search(r"(\d+) distinct runs? needed: (\d+) trained now", output)
    assert counts, output
    return tuple(map(int, counts.groups()))


def results(store):
    return {path.parent.name: path.read_bytes() for path in (store / "runs").rglob("*.json")}


def test_two_machines_train_nothing_twice_and_have_the_same_bytes(session, tmp_path):
    sessions = [session("one", "-n", "2"), session("other")]
    outputs = [each.communicate()[0] for each in sessions]
    (needed, first), (_, second) = map(trained, outputs)
    assert first + second == needed, "\n".join(outputs)
    assert min(first, second) > 0
    assert not any("which it does not name" in output for output in outputs)
    third = session("third").communicate()[0]
    assert trained(third) == (needed, 0)
    everything = results(tmp_path / "third")
    assert len(everything) == needed
    for store in ("one", "other"):
        assert everything.items() >= results(tmp_path / store).items()


def test_what_a_killed_machine_had_under_way_is_taken_over(session, tmp_path):
    killed = session("killed", seconds=1)
    while len(results(tmp_path / "killed")) < 2:
        assert killed.poll() is None
        time.sleep(0.05)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate()
    output = session("heir").communicate()[0]
    needed, now = trained(output)
    assert needed - len(results(tmp_path / "killed")) <= now < needed


@pytest.mark.parametrize("share", ["s3"], indirect=True)  # a folder does not end
def test_a_share_that_ends_under_way_stops_nobody(session, gateway, tmp_path):
    lost = session("lost")
    while len(results(tmp_path / "lost")) < 2:
        assert lost.poll() is None
        time.sleep(0.05)
    gateway.stop()
    try:
        output = lost.communicate()[0]
    finally:
        gateway.start()
    needed, now = trained(output)
    assert needed == now
    assert "training goes on here" in output
    assert "could not be sent" in output
    assert "secret" not in output
    assert trained(session("lost").communicate()[0]) == (needed, 0)
    assert trained(session("fresh").communicate()[0]) == (needed, 0)
