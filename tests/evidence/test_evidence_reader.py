"""A file's runs as claims and stores see them: by arm and seed, what has changed, what repeats."""

import gzip
from dataclasses import replace

import pytest

from repro.__main__ import main
from repro.arm import Metric, Run
from repro.evidence import EvidenceError
from repro.evidence import reader as results_module
from repro.evidence.file import EvidenceFile
from repro.evidence.pack import add, pack
from repro.evidence.reader import EvidenceResults
from repro.runs.results import Results
from repro.store import Store
from tests.evidence.arms import (
    CODE,
    GONE,
    HOLDS,
    HOW,
    OLD,
    RUN,
    SEEDS,
    TODAY,
    Slope,
    file_of,
    former,
    identity_of,
    line,
    result_of,
    values_of,
)
from tests.local_work import PROJECT

VALUES = values_of(RUN)


def results_of(*paths):
    return EvidenceResults.read(paths, project=PROJECT)


@pytest.fixture
def results(tmp_path):
    """What a file says of three seeds, trained by today's code."""
    found = results_of(file_of(tmp_path, TODAY, *map(line, SEEDS)))
    for run in SEEDS:
        found.get(run)
    return found


def test_a_run_is_found_by_its_arm_and_seed_and_no_other(tmp_path):
    results = results_of(file_of(tmp_path, TODAY, line(), line(SEEDS[1])))
    one, two, three = map(results.get, SEEDS)
    assert (one.values, two.values, three) == (values_of(RUN), values_of(SEEDS[1]), None)
    assert results.get(Run(Slope(width=9), 1)) is None
    assert set(results.used) == set(SEEDS[:2])
    assert results.get(RUN).key == line()["key"]
    assert "seed 3, is not in" in str(results.missing_error(SEEDS[2:]))
    assert "seed 2, and 1 more runs are not in" in str(results.missing_error(SEEDS[1:]))


def test_a_result_that_its_arm_cannot_have_does_not_count(tmp_path):
    for wrong, why in (
        ({"steps": 31}, "31 steps, and takes 30 at most"),
        ({"measures": {"slope": [0.25]}}, "a slope that is a list"),
        ({"history": {"loss": [0.5] * 4}}, "4 values of loss over its epochs, where 3 are known"),
        ({"history": {"loss": [0.5] * 2}}, "2 values of loss over its epochs, where 3 are known"),
        ({"history": {"slope": [0.1] * 3}}, "3 values of slope over its epochs, where 2 are"),
        ({"measures": {"slope": 0.1}}, "a final slope that is not of its last epoch"),
        ({"history": {"loss": [0.5] * 3}}, "a final slope that is not of its last epoch"),
    ):
        results = results_of(file_of(tmp_path, TODAY, line(values=VALUES | wrong)))
        assert results.get(RUN) is None
        assert why in str(results.failed(RUN))
        assert list(results.faults) == [RUN]
    results = results_of(file_of(tmp_path, TODAY, line(settings={"width": 9})))
    assert results.get(RUN) is None
    assert str(results.failed(RUN)).endswith("with width 9; the arm says 8")
    assert results_of(file_of(tmp_path, TODAY, line())).failed(RUN) is None


def test_a_final_value_is_that_of_an_epoch_unless_the_training_is_the_users(tmp_path, monkeypatch):
    metrics = {"slope": Metric("identity"), "height": Metric("identity")}
    monkeypatch.setattr(Slope, "metrics", metrics)
    history = {"slope": [0.1, 0.3], "height": [[1.0], [2.0]], "loss": [0.5, 0.4, 0.3]}
    stops = Run(Slope(recipe=replace(Slope().recipe, patience=3)), 1)
    last, best = {"slope": 0.3, "height": [2.0]}, {"slope": 0.1, "height": [1.0]}
    mixed, shifted = {"slope": 0.3, "height": [1.0]}, {"slope": 0.3 + 1e-12}
    monkeypatch.setitem(metrics, "height", Metric("identity", listed=True))
    for run, ends in ((RUN, [last]), (stops, [last, best])):
        for measures in (last, best, mixed, shifted):
            values = {**VALUES, "measures": measures, "history": history}
            results = results_of(file_of(tmp_path, TODAY, line(run, values=values)))
            assert (results.get(run) is not None) == (measures in ends), (run, measures)
    monkeypatch.setattr(results_module, "OutsideArm", Slope)
    assert results.get(stops) is not None


