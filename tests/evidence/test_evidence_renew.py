"""Runs of earlier code: taken over where some of each group, trained again, have the same bits."""

import random
import re
from dataclasses import replace

import pytest

from repro.arm import Run
from repro.core.device import machine
from repro.evidence.file import record_of
from repro.evidence.renew import (
    EARLIER,
    TrainedAgain,
    WithFormer,
    choose,
    groups_of,
    renewed,
    with_settings,
)
from repro.runs.identity import identity, settings_of
from repro.runs.results import TrainingFailed
from repro.store import Store, run_key
from repro.store.key import digest_of
from repro.store.run_files import key_of
from tests.evidence.arms import GONE, HOLDS, RUN, SEEDS, Slope, result_of, values_of
from tests.evidence.packs import FILE, command, lines_of, packed
from tests.local_work import PROJECT, put, put_former
from tests.plugin.sessions import change
from tests.plugin.sessions import run as session
from tests.plugin.sessions import trained as counts

HERE = machine("cpu")


def group(*runs, changed=("toy.train",), **how):
    """The only group of these runs, all trained here if nothing else is said."""
    former = {run: (result_of(run, **{"machine": HERE, **how}), changed) for run in runs}
    [found] = groups_of(former)
    return found


def test_runs_of_a_group_differ_in_nothing_but_numbers():
    recipe = Slope().recipe
    alike = [RUN, SEEDS[1], Run(Slope(width=99), 1), Run(Slope(recipe=recipe.but(lr=9.0)), 1)]
    former = {run: (result_of(run), ["toy.train"]) for run in alike}
    others = {
        Run(Slope(recipe=recipe.but(optimiser="sgd")), 1): {},
        Run(Slope(recipe=recipe.but(weight_decay=0.1)), 1): {},  # no longer zero
        Run(Slope(width=9), 7): {"engine": "stacked"},
    }
    former |= {run: (result_of(run, **how), ["toy.train"]) for run, how in others.items()}
    former[Run(Slope(width=9), 8)] = result_of(RUN), ["toy.train", "toy.help"]
    groups = groups_of(former)
    assert [len(each.runs) for each in groups] == [4, 1, 1, 1, 1]
    assert str(groups[-1]).endswith("(changed: toy.train and 1 more)")


def chosen(found, seconds=60.0):
    choose([found], device="cpu", seconds=seconds)
    return found.chosen


def test_the_cheapest_run_is_trained_again_and_one_that_the_results_draw(monkeypatch):
    runs = [Run(Slope(width=width), seed) for width in (7, 8, 9) for seed in range(5)]
    monkeypatch.setattr(Slope, "effort", property(lambda arm: arm.width))
    first, drawn = chosen(group(*runs))
    assert first == runs[0]
    for _ in range(9):
        random.shuffle(runs)
        assert chosen(group(*runs)) == [first, drawn]
    others = group(*runs)
    for n in range(20):
        others.runs[RUN] = replace(others.runs[RUN], values={"measures": {"slope": n}})
        if chosen(others) != [first, drawn]:
            break
    else:
        raise AssertionError("what is drawn does not depend on the results")


def test_runs_are_chosen_by_their_time_their_device_and_their_machine(monkeypatch):
    assert chosen(group(*SEEDS, seconds=61.0)) == [RUN]  # the cheapest may take longer
    dear = group(*SEEDS, seconds=301.0)
    assert (chosen(dear), dear.why) == ([], "its cheapest run takes over 5 minutes")
    mixed = group(*SEEDS)
    mixed.runs[RUN] = result_of(RUN, machine="another chip")
    assert set(chosen(mixed)) == set(SEEDS[1:])
    assert len(chosen(group(*SEEDS, machine="another chip"))) == 2
    elsewhere = group(*SEEDS)
    choose([elsewhere], device="cuda", seconds=60.0)
    assert elsewhere.why == "none of its runs was trained on cuda"
    start, then = Run(Slope(width=99), 1), Run(Slope(width=16), 1)
    starts_from = property(lambda arm: start if arm == then.arm else None)
    monkeypatch.setattr(Slope, "starts_from", starts_from)
    monkeypatch.setattr(Slope, "effort", property(lambda arm: arm.width))
    assert chosen(group(then, RUN))[0] == RUN
    later = Run(then.arm, 2)
    assert len(chosen(group(then, later, seconds=40.0))) == 2  # the start, once: 4 minutes
    assert chosen(group(then, later, seconds=45.0)) == []


class Fake(TrainedAgain):
    """Has these values of runs, instead of training them, or the reasons why it has none."""

    def __init__(self, values):
        super().__init__(device="cpu", trainers=1, project=PROJECT)
        self.values = values

        self.order = []

    def _train(self, engine, runs):
        for run in runs:
            self.order.append((engine, run))
            found = self.values.get(run, values_of(run))
            if isinstance(found, str):
                self.results.failures[run] = TrainingFailed(found)
            else:
                put(self.store, run, self.results.identity(run), found, {"engine": engine})


def other(run, by):
    values = values_of(run)
    history = {**values["history"], "slope": [0.1, 0.25 * run.seed + by]}
    return {**values, "measures": {"slope": 0.25 * run.seed + by}, "history": history}


@pytest.mark.parametrize(
    ("values", "how", "why"),
    [
        ({}, {}, ""),
        ({RUN: other(RUN, 1e-9)}, {}, "Slope, seed 1, gives another result now"),
        ({RUN: other(RUN, 1e-9)}, {"machine": "another chip"}, "rounding"),
        ({RUN: other(RUN, 0.2)}, {"machine": "another chip"}, "gives another result now"),
        ({RUN: "no seven"}, {}, "no seven"),
    ],
)
def test_a_group_is_renewed_if_those_that_are_trained_again_are_the_same(values, how, why):
    first, second = group(*SEEDS, **how), group(Run(Slope(), 9), engine="stacked")
    first.chosen, second.chosen = [RUN, SEEDS[1]], list(second.runs)
    again = Fake(values)
    assert list(again.train([first, second])) == [first, second]
    assert (first.is_rounded, second.why) == (why == "rounding", "")
    assert why in first.why or first.is_rounded
    assert again.trace_of(second) == {"arms": []}


