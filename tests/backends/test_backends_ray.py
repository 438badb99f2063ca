"""Ray as a pool: a real cluster of a head and two nodes, and what can be shown without one."""

from importlib.util import find_spec

import pytest
from cluster_lines import LONG, Project, Session, entries, train_200_runs_and_lose_a_node
from ray_cluster import Cluster

from repro.arm import Run
from repro.runs.pool import Batch, Ended, TrainingStopped
from repro.store import Store
from tests.backends.behaving import Behaving
from tests.runs.fake_pool import Tuned

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
    train_200_runs_and_lose_a_node(cluster, project, tmp_path, lambda s: pool(project, cluster, s))


@pytest.mark.cluster
def test_what_cannot_be_trained_there_fails_and_a_stopped_pool_begins_anew(
    cluster, project, tmp_path
):
    from line import BREAKS, DIES, ELSEWHERE

    store = Store(tmp_path / "store")
    slow = Session(store, pool(project, cluster, store), project.batches([5], epochs=LONG))
    with project.slowly():
        slow.until(project.steps)
        slow.pool.stop()
    taken = project.steps()
    batches = project.batches([1], targets=(BREAKS, ELSEWHERE, DIES))
    session = Session(store, slow.pool, batches).finish()
    failed = {run.arm.target: event for run, event in session.failed.items()}
    slow.pool.stop()
    assert "failed to train: ZeroDivisionError: no slope today" in failed[BREAKS].why
    assert "would be another run where it was sent to" in failed[ELSEWHERE].why
    assert "failed on the cluster: " in failed[DIES].why
    assert entries(store) == {}
    assert project.steps() == taken


@pytest.mark.cluster
def test_a_run_comes_back_before_its_batch_ends(cluster, project, tmp_path):
    store = Store(tmp_path / "store")
    session = Session(store, pool(project, cluster, store), project.batches([1, 2], width=2))
    with project.slowly():
        session.until(lambda: session.done)
        assert len(entries(store)) == 1
        assert session.under_way == {0}
    session.finish()
    session.pool.stop()
    assert len(entries(store)) == 2


@pytest.mark.cluster
def test_a_lost_head_is_one_sentence(cluster, project, tmp_path, monkeypatch):
    monkeypatch.setattr("repro.backends.ray.PATIENCE_SECONDS", 1.0)
    store = Store(tmp_path / "store")
    session = Session(store, pool(project, cluster, store), project.batches([1], epochs=LONG))
    with project.slowly():
        session.until(project.steps)
        cluster.kill("head")
        with pytest.raises(TrainingStopped, match=r"The Ray cluster at .* is lost"):
            session.finish()
    session.pool.stop()


# --- Without a cluster; after those with one, for Ray reads its environment when it is imported.


@pytest.fixture
def joined(tmp_path, monkeypatch):
    """A pool that has joined a cluster whose largest node has four devices of each kind."""
    from repro.backends import ray

    monkeypatch.setattr(ray.RayPool, "_join", lambda self: None)
    monkeypatch.setattr(ray, "most", lambda unit: 4)
    monkeypatch.setattr("ray.cluster_resources", lambda: {"CPU": 6.0, "GPU": 8.0})
    return lambda device: ray.RayPool(
        Store(tmp_path / "store"), address="here:1", device=device, project=tmp_path
    )


def test_tasks_are_given_what_their_runs_ask_for(joined):
    batch = Batch(1, {Run(Behaving(devices=3, threads=32), 1): {}}, "loop")
    assert joined("cuda")._resources(batch) == {"num_cpus": 4, "num_gpus": 3}
    assert joined("cpu")._resources(batch) == {"num_cpus": 4, "num_gpus": 0}
    assert joined("cuda").room() == 16
    pool = joined("cpu")
    pool.submit(Batch(1, {Run(Behaving(devices=5), 1): {}}, "loop"))
    failed, ended = pool.events(0)
    assert "asks for 5 devices, and the largest node of the Ray cluster has 4 c" in failed.why
    assert ended == Ended(1)


def test_what_starts_from_nothing_fails(joined):
    pool = joined("cpu")
    pool.submit(Batch(1, {Run(Tuned(), 1): {"starts_from": "0" * 64}}, "loop"))
    failed, _ = pool.events(0)
    assert "seed 7, which this starts from, is not stored" in failed.why


class Emptied:
    """A task of Ray at its end: after a node was lost, `next_ready` can be true once too often."""

    def next_ready(self):
        return True

    def is_finished(self):
        return True

    def __next__(self):
        raise StopIteration


def test_an_end_that_looks_like_a_result_is_an_end(joined, monkeypatch):
    from repro.backends.ray import RayJob

    pool = joined("cpu")
    job = RayJob(Batch(1, {Run(Behaving(), 1): {}}, "loop"), task=Emptied())
    job.left.clear()
    pool._jobs[job] = None
    monkeypatch.setattr(pool, "_heard", lambda seconds: [job])
    monkeypatch.setattr(pool, "_require_head", lambda: None)
    assert list(pool.events(0)) == [Ended(1)]


def test_what_is_no_code_stays_here(tmp_path, monkeypatch):
    from repro.backends.ray import environment_of

    (tmp_path / "env").mkdir()
    (tmp_path / "env" / "pyvenv.cfg").touch()
    monkeypatch.setenv("REPRO_DATA", str(tmp_path))
    environment = environment_of(tmp_path, tmp_path / "runs")
    assert {"/env", "/runs", ".git"} <= set(environment["excludes"])
    assert environment["env_vars"] == {"OMP_NUM_THREADS": "1", "REPRO_DATA": str(tmp_path)}


def test_nodes_look_for_modules_where_this_process_does(tmp_path, monkeypatch):
    from repro.backends.ray import code_paths

    for place in ("tests", "."):
        monkeypatch.syspath_prepend(str(tmp_path / place))
    assert code_paths(tmp_path) == [".", "tests"]
