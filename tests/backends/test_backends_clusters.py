"""Sessions on a real Ray and on a real Slurm: what only machines that can be lost can show."""

import json
import re
import signal

import pytest
from ray_cluster import Cluster
from slow_lines import STEPS, Project, text_of, trained
from slurm_cluster import Slurm, lacking

from tests.oracles import oracle

ON_RAY = pytest.param("ray", marks=pytest.mark.cluster)
ON_SLURM = pytest.param("slurm", marks=pytest.mark.slurm)
TWO = ("-k", "rises", "--seed-budget", "2")
"""One arm, two runs: one for each node."""

pytestmark = pytest.mark.xdist_group("one cluster for all of these tests")


@pytest.fixture(scope="session", params=[ON_RAY, ON_SLURM])
def cluster(request):
    """Two nodes of one core each, started once for all tests."""
    if request.param == "slurm" and lacking():
        pytest.skip(f"no Slurm can be started: {lacking()}")
    oracle({"ray": "ray", "slurm": "submitit"}[request.param])
    cluster = {"ray": Cluster, "slurm": Slurm}[request.param]()
    try:
        cluster.__enter__()
    except RuntimeError as error:  # a container may let no daemon work: CI says it, with their logs
        pytest.skip(str(error))
    yield cluster
    cluster.__exit__()


@pytest.fixture(scope="session")
def session_project(tmp_path_factory, cluster):
    project = Project(tmp_path_factory.mktemp("lines"), cluster)
    text = project.run("here")
    assert "2 of 2 settled verdicts" in text, text
    return project


@pytest.fixture
def project(session_project, cluster):
    """The project, and two nodes that do nothing, whatever the last test did to them."""
    cluster.revive()
    with session_project.for_one_test():
        yield session_project


def disturbed(project, store):
    """A session both of whose runs train slowly, and have been saved on the way."""
    (project.marks / "slow").touch()
    session = project.far(store, *TWO)
    project.until(lambda: len(project.saved(store)) == 2)
    return session


def all_there(project, store, text):
    """Whether both runs have come to the bytes that they have on this machine."""
    entries = project.entries(store)
    assert trained(text) == len(entries) == 2, text
    return entries.items() <= project.entries("here").items()


def lost_steps(project, saved):
    """The steps that runs have taken since they were saved."""
    return sum(project.steps().values()) - sum(saved.values())


def test_results_are_those_of_this_machine_under_the_same_keys(project):
    text = text_of(project.far("far", "--seed-budget", "2"))
    assert "2 of 2 settled verdicts" in text, text
    here = {key: x for key, x in project.entries("here").items() if project.seed_of(key) < 3}
    assert trained(text) == len(here) == 4
    assert project.entries("far") == here
    made = (project.folder / "far" / "runs").glob("*/*/provenance.json")
    assert all(json.loads(path.read_text())["seconds"] > 0 for path in made)


def test_a_lost_node_costs_at_most_what_came_after_the_last_checkpoint(project, cluster):
    session = disturbed(project, "lost")
    saved = project.saved("lost")
    cluster.lose_a_node()
    lost = lost_steps(project, saved)
    (project.marks / "slow").unlink()
    assert all_there(project, "lost", text_of(session))
    assert sum(project.steps().values()) - 2 * STEPS <= lost < STEPS


def test_a_killed_session_goes_on_and_trains_nothing_twice(project, cluster):
    disturbed(project, "killed").kill()
    if not cluster.outlives_sessions:
        project.until_still()
    lost = lost_steps(project, project.saved("killed"))
    (project.marks / "slow").unlink()
    session = project.far("killed", *TWO)
    assert all_there(project, "killed", text_of(session))
    assert sum(project.steps().values()) - 2 * STEPS <= lost < STEPS
    again = text_of(project.far("killed", *TWO))
    assert "trained now" not in again or trained(again) == 0


def test_ctrl_c_stops_what_runs_on_the_nodes_and_keeps_what_they_came_to(project):
    session = disturbed(project, "stopped")
    session.send_signal(signal.SIGINT)
    text = text_of(session)
    assert session.returncode == pytest.ExitCode.INTERRUPTED, text
    assert "the same command goes on from there" in text
    assert "Traceback" not in text
    project.until_still()
    assert list((project.folder / "stopped" / "locks").iterdir()) == []
    assert len(project.checkpoints("stopped")) == 2
    assert project.entries("stopped") == {}


def test_two_sessions_on_one_store_train_no_run_twice(project):
    both = [project.far("shared", *TWO) for _ in range(2)]
    texts = [text_of(session) for session in both]
    assert sum(map(trained, texts)) == 2, texts
    assert all(re.search("^reproduced +900.rises", text, re.MULTILINE) for text in texts), texts
    assert sum(project.steps().values()) == 2 * STEPS


def test_what_cannot_be_trained_there_fails_its_claim_with_the_reason(project):
    session = project.far("odd", "odd_lines.py", "--seed-budget", "2")
    text = text_of(session)
    assert "failed to train: ZeroDivisionError: no slope today" in text
    assert 'raise ZeroDivisionError("no slope today")' in text  # the author's own line
    assert "would be stored under another key by the node" in text
    assert project.entries("odd") == {}


@pytest.mark.parametrize("cluster", [ON_RAY], indirect=True)
def test_a_lost_head_is_one_sentence_and_the_same_command_goes_on(project, cluster):
    session = disturbed(project, "cut")
    cluster.kill("head")
    text = text_of(session)
    assert session.returncode == pytest.ExitCode.INTERRUPTED, text
    assert f"The Ray cluster at {cluster.address} is lost" in text
    assert "Traceback" not in text
    cluster.revive()
    lost = lost_steps(project, project.saved("cut"))
    (project.marks / "slow").unlink()
    assert all_there(project, "cut", text_of(project.far("cut", *TWO)))
    assert sum(project.steps().values()) - 2 * STEPS <= lost < STEPS


@pytest.mark.parametrize("cluster", [ON_SLURM], indirect=True)
def test_a_job_that_is_told_to_end_goes_on_in_the_next(project, cluster):
    """As Slurm tells it where its time limit nears, or where another job is preferred."""
    session = disturbed(project, "told")
    saved = project.saved("told")
    for job in cluster.jobs():
        cluster.run("scancel", "--signal=USR2", job)
    project.until(lambda: not cluster.jobs())
    lost = lost_steps(project, saved)
    (project.marks / "slow").unlink()
    assert all_there(project, "told", text_of(session))
    assert sum(project.steps().values()) - 2 * STEPS <= lost < STEPS
