"""Runs of other code: taken over where the same bits are trained again."""

import copy
import shutil

import pytest

from repro.arm import Run
from repro.core.device import machine
from repro.evidence import rekey
from repro.evidence.audit import NotTrained
from repro.evidence.rekey import FormerRuns, RekeyedResults, check, kind_of, note
from repro.runs import identity as identities
from repro.store import Result, Store, run_key
from repro.store.upkeep import items
from tests.evidence.arms import MADE, RUN, SEEDS, Slope, again, identity_of, values_of
from tests.evidence.packs import FILE, command, compressed, lines_of, packed
from tests.plugin.sessions import run as session
from tests.plugin.sessions import trained as counts

HERE = {**MADE, "machine": machine("cpu")}
WIDE = [Run(Slope(width=9), seed) for seed in (1, 2, 3)]


@pytest.fixture
def today(monkeypatch):
    """Returns the identity of a run by the code of today."""
    monkeypatch.setattr(identities, "_code", lambda types: "70da7")
    monkeypatch.setattr(identities, "torch_version", lambda: "2.9")
    identities._of_arm.cache_clear()
    yield lambda run: identities.identity(run, device="cpu")
    identities._of_arm.cache_clear()


def stored(identity, run=RUN, **made):
    return Result(run_key(identity), identity, values_of(run), {**HERE, **made})


def test_a_run_is_found_under_a_key_of_other_code_and_of_nothing_else(today):
    former = stored(identity_of(RUN))
    assert FormerRuns([former]).find(today(RUN)) is former
    others = [{"data": "other points"}, {"torch": "2.8"}, {"device": "cuda"}, {"seed": 2}]
    others.append({"arm": identity_of(WIDE[0])["arm"]})
    former = FormerRuns([stored({**identity_of(RUN), **other}) for other in others])
    assert former.find(today(RUN)) is None
    assert former.find(today(WIDE[0])) is not None
    times = ["2026-02-01", "2026-03-01", "2026-01-01"]  # the last of several counts
    former = [stored(identity_of(RUN, str(n)), finished=time) for n, time in enumerate(times)]
    assert FormerRuns(former).find(today(RUN)) is former[1]


def test_runs_of_a_file_that_have_todays_keys_stay_whatever_the_store_has(tmp_path, today):
    store = Store(tmp_path)
    for run in SEEDS:
        store.put(today(run), {"steps": 1}, {})
    former = FormerRuns([stored(today(RUN)), stored(identity_of(SEEDS[1]), SEEDS[1])])
    results = RekeyedResults(store, former, device="cpu", alone=True)
    first, second, third = map(results.get, SEEDS)
    assert (first, third) == (stored(today(RUN)), None)
    assert second.values == values_of(SEEDS[1])
    assert set(results.found) == {SEEDS[1]}
    assert set(results.read()) == {RUN, SEEDS[1]}


def test_former_results_read_as_if_they_had_todays_keys(tmp_path, today):
    store, former = Store(tmp_path), stored(identity_of(RUN))
    results = RekeyedResults(store, FormerRuns([former]), device="cpu")
    store.put(today(SEEDS[1]), {"steps": 1}, {})
    first, second, third = map(results.get, SEEDS)
    assert (first.key, first.values) == (run_key(today(RUN)), former.values)
    assert (second.values, third) == ({"steps": 1}, None)
    assert results.found == {RUN: former}
    made = note(former, 2, commit="abc")
    assert made == {**HERE, "rekeyed": "at abc, 2 retrained"}
    results.annotate({RUN: made})
    assert results.get(RUN).provenance == made
    assert set(results.read()) == {RUN, SEEDS[1]}


@pytest.fixture
def checked(monkeypatch):
    """Returns what is found of some runs, and which of them were trained again."""

    def checked(found, others=()):
        runs = []
        monkeypatch.setattr(rekey, "Again", again(dict(others), runs))
        return [*check(found, device="cpu")], runs

    return checked


def of(runs, **made):
    return {run: stored(identity_of(run), run, **made) for run in runs}


def test_two_runs_of_each_kind_are_trained_again_of_different_arms(checked):
    found = of(SEEDS, seconds=1.0) | of(WIDE, seconds=9.0)
    found |= of([Run(Slope(width=width), 1) for width in (10, 11, 12)], engine="stacked")
    kinds, trained = checked(found)
    assert kinds == [
        (("tests.evidence.arms", "loop", "Slope"), 2, ""),
        (("tests.evidence.arms", "stacked", "Slope"), 2, ""),
    ]
    assert trained[:2] == [SEEDS[0], WIDE[0]]  # the cheapest of each arm
    assert len(trained) == 4


