"""Sessions on a real Ray cluster: a head and two worker nodes, with raylets of their own."""

import json
import re
import signal
import time

import pytest
import torch
from ray_cluster import Cluster
from slow_lines import RISES, RUNS, STEPS, Project, trained

# Imported once for the sessions that run in this process; pytester takes away what they import.
import repro.backends.choose
import repro.plugin.session
import repro.report.write  # noqa: F401
from tests.oracles import oracle

oracle("ray")
pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("one cluster for all of these tests")]


@pytest.fixture(scope="module")
def machines():
    with Cluster(workers=2) as cluster:
        yield cluster


@pytest.fixture
def cluster(machines):
    """A head and two worker nodes, whatever the last test did to them."""
    machines.revive()
    return machines


@pytest.fixture(scope="module")
def module_project(tmp_path_factory, machines):
    project = Project(tmp_path_factory.mktemp("ray"), machines)
    assert "3 of 3 settled verdicts" in project.run("here")
    return project


@pytest.fixture
def project(module_project, cluster):
    with module_project.for_one_test():
        yield module_project


def test_results_are_those_of_this_machine_under_the_same_keys(project, cluster):
    text = project.run("far", "--executor", "ray")
    assert "3 of 3 settled verdicts" in text, text
    assert trained(text) == RUNS
    assert project.entries("far") == project.entries("here")
    assert len(project.entries("far")) == RUNS
    for worker in cluster.workers:  # data is there once a node, under its hash
        (file,) = (cluster.cache(worker) / "repro" / "cluster" / "files").iterdir()
        assert file.read_bytes() == project.data.read_bytes()
    (made, *_) = (project.folder / "far" / "runs").glob("*/*/provenance.json")
    assert json.loads(made.read_text())["packages"]["torch"] == torch.__version__


def test_claims_are_announced_while_another_one_still_trains(project):
    held, log = project.marks / "held-2.0-1", project.folder / "announced.log"
    held.touch()
    with log.open("w") as file:
        session = project.session("announced", "--executor", "ray", log=file)

    def is_announced(name):
        return re.search(rf"^reproduced +900/{re.escape(name)}", log.read_text(), re.MULTILINE)

    project.until(lambda: is_announced("rises") and is_announced("steeper[1.0]"))
    assert not is_announced("steeper[2.0]")
    held.unlink()
    assert session.wait(timeout=100) == 0
    assert "3 of 3 settled verdicts" in log.read_text()


def test_who_has_no_token_is_not_let_in(project):
    nothing = str(project.folder / "nothing")
    text = project.run("closed", "--executor", "ray", RAY_AUTH_TOKEN_PATH=nothing)
    assert re.search(
        r"^ERROR: The Ray cluster at .* cannot be joined \(.*token", text, re.MULTILINE
    )
    assert "Traceback" not in text


def test_what_cannot_be_trained_there_fails_its_claim_with_the_reason(project):
    text = project.run("odd", "--executor", "ray", "odd_lines.py")
    assert "failed to train: ZeroDivisionError: no slope today" in text
    assert 'raise ZeroDivisionError("no slope today")' in text  # the author's own line
    assert "would be stored under another key by the node" in text
    assert "in deserialize_and_execute" not in text
    assert "/repro/" not in text
    assert project.entries("odd") == {}


def test_a_killed_node_costs_at_most_what_came_after_the_last_checkpoint(project, cluster):
    (project.marks / "slow").touch()
    session = project.session("killed", "--executor", "ray", *RISES)
    project.until(lambda: len(project.checkpoints("killed")) == 2)
    time.sleep(1.0)
    saved = project.checkpoints("killed")
    cluster.kill(cluster.workers[0])
    lost = [steps - saved[seed] for seed, steps in project.steps().items()]
    (project.marks / "slow").unlink()
    text = session.communicate(timeout=100)[0]
    assert trained(text) == 2, text
    assert len(project.entries("killed")) == 2
    assert project.entries("killed").items() <= project.entries("here").items()
    again = sum(project.steps().values()) - 2 * STEPS
    assert 0 < again <= max(lost) < STEPS / 2 + 10


