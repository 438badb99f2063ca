"""What a cluster's executor is made of, without a cluster."""

import pytest

from repro.executor.ray.desk import Desk, Done, Failed, Progress

pytest.importorskip("ray", reason="Ray is not installed: pip install 'repro[ray]'")

import ray

from repro.data.registry import data_sets
from repro.executor.ray.cargo import Loader
from repro.executor.ray.cluster import Cluster, Node, of_one_kind
from repro.executor.ray.working_copy import paths, working_copy
from repro.studies.early_exit.arms import ONE_LAYER
from repro.studies.finetuning.arms import FinetuneArm

DONE = Done({"measures": {}}, {}, None)


def test_the_desk_sends_again_what_may_have_been_lost_on_its_way():
    desk = Desk()
    desk.end((1, 0), DONE)
    first = desk.collect(0, [])
    assert first.ends == desk.collect(0, []).ends == [((1, 0), DONE)]
    assert desk.collect(first.serial, []).ends == []
    desk.end((1, 1), Failed("because"))
    assert desk.collect(first.serial, []).ends == [((1, 1), Failed("because"))]


def test_a_batch_that_starts_again_finds_what_it_had_come_to():
    desk = Desk()
    desk.keep((1, 0), b"early")
    desk.keep((1, 1), b"early")
    desk.keep((1, 1), b"later")
    desk.keep((2, 0), b"another's")
    desk.end((1, 0), DONE)
    assert desk.come_to(1, 3) == ({0}, {1: b"later"})


def test_the_desk_forgets_what_is_over():
    desk = Desk()
    for batch in (1, 2):
        desk.keep((batch, 0), b"saved")
        desk.end((batch, 1), DONE)
        desk.hear(batch, Progress(1, 2, 3))
    news = desk.collect(0, [1])
    assert [place for place, _ in (*news.ends, *news.checkpoints)] == [(2, 1), (2, 0)]
    assert news.progress == {2: Progress(1, 2, 3)}


def node(name, slots, machine):
    return Node(name, slots, 2**33, {"machine": machine})


def test_of_several_kinds_of_nodes_the_one_with_most_room_is_taken():
    small, large = [node("a", 4, "old"), node("b", 4, "old")], [node("c", 12, "new")]
    assert of_one_kind([*small, *large]) == large
    assert of_one_kind([*small, *large, node("d", 8, "old")]) == [*small, node("d", 8, "old")]


def test_tasks_are_kept_on_nodes_of_one_kind_and_within_what_these_have():
    cluster = Cluster.__new__(Cluster)
    cluster.nodes, cluster.device, cluster.others = [node("a", 4, "x"), node("b", 4, "x")], "cpu", 1
    assert cluster.resources(0)["label_selector"] == {"ray.io/node-id": "in(a,b)"}
    assert cluster.resources(2**31)["memory"] == 2**31 + 2**29
    assert cluster.resources(2**40)["memory"] == 2**33
    cluster.others, cluster.device = 0, "cuda"
    assert "label_selector" not in cluster.resources(0)
    assert cluster.resources(0)["num_gpus"] == 1


def test_the_cargo_of_an_arm_are_the_files_of_its_sets_that_are_here(tmp_path, monkeypatch):
    monkeypatch.setenv("REPRO_DATA", str(tmp_path))
    monkeypatch.setattr(ray, "put", lambda piece: piece)
    for name in ("wikitext-2", "sms-spam", "gpt2-bpe", "gpt2-small"):
        folder = tmp_path / data_sets()[name].folder
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(name.encode())

    def names(arm):
        return [item.pieces[0].decode() for item in Loader().cargo(arm)]

    assert names(ONE_LAYER.but(data="wikitext-2")) == ["wikitext-2"]
    assert names(ONE_LAYER.but(data="wikitext-2-twin")) == []
    assert names(FinetuneArm()) == ["sms-spam", "gpt2-bpe", "gpt2-small"]
    assert names(FinetuneArm(start="random", size="large")) == ["sms-spam", "gpt2-bpe"]


def test_the_working_copy_leaves_out_what_is_no_code(tmp_path, monkeypatch):
    (tmp_path / "env").mkdir()
    (tmp_path / "env" / "pyvenv.cfg").touch()
    (tmp_path / "tests").mkdir()
    for place in ("tests", "env"):
        monkeypatch.syspath_prepend(str(tmp_path / place))
    monkeypatch.syspath_prepend(str(tmp_path))
    with working_copy(tmp_path, tmp_path / "runs") as environment:
        assert {"/env", "/runs", ".git"} <= set(environment["excludes"])
        (module,) = environment["py_modules"]
        assert module.endswith("/repro")
    assert paths(tmp_path)[:2] == (".", "tests")
    assert "env" not in paths(tmp_path)