def test_the_cheapest_runs_are_those_with_the_least_work_before_them(checked, monkeypatch):
    start, then = Run(Slope(width=99), 1), Run(Slope(width=16), 1)
    starts_from = property(lambda arm: start if arm == then.arm else None)
    monkeypatch.setattr(Slope, "starts_from", starts_from)
    assert checked(of([then], seconds=1.0) | of([RUN, WIDE[0]], seconds=9.0))[1] == [RUN, WIDE[0]]


def test_a_kind_with_a_run_of_other_bits_is_refused_alone(checked):
    found = of(SEEDS) | of(WIDE, engine="stacked")
    bits = {**values_of(SEEDS[1]), "steps": 29}
    (_, _, why), (kind, _, sound) = checked(found, others={SEEDS[1]: bits})[0]
    assert why == "Slope, seed 2, gives another result now"
    assert (kind, sound) == (kind_of(WIDE[0], found[WIDE[0]]), "")


def test_a_kind_that_cannot_be_trained_again_here_is_refused(checked):
    ((_, _, why),) = checked(of(SEEDS, machine="another chip"))[0]
    assert why == f"none of its runs was trained on {machine('cpu')}"
    ((_, _, why),) = checked(of(SEEDS), others={RUN: NotTrained("no seven")})[0]
    assert why == "no seven"


def entries(store):
    return [store.at(item.path.name) for item in items(store.root, "runs")]


def make_former(project, *, values=lambda values: values):
    """Give all runs of a project's store the keys of other code; return how many there are."""
    store = Store(project.path / "store")
    results = entries(store)
    for each in results:
        former = {**each.identity, "code": "c0de"}
        store.put(former, values(each.values), each.provenance)
        store.remove(each.key)
    return len(results)


def others(values):
    return {**values, "measures": {"slope": values["measures"]["slope"] + 1e-9}}


@pytest.mark.thorough
def test_a_store_is_taken_over_unless_other_bits_are_trained(trained):
    needed, _ = counts(session(trained))
    store = trained.path / "store"
    shutil.copytree(store, trained.path / "kept")
    runs = make_former(trained, values=others)
    result = command("rekey")
    assert result.ret == 1
    result.stderr.fnmatch_lines(["line loop Line is not taken over: *gives another result now"])
    assert [x.identity["code"] for x in entries(Store(store))] == ["c0de"] * runs
    shutil.rmtree(store)
    (trained.path / "kept").rename(store)
    make_former(trained)
    result = command("rekey")
    assert result.ret == 0, result.stderr.str()
    result.stdout.fnmatch_lines(["line loop Line: 2 trained again: the same bits"])
    taken = [x for x in entries(Store(store)) if x.identity["code"] != "c0de"]
    assert len(taken) == runs
    assert {x.provenance["rekeyed"] for x in taken} == {"at no commit, 2 retrained"}
    assert counts(session(trained)) == (needed, 0)
    command("rekey").stdout.fnmatch_lines(["Nothing to do: *"])


@pytest.mark.thorough
def test_a_file_is_taken_over_unless_other_bits_are_trained(trained):
    path = packed(trained)
    whole = lines_of(path)
    for by in (1e-9, 0.0):
        lines = copy.deepcopy(whole)
        for line in lines:
            if line["kind"] == "run":
                line["identity"]["code"] = "c0de"
                line["key"] = run_key(line["identity"])
                line["values"]["measures"]["slope"] += by
            if line["kind"] == "code":
                line["code"] = "c0de"
        if not by:
            unread = copy.deepcopy(lines[-1])
            unread["identity"]["seed"] = 99
            unread["key"] = run_key(unread["identity"])
            lines[0]["runs"] += 1
            lines.append(unread)
        path.write_bytes(compressed(lines))
        before = path.read_bytes()
        result = command("rekey", FILE)
        if by:
            assert result.ret == 1
            assert path.read_bytes() == before
    assert result.ret == 0, result.stderr.str()
    result.stdout.fnmatch_lines(["wrote *; left out, since no claim reads them: 1"])
    taken = lines_of(path)
    for line in taken:
        assert line.get("provenance", {}).pop("rekeyed", "") in ("", "at no commit, 2 retrained")
    assert sorted(map(repr, taken)) == sorted(map(repr, whole))