def test_two_sessions_on_one_store_train_no_run_twice(project):
    both = [project.session("shared", "--executor", "ray") for _ in range(2)]
    texts = [session.communicate(timeout=100)[0] for session in both]
    assert sum(map(trained, texts)) == RUNS, texts
    assert all("3 of 3 settled verdicts" in text for text in texts)
    taken = sum(project.steps().values())
    assert taken == RUNS * STEPS


def test_ctrl_c_stops_what_runs_on_the_nodes(project):
    (project.marks / "slow").touch()
    session = project.session("stopped", "--executor", "ray", *RISES)
    project.until(lambda: len(project.steps()) == 2)
    session.send_signal(signal.SIGINT)
    text = session.communicate(timeout=60)[0]
    assert session.returncode == pytest.ExitCode.INTERRUPTED, text
    assert "the same command goes on from there" in text
    assert "Traceback" not in text
    time.sleep(0.5)
    taken = project.steps()
    time.sleep(1.0)
    assert project.steps() == taken
    assert list((project.folder / "stopped" / "locks").iterdir()) == []


def test_a_lost_head_is_one_sentence_and_the_same_command_goes_on(project, cluster):
    (project.marks / "slow").touch()
    session = project.session("cut", "--executor", "ray", *RISES)
    project.until(lambda: len(project.checkpoints("cut")) == 2)
    saved = project.checkpoints("cut")
    cluster.kill("head")
    text = session.communicate(timeout=60)[0]
    assert session.returncode == pytest.ExitCode.INTERRUPTED, text
    assert f"The Ray cluster at {cluster.address} is lost" in text
    assert "Traceback" not in text
    cluster.revive()
    (project.marks / "slow").unlink()
    before = sum(project.steps().values())
    text = project.run("cut", "--executor", "ray", *RISES)
    assert trained(text) == 2, text
    assert len(project.entries("cut")) == 2
    assert project.entries("cut").items() <= project.entries("here").items()
    assert sum(project.steps().values()) - before == 2 * STEPS - sum(saved.values())


def test_a_lost_head_is_a_sentence_under_xdist_too(project, cluster):
    (project.marks / "slow").touch()
    session = project.session("cut-apart", "--executor", "ray", "-n", "2", *RISES)
    project.until(lambda: len(project.checkpoints("cut-apart")) == 2)
    cluster.kill("head")
    text = session.communicate(timeout=90)[0]
    cluster.revive()
    (project.marks / "slow").unlink()
    assert session.returncode == pytest.ExitCode.TESTS_FAILED, text
    assert f"The Ray cluster at {cluster.address} is lost" in text
    assert "Traceback" not in text
    assert "INTERNALERROR" not in text


@pytest.mark.parametrize(
    ("options", "address", "sentence"),
    [
        (["--executor", "ray"], "127.0.0.1:9", "Nobody answers at 127.0.0.1:9"),
        (["--executor", "condor"], "", "There is no executor 'condor'; choose local, slurm, ray"),
        (["--executor", "ray"], "", "set RAY_ADDRESS to HOST:PORT"),
        (["--executor", "ray://nowhere"], "", "is no address of a Ray cluster"),
    ],
)
def test_bad_use_is_one_sentence(options, address, sentence, pytester, monkeypatch):
    pytester.makepyfile(
        test_one="""
        from repro import claim

        @claim("a sentence", source="900, Text")
        def test_one(trials):
            pass
        """
    )
    monkeypatch.setenv("RAY_ADDRESS", address)
    run = pytester.runpytest_subprocess if address else pytester.runpytest_inprocess
    result = run("-p", "no:cacheprovider", *options)
    said = result.stdout.str() + result.stderr.str()
    assert sentence in said
    assert "Traceback" not in said
    assert result.ret == pytest.ExitCode.USAGE_ERROR


def test_without_ray_the_extra_is_named(pytester, monkeypatch):
    pytester.makeconftest("import sys; sys.modules['ray'] = None")
    test_bad_use_is_one_sentence(
        ["--executor", "ray://127.0.0.1:9"],
        "",
        "pip install 'repro-claims[ray]'",
        pytester,
        monkeypatch,
    )