def test_what_has_changed_since_is_named(tmp_path, results):
    assert results.remarks(SEEDS) == []
    lines = results.lines()
    assert "nothing was trained: 3 runs used of" in lines[0]
    assert lines[-1] == "3 of 3 runs were made by today's code"
    name = "no_such, which is not here,"
    old = results_of(file_of(tmp_path, TODAY, OLD, line(trace=GONE), line(SEEDS[1])))
    assert all(map(old.get, SEEDS[:2]))
    assert old.remarks(SEEDS) == [f"{name} has changed since 1 of its runs"]
    assert old.lines()[-1] == (
        "1 of 2 runs were made by today's code; 1 by earlier code, since which this has changed:"
        f" {name} (1 runs)"
    )


def test_runs_of_an_earlier_format_are_read_with_the_definitions_that_they_reached(tmp_path):
    results = results_of(file_of(tmp_path, CODE, former()))
    assert results.get(RUN).values == VALUES
    assert results.changes(RUN) == ["no_such.train"]
    assert add(results.files[0], Store(tmp_path / "store")).earlier == 1


def test_runs_that_were_renewed_are_counted_by_the_commit(tmp_path):
    note = f"at {'b37f21d773' * 4}, 2 of 9 trained again: the same bits"
    lines = [line(), line(SEEDS[1], provenance={**HOW, "renewed": note}), line(SEEDS[2])]
    results = results_of(file_of(tmp_path, TODAY, *lines))
    assert all(map(results.get, SEEDS))
    assert results.lines()[-1] == (
        "2 of 3 runs were made by today's code; 1 were renewed: their code was edited after"
        " training, and a few of each kind, trained again, gave the same bits: at b37f21d773"
        " (1 runs)"
    )


def test_other_data_than_is_here_is_named(tmp_path):
    identity = identity_of(RUN, data="other points")
    results = results_of(file_of(tmp_path, TODAY, line(identity=identity)))
    assert results.changes(RUN) == ["the data set points"]


def test_files_that_contradict_each_other_are_refused_unless_machines_differ(tmp_path):
    first = file_of(tmp_path, TODAY, line())
    other = {"values": {**VALUES, "measures": {"slope": 0.5}}}
    second = file_of(tmp_path, TODAY, line(**other), name="other.jsonl.gz")
    with pytest.raises(EvidenceError) as raised:
        results_of(first, second)
    for each in (str(first), str(second), "Slope, seed 1", "contradict each other"):
        assert each in str(raised.value)
    other["provenance"] = {"machine": "b chip"}
    second = file_of(tmp_path, TODAY, line(**other), line(SEEDS[1]), name="other.jsonl.gz")
    evidence = results_of(first, second, first)
    assert len(evidence.files) == 2
    assert evidence.measured(line()["key"]).values == VALUES  # of the first that was named
    assert evidence.measured(line(SEEDS[1])["key"]).values == values_of(SEEDS[1])


def test_the_same_results_are_packed_as_the_same_bytes_and_tell_no_path(tmp_path, monkeypatch):
    monkeypatch.setattr("repro.runs.identity.torch_version", lambda: "2.9")
    store, of_here = Store(tmp_path / "store"), {"files": {"/srv/x.csv": None}}
    for run, trace in zip(SEEDS, (HOLDS, HOLDS, of_here), strict=True):
        result = result_of(run, trace=trace)
        store.put_trace(trace)
        store.put(result.identity, result.values, result.provenance, made=result.made)
    here = Results(store, device="cpu", project=PROJECT)
    sums = set()
    for name, runs in (("one", SEEDS), ("other", SEEDS[::-1])):
        packed = pack(tmp_path / name, runs, profile="ci", claims=["900/rises"], results=here)
        assert (len(packed.lines), len(packed.traces)) == (3, 2)
        sums.add((packed.sha256, (tmp_path / name).read_bytes()))
    assert len(sums) == 1
    assert b"home" not in gzip.decompress((tmp_path / "one").read_bytes())
    again = results_of(tmp_path / "one")
    assert [again.get(run).values for run in SEEDS] == [here.get(run).values for run in SEEDS]
    assert list(map(again.changes, SEEDS)) == [[], [], []]


