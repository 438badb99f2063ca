"""What a cluster's executor is made of, without a cluster."""

import pytest

from repro.backends.code_files import paths
from repro.backends.devices import Demand

pytest.importorskip("ray", reason="not installed: ray")


from repro.backends.ray.cluster import Cluster, Node, of_one_kind
from repro.backends.ray.node import Facts
from repro.backends.ray.working_copy import working_copy


def node(name, slots, machine, torch="2.13.0"):
    return Node(name, slots, 2**33, Facts(torch, machine))


def test_nodes_of_all_kinds_train_whose_results_have_the_same_keys():
    nodes = [node("a", 4, "old"), node("b", 4, "new"), node("c", 12, "new", torch="2.6.0")]
    assert of_one_kind(nodes, same_machine=False) == nodes[2:]
    assert of_one_kind([*nodes, node("d", 8, "old")], same_machine=False) == [
        *nodes[:2],
        node("d", 8, "old"),
    ]
    # Where bits count, the machine with most room is taken.
    small, large = [node("a", 4, "old"), node("b", 4, "old")], [node("c", 12, "new")]
    more = node("d", 8, "old")
    assert of_one_kind([*small, *large], same_machine=True) == large
    assert of_one_kind([*small, *large, more], same_machine=True) == [*small, more]


def test_tasks_are_kept_on_nodes_of_one_kind_and_within_what_these_have():
    cluster = Cluster.__new__(Cluster)
    cluster.nodes, cluster.device, cluster.others = [node("a", 4, "x"), node("b", 4, "x")], "cpu", 1
    assert cluster.resources(0)["label_selector"] == {"ray.io/node-id": "in(a,b)"}
    assert cluster.resources(2**31)["memory"] == 2**31 + 2**29
    assert cluster.resources(2**40)["memory"] == 2**33
    cluster.others, cluster.device = 0, "cuda"
    assert "label_selector" not in cluster.resources(0)
    assert cluster.resources(0)["num_gpus"] == 1


def test_tasks_of_black_boxes_are_given_what_they_ask_for():
    cluster = Cluster.__new__(Cluster)
    facts = Facts("2.13.0", "x")
    cluster.nodes = [Node("a", 4, 2**33, facts, cores=16), Node("b", 2, 2**33, facts, cores=64)]
    cluster.others, cluster.device = 0, "cuda"
    asked = cluster.resources(0, Demand(devices=4, threads=32))
    assert (asked["num_gpus"], asked["num_cpus"]) == (4, 16)  # what one node has, not two
    assert cluster.resources(0, Demand(threads=32))["num_cpus"] == 32
    cluster.device = "cpu"
    asked = cluster.resources(0, Demand(devices=3, threads=2))
    assert asked["num_cpus"] == 3
    assert "num_gpus" not in asked
    assert cluster.lacking(Demand(devices=4)) == ""
    assert "asks for 5 devices, and the largest node of the Ray cluster has 4 cores" in (
        cluster.lacking(Demand(devices=5))
    )


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
