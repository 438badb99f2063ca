"""A file's runs as claims, audits and stores see them: by arm and seed, with what has changed."""

from dataclasses import replace

import pytest

from repro.arm import Run
from repro.evidence import changes
from repro.evidence import pack as pack_module
from repro.evidence.add import add
from repro.evidence.audit import Finding, Plan, Trained, check
from repro.evidence.audit_text import audit_lines
from repro.evidence.changes import MOVED
from repro.evidence.errors import EvidenceError
from repro.evidence.file import EvidenceFile
from repro.evidence.frame import frame_of
from repro.evidence.pack import pack
from repro.evidence.results import Evidence, EvidenceResults
from repro.evidence.use import use_lines, use_of
from repro.runs.identity import packages_of
from repro.runs.provenance import provenance
from repro.store import Store, run_key
from tests.evidence.arms import CODE, MADE, RUN, SEEDS, Slope, file_of, identity_of, line, values_of

VALUES = values_of(RUN)
TODAY, DEFINITIONS = "70da7", {"line.train": "2", "line.slope": "1"}
OF_TODAY = {"kind": "code", "code": TODAY, "definitions": DEFINITIONS}


@pytest.fixture(autouse=True)
def _code_of_today(monkeypatch):
    monkeypatch.setattr(changes, "code_of", lambda arm: TODAY)
    for module in (changes, pack_module):
        monkeypatch.setattr(module, "definitions_of", lambda arm: DEFINITIONS)


def of_today(run, **changes):
    return line(run, identity=identity_of(run, TODAY), **changes)


def results_of(*paths):
    return EvidenceResults(Evidence.read(paths))


@pytest.fixture
def results(tmp_path):
    """What a file says of three seeds, trained by today's code."""
    found = results_of(file_of(tmp_path, OF_TODAY, *map(of_today, SEEDS)))
    for run in SEEDS:
        found.get(run)
    return found


def test_a_run_is_found_by_its_arm_and_seed_and_no_other(tmp_path):
    results = results_of(file_of(tmp_path, CODE, line(), line(SEEDS[1])))
    one, two, three = results.of(RUN.arm, [1, 2, 3])
    assert (one.values, two.values, three) == (values_of(RUN), values_of(SEEDS[1]), None)
    assert results.get(Run(Slope(width=9), 1)) is None
    assert set(results.used) == set(SEEDS[:2])
    assert results.key(RUN) == run_key(identity_of(RUN))
    assert "seed 3, is not in" in str(results.lacking(SEEDS[2:]))
    assert "seed 2, and 1 more runs are not in" in str(results.lacking(SEEDS[1:]))


def test_a_result_that_its_arm_cannot_have_does_not_count(tmp_path):
    for wrong, why in (
        ({"steps": 31}, "31 steps, and takes 30 at most"),
        ({"measures": {"slope": [0.25]}}, "a slope that is a list"),
        ({"history": {"loss": [0.5] * 4}}, "4 values of loss over its epochs, where 3 are known"),
        ({"history": {"loss": [0.5] * 2}}, "2 values of loss over its epochs, where 3 are known"),
        ({"history": {"slope": [0.1] * 3}}, "3 values of slope over its epochs, where 2 are"),
    ):
        results = results_of(file_of(tmp_path, CODE, line(values=VALUES | wrong)))
        assert results.get(RUN) is None
        assert why in results.failed(RUN)
    assert results_of(file_of(tmp_path, CODE, line())).failed(RUN) is None


def test_what_has_changed_since_is_named(tmp_path, results):
    assert results.remarks(SEEDS) == []
    lines = use_lines([use_of(results)])
    assert "nothing was trained: 3 runs used of" in lines[0]
    assert lines[-1] == "code and data are the same as when these runs were trained"
    for definitions, name in (
        ({**DEFINITIONS, "line.train": "1"}, "line.train"),
        (DEFINITIONS, MOVED),
    ):
        old = results_of(file_of(tmp_path, {**CODE, "definitions": definitions}, line()))
        assert old.get(RUN) is not None
        assert old.remarks([RUN, SEEDS[1]]) == [f"{name} has changed since 1 of its runs"]
    assert "code has changed since 1 runs" in use_lines([use_of(old)])[-1]


def test_other_data_than_is_here_is_named(tmp_path):
    identity = {**identity_of(RUN, TODAY), "data": "other points"}
    results = results_of(file_of(tmp_path, OF_TODAY, line(identity=identity)))
    assert results.changes(RUN) == ["the data set points"]


def test_files_that_contradict_each_other_are_refused_unless_machines_differ(tmp_path):
    first = file_of(tmp_path, CODE, line())
    other = {"values": {**VALUES, "measures": {"slope": 0.5}}}
    second = file_of(tmp_path, CODE, line(**other), name="other.jsonl.gz")
    with pytest.raises(EvidenceError) as raised:
        Evidence.read([first, second])
    for each in (str(first), str(second), "Slope, seed 1", "contradict each other"):
        assert each in str(raised.value)
    other["provenance"] = {"machine": "b chip"}
    second = file_of(tmp_path, CODE, line(**other), line(SEEDS[1]), name="other.jsonl.gz")
    evidence = Evidence.read([first, second, first])
    assert len(evidence.files) == 2
    assert evidence.measured(line()["key"]).values == VALUES  # of the first that was named
    assert evidence.measured(line(SEEDS[1])["key"]).values == values_of(SEEDS[1])