def test_runs_are_added_to_a_store_which_keeps_what_it_has(tmp_path):
    store = Store(tmp_path / "store")
    path = file_of(tmp_path, TODAY, line(), line(SEEDS[1]))

    def added():
        done = add(EvidenceFile.read(path), store)
        return done.added, done.stored, len(done.others), done.without_weights

    assert added() == (2, 0, 0, 0)
    assert added() == (0, 2, 0, 0)
    assert store.get(identity_of(RUN)).values == VALUES
    path = file_of(tmp_path, TODAY, line(values=VALUES | {"measures": {"slope": 9.0}}))
    assert added() == (0, 0, 1, 0)
    assert store.get(identity_of(RUN)).values == VALUES
    kept = line(SEEDS[2], keeps_weights=True)
    weights = {"kind": "weights", "key": kept["key"]}
    parts = [{**weights, "part": n, "base64": text} for n, text in enumerate(("AAEC", "Aw=="))]
    path = file_of(tmp_path, TODAY, kept)
    assert added() == (0, 0, 0, 1)
    path = file_of(tmp_path, TODAY, kept, *parts)
    assert added() == (1, 0, 0, 0)
    assert store.at(kept["key"]).weights == bytes([0, 1, 2, 3])


def copied(run, *, of, width=8):
    return line(Run(Slope(width=width), run), values=values_of(SEEDS[of - 1]))


def test_a_file_says_which_of_its_seeds_repeat_another(tmp_path, results):
    assert results.repeats() == {}
    path = file_of(
        tmp_path, TODAY, line(), line(SEEDS[1]), copied(3, of=1), copied(1, of=1, width=9)
    )
    forged = results_of(path)
    assert all(map(forged.get, SEEDS))
    assert forged.get(Run(Slope(width=9), 1)) is not None  # another arm may have the same numbers
    assert forged.repeats() == {SEEDS[2]: SEEDS[0]}
    said = forged.lines()[1]
    assert said.startswith(f"{path} repeats itself: 1 runs have all numbers of another seed")
    assert "such as Slope, seed 3, which is seed 1 again" in said


def test_what_no_seed_changes_may_repeat(tmp_path, monkeypatch):
    alike = VALUES | {"history": {"slope": [0.1, 0.25]}}
    lines = [line(run, values=alike) for run in SEEDS]
    without = [line(run, values=VALUES | {"history": {}, "steps": 0}) for run in SEEDS]
    for packed, exact, repeats in ((lines, False, 2), (lines, True, 0), (without, False, 0)):
        monkeypatch.setattr(Slope, "metrics", {"slope": Metric("identity", exact=exact)})
        monkeypatch.setattr(Slope, "steps", 0 if packed is without else 30)
        results = results_of(file_of(tmp_path, TODAY, *packed))
        assert all(map(results.get, SEEDS))
        assert len(results.repeats()) == repeats


def test_options_that_there_are_not_are_refused():
    for arguments in (["pack", "packed", "--nothing", "claims"], ["add", "packed", "--device"]):
        with pytest.raises(SystemExit):
            main(["evidence", *arguments])


@pytest.mark.parametrize("command", [["evidence", "audit", "packed"], ["evidence", "renew"]])
def test_a_device_that_there_is_not_is_refused_in_a_sentence(command, capsys):
    assert main([*command, "--device", "abacus"]) == 1
    assert capsys.readouterr().err.startswith("There is no device 'abacus'; choose one of")
