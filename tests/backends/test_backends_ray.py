"""Ray as a pool: a real cluster of a head and two nodes, and what can be shown without one."""

from importlib.util import find_spec

import pytest
from lines import STEPS, Project, Session, entries
from ray_cluster import Cluster

from repro.runs.pool import TrainingStopped
from repro.store import Store

if find_spec("ray") is None:
    pytest.skip("not installed: ray", allow_module_level=True)


@pytest.fixture(scope="module")
def cluster():
    """A head, and two nodes of one core each, started once for all tests."""
    with Cluster() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def entered(cluster, tmp_path_factory):
    with Project(tmp_path_factory.mktemp("lines")).entered(cluster.environment()) as project:
        yield project


@pytest.fixture
def project(entered, cluster):
    """The project as no test has changed it, and two nodes that do nothing."""
    cluster.revive()
    entered.clean()
    return entered


def pool(project, cluster, store):
    from repro.backends.ray import RayPool  # Ray reads its environment when it is imported

    return RayPool(store, address=cluster.address, device="auto", project=project.folder)


@pytest.mark.cluster
def test_200_runs_over_two_nodes_one_of_which_is_lost_have_the_bytes_of_this_machine(
    cluster, project, tmp_path
):
    batches = project.batches(range(1, 101), targets=(1.0, 7.0), width=25)
    session = Session(Store(tmp_path / "far"), None, batches)
    session.pool = pool(project, cluster, session.store)
    with project.slowly():
        session.until(lambda: project.steps(1) > STEPS // 4 and project.steps(14) > STEPS // 4)
        cluster.lose_a_node()
    session.finish()
    session.pool.stop()
    assert session.failed == {}
    assert len(entries(session.store)) == 200
    here = project.trained_here(tmp_path / "here", batches)
    assert entries(session.store) == entries(here)


@pytest.mark.cluster
def test_what_cannot_be_trained_there_fails_and_a_stopped_pool_begins_anew(
    cluster, project, tmp_path
):
    from line import BREAKS, DIES, ELSEWHERE

    store = Store(tmp_path / "store")
    slow = Session(store, pool(project, cluster, store), project.batches([5]))
    with project.slowly():
        slow.until(lambda: project.steps(5) > 0)
        assert slow.pool.stop() == []
    taken = project.steps(5)
    batches = project.batches([1], targets=(BREAKS, ELSEWHERE, DIES))
    failed = Session(store, slow.pool, batches).finish().failed
    slow.pool.stop()
    assert "failed to train: ZeroDivisionError: no slope today" in failed[BREAKS, 1].why
    assert "would be stored under another key by the node" in failed[ELSEWHERE, 1].why
    assert "failed on the cluster: " in failed[DIES, 1].why
    assert entries(store) == {}
    assert project.steps(5) == taken


@pytest.mark.cluster
def test_a_lost_head_is_one_sentence(cluster, project, tmp_path, monkeypatch):
    monkeypatch.setattr("repro.backends.ray.PATIENCE_SECONDS", 1.0)
    store = Store(tmp_path / "store")
    session = Session(store, pool(project, cluster, store), project.batches([1]))
    with project.slowly():
        session.until(lambda: project.steps(1) > 0)
        cluster.kill("head")
        with pytest.raises(TrainingStopped, match=r"The Ray cluster at .* is lost"):
            session.finish()
    session.pool.stop()