def test_what_others_start_from_is_trained_first_by_the_engine_of_its_arm(monkeypatch):
    start, then = Run(Slope(width=99), 1), Run(Slope(width=16), 1)
    starts_from = property(lambda arm: start if arm == then.arm else None)
    monkeypatch.setattr(Slope, "starts_from", starts_from)
    found = group(then, engine="stacked")
    found.chosen = [then]
    again = Fake({})
    assert list(again.train([found])) == [found]
    assert again.order == [("auto", start), ("stacked", then)]


def test_a_run_of_earlier_code_gets_all_settings_which_were_at_todays_defaults():
    former = {"arm": RUN.arm.given(), "seed": 1, "device": "cpu", "torch": "2.13.0", "code": "c0de"}
    old = record_of(RUN, result_of(RUN, identity=former))
    del old.line["made"]
    found = with_settings(RUN, old)
    assert (found.made.settings, found.made.trace) == (settings_of(RUN.arm), "c0de")
    assert found.is_earlier
    assert found.key == key_of(former, found.made)
    assert with_settings(RUN, found) is found


def test_a_renewed_run_is_one_of_todays_code_and_says_so():
    found = group(*SEEDS, rekeyed="at abc", finished="2026-01-01")
    found.chosen = SEEDS[:2]
    old = found.runs[RUN]
    new = renewed(RUN, old, found, GONE, commit="b37f")
    assert (new.values, new.made.trace) == (old.values, digest_of(GONE))
    assert new.identity == identity(RUN, device="cpu") | {"torch": old.identity["torch"]}
    assert new.key.partition("/")[0] == run_key(new.identity)
    note = "at b37f, 2 of 3 trained again: the same bits"
    same = {name: x for name, x in old.provenance.items() if name != "rekeyed"}
    assert new.provenance == {**same, "renewed": note}


def test_results_of_a_store_that_hold_no_longer_are_found_and_those_of_earlier_versions(tmp_path):
    store, torch = Store(tmp_path), identity(RUN, device="cpu")["torch"]
    runs = [Run(Slope(), seed) for seed in range(5)]
    makings = {"trace": HOLDS}, {"trace": GONE}, {"settings": {"width": 9}}
    for run, more in zip(runs[:3], makings, strict=True):
        result = result_of(run, identity=identity(run, device="cpu"), **more)
        store.put_trace(more.get("trace", HOLDS))
        store.put(result.identity, result.values, result.provenance, made=result.made)
    former = {"arm": {"arm": "Slope"}, "seed": 3, "device": "cpu", "torch": torch, "code": "c0de"}
    put_former(store, former, values_of(runs[3]), {"engine": "loop"})
    of_another_torch = {**former, "seed": 4, "torch": "0.1"}
    put_former(store, of_another_torch, values_of(runs[4]), {"engine": "loop"})
    results = WithFormer(store, device="cpu", project=PROJECT)
    assert [run for run in runs if results.get(run) is not None] == [runs[0], runs[1], runs[3]]
    assert {run: changed for run, (_, changed) in results.found.items()} == {
        runs[1]: ["no_such, which is not here, has changed"],
        runs[3]: [EARLIER],
    }


SAME = ("arm.target * random.gauss(0.4, 0.3)", "random.gauss(0.4, 0.3) * arm.target")
OTHER = ("random.gauss(0.4, 0.3)", "random.gauss(0.4, 0.3 + 1e-12)")


@pytest.mark.thorough
def test_a_store_is_renewed_unless_other_bits_are_trained(trained):
    needed, _ = counts(session(trained))
    change(trained, *OTHER)
    result = command("evidence", "renew")
    assert result.ret == 1
    result.stderr.fnmatch_lines(["*(changed: line.train*) stay runs of earlier code: *another*"])
    change(trained, *OTHER[::-1])
    command("evidence", "renew").stdout.fnmatch_lines(["Nothing to do: *"])
    change(trained, *SAME)
    result = command("evidence", "renew")
    assert result.ret == 0, result.stderr.str()
    result.stdout.fnmatch_lines(["*(changed: line.train*): 2 trained again: the same bits"])
    assert counts(session(trained)) == (needed, 0)
    command("evidence", "renew").stdout.fnmatch_lines(["Nothing to do: *"])


@pytest.mark.thorough
def test_a_file_is_renewed_unless_other_bits_are_trained(trained):
    path = packed(trained)
    whole = path.read_bytes()
    runs = len(lines_of(path)) - 2
    change(trained, *OTHER)
    assert command("evidence", "renew", FILE).ret == 1
    assert [x for x in lines_of(path) if "renewed" in x.get("provenance", {})] == []
    change(trained, *OTHER[::-1])
    path.write_bytes(whole)
    change(trained, *SAME)
    result = command("evidence", "renew", FILE)
    assert result.ret == 0, result.stderr.str()
    result.stdout.fnmatch_lines([f"wrote {FILE}: {runs} runs, {runs} of them renewed"])
    notes = {x["provenance"]["renewed"] for x in lines_of(path) if x["kind"] == "run"}
    assert notes == {f"at no commit, 2 of {runs} trained again: the same bits"}
    shown = session(trained, "--evidence", FILE).stdout.str()
    assert re.search(r"0 of (\d+) runs were made by today's code; \1 were renewed", shown)