def test_the_same_results_are_packed_as_the_same_bytes(tmp_path, results):
    sums = set()
    for name, runs in (("one", SEEDS), ("other", SEEDS[::-1])):
        packed = pack(tmp_path / name, runs, profile="ci", claims=["900/rises"], results=results)
        assert packed.runs == 3
        sums.add((packed.sha256, (tmp_path / name).read_bytes()))
    assert len(sums) == 1
    again = results_of(tmp_path / "one")
    assert [again.get(run) for run in SEEDS] == [results.get(run) for run in SEEDS]


def test_runs_are_added_to_a_store_which_keeps_what_it_has(tmp_path):
    store = Store(tmp_path / "store")
    path = file_of(tmp_path, CODE, line(), line(SEEDS[1]))

    def added():
        done = add(EvidenceFile.read(path), store)
        return done.added, done.stored, len(done.others), done.without_weights

    assert added() == (2, 0, 0, 0)
    assert added() == (0, 2, 0, 0)
    assert store.get(identity_of(RUN)).values == VALUES
    path = file_of(tmp_path, CODE, line(values=VALUES | {"measures": {"slope": 9.0}}))
    assert added() == (0, 0, 1, 0)
    assert store.get(identity_of(RUN)).values == VALUES
    kept = line(SEEDS[2], keeps_weights=True)
    weights = {"kind": "weights", "key": kept["key"]}
    parts = [{**weights, "part": n, "base64": text} for n, text in enumerate(("AAEC", "Aw=="))]
    path = file_of(tmp_path, CODE, kept)
    assert added() == (0, 0, 0, 1)
    path = file_of(tmp_path, CODE, kept, *parts)
    assert added() == (1, 0, 0, 0)
    assert store.at(kept["key"]).weights == bytes([0, 1, 2, 3])


def plan_of(results):
    return Plan(frame_of(results, device="cpu", longest=300), 2, 60.0, 5, "cpu")


def test_an_audit_draws_from_what_can_be_trained_here_and_says_what_it_leaves_out(
    tmp_path, results
):
    slow = {**MADE, "seconds": 1e6}  # in one run: the study's others say otherwise
    lines = [of_today(SEEDS[0], provenance=slow), *map(of_today, SEEDS[1:])]
    mixed = results_of(file_of(tmp_path, OF_TODAY, CODE, *lines, line(Run(Slope(), 4))))
    for run in (*SEEDS, Run(Slope(), 4)):
        mixed.get(run)
    frame = frame_of(mixed, device="cpu", longest=300)
    assert [each.run.seed for each in frame.drawable] == [1, 2, 3]
    assert [each.seconds for each in frame.drawable] == [1.5] * 3
    assert [*frame.left_out] == ["were packed before a change of line.train"]
    assert [*frame_of(results, device="cuda", longest=9).left_out.values()] == [3]
    assert "take longer than" in next(iter(frame_of(results, device="cpu", longest=1).left_out))
    unread = results_of(file_of(tmp_path, OF_TODAY, *map(of_today, SEEDS)))
    assert frame_of(unread, device="cpu", longest=9).left_out == {
        "are of no claim that was read": 3
    }


def moved(by):
    return VALUES | {"measures": {"slope": VALUES["measures"]["slope"] + by}}


def test_a_run_that_was_trained_again_is_held_against_what_was_packed(results):
    plan = plan_of(results)
    drawn = plan.frame.drawable[0]  # the spread between its seeds is 0.25
    here = provenance("cpu", 0.0, 1)
    mine = {**here, "packages": {**here["packages"], **packages_of(RUN.arm)}}
    record = drawn.record
    own = replace(drawn, record=replace(record, result=replace(record.result, provenance=mine)))
    found = {}
    for name, trained in {
        "same": Trained(drawn, 1.0, VALUES),
        "rounded": Trained(drawn, 1.0, moved(0.02), moved(0.02)),
        "as far as rounding goes": Trained(drawn, 1.0, moved(0.1), moved(0.12)),
        "far": Trained(drawn, 1.0, moved(0.03), moved(0.03)),
        "rounded by the same machine": Trained(own, 1.0, moved(0.02), moved(0.02)),
        "diverged": Trained(drawn, 1.0, {"history": {"loss": [0.5]}, "diverged_at": 3}),
        "untrained": Trained(drawn, 1.0, why="no seven"),
    }.items():
        found[name] = check(plan, trained)
    assert {name: each.finding for name, each in found.items()} == {
        "same": Finding.SAME,
        "rounded": Finding.ROUNDED,
        "as far as rounding goes": Finding.ROUNDED,
        "far": Finding.WRONG,
        "rounded by the same machine": Finding.WRONG,
        "diverged": Finding.WRONG,
        "untrained": Finding.NOT_TRAINED,
    }
    assert found["far"].difference.found == pytest.approx(0.12)
    lines = "\n".join(audit_lines(plan, list(found.values())))
    for part in (
        "7 of 3 runs were drawn by seed 5, each with the same chance",
        "1 the same bits, 2 the same but for rounding, 3 another result, 1 could not",
        "its slope differs by 0.12 of the spread",
        "the same kind of machine and versions trained it",
        "NOT TRAINED  no seven",
    ):
        assert part in lines, part
    clean = list(audit_lines(plan, [found["same"]] * 3))
    assert any("fewer than 1 of the 3 runs" in each for each in clean)
