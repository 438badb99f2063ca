"""Slurm as a pool: a real one with two nodes, and what can be shown without one."""

import os
import signal
import sys

import pytest
from lines import STEPS, Project, Session, entries
from slurm_cluster import Slurm, lacking

from repro.arm import Run
from repro.backends.slurm_settings import SlurmSettings
from repro.runs.pool import Batch, Failed, TrainingStopped
from repro.store import Store
from repro.studies.depth_ladder.arms import D256_L4

pytest.importorskip("submitit", reason="not installed: submitit")

from repro.backends import slurm
from repro.backends.slurm import SlurmPool, device_for
from repro.backends.slurm_job import BatchJob
from repro.backends.slurm_queue import JobState, SlurmQueue

@pytest.fixture(scope="module")
def cluster():
    """Two nodes of one core each, started once for all tests."""
    if lacking():
        pytest.skip(f"no Slurm can be started: {lacking()}")
    cluster = Slurm()
    try:
        cluster.__enter__()
    except RuntimeError as error:  # a container may let no daemon work: CI says it, with their logs
        pytest.skip(str(error))
    yield cluster
    cluster.__exit__()


@pytest.fixture(scope="module")
def entered(cluster, tmp_path_factory):
    with Project(tmp_path_factory.mktemp("lines")).entered(cluster.environment()) as project:
        yield project


@pytest.fixture
def project(entered, cluster, monkeypatch):
    """The project as no test has changed it, and two nodes that do nothing."""
    monkeypatch.setattr(slurm, "LOOK_SECONDS", 1.0)
    cluster.revive()
    entered.clean()
    return entered


def pool(project, store, **settings):
    return SlurmPool(store, SlurmSettings(**settings), device="cpu", project=project.folder)


@pytest.mark.slurm
def test_200_runs_over_two_nodes_one_of_which_is_lost_have_the_bytes_of_this_machine(
    cluster, project, tmp_path
):
    batches = project.batches(range(1, 101), targets=(1.0, 7.0), width=50)
    store = Store(tmp_path / "far")
    session = Session(store, pool(project, store), batches)
    with project.slowly():
        session.until(lambda: len(cluster.jobs()) == 2 and project.steps(1) > STEPS // 4)
        cluster.lose_a_node()
    session.finish()
    assert session.failed == {}
    assert len(entries(store)) == 200
    assert entries(store) == entries(project.trained_here(tmp_path / "here", batches))


@pytest.mark.slurm
def test_a_job_outlives_its_session_and_its_time_limit(cluster, project, tmp_path):
    """Told to end as where its time limit nears, it goes on from its checkpoint."""
    (batch,) = project.batches([1])
    store = Store(tmp_path / "store")
    killed = Session(store, pool(project, store), [batch])
    with project.slowly():
        killed.until(lambda: store.checkpoints.load(batch.keys[0]))
        (job,) = cluster.jobs()
        cluster.run("scancel", "--signal=USR2", job)
        killed.until(lambda: not cluster.jobs())
        lost = project.steps(1)
    session = Session(store, pool(project, store), [batch]).finish()
    assert session.done == set(batch.runs)
    assert {line.split()[0] for line in cluster.queue()} == {job}
    assert lost < project.steps(1) < lost + STEPS


@pytest.mark.slurm
def test_what_cannot_be_trained_there_fails_with_the_reason(cluster, project, tmp_path):
    from line import BREAKS, DIES, ELSEWHERE

    store = Store(tmp_path / "store")
    batches = project.batches([1, 2, 3], targets=(BREAKS, ELSEWHERE, DIES))
    batches = [batches[0], batches[4], batches[8]]
    failed = Session(store, pool(project, store), batches).finish().failed
    assert "failed to train: ZeroDivisionError: no slope today" in failed[BREAKS, 1].why
    assert "would be stored under another key by the node" in failed[ELSEWHERE, 1].why
    assert "failed on the cluster: its job" in failed[DIES, 1].why
    assert "ended as FAILED" in failed[DIES, 1].why
    assert "about to end" in failed[DIES, 1].details
    assert project.steps(1) == STEPS // 6  # it breaks after an epoch
    assert project.steps(3) == 2  # the process died twice
    assert entries(store) == {}


@pytest.mark.slurm
def test_a_session_that_stops_cancels_its_jobs(cluster, project, tmp_path):
    store = Store(tmp_path / "store")
    session = Session(store, pool(project, store), project.batches([1, 2, 3]))
    with project.slowly():
        session.until(lambda: len(cluster.jobs()) == 2)
        assert session.pool.stop() == []
        session.until(lambda: not cluster.jobs())
    assert not any("PENDING" in line for line in cluster.queue())
