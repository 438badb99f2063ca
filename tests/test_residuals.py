"""`benchmarks/residuals.py` says what is wrong with the metrics of a store, and only then."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from repro.arm import Metric
from repro.store import Store

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import residuals
from residuals import Row, row, together
from stored_metrics import Group, differ_in_one, groups

from tests.studies.small import LADDER


@pytest.fixture(autouse=True)
def _fewer_draws(monkeypatch):
    monkeypatch.setattr(residuals, "DRAWS", 40_000)
    monkeypatch.setattr(residuals, "SPLITS", 20)


def identity(number, **more):
    return json.dumps([json.dumps({"arm": {"arm": "A", "x": number}, "data": "d", **more}), 0])


def made(draw, *, scale="identity", arms=12, seeds=12):
    """A group of arms whose means lie far apart, with these values around them."""
    generator = np.random.default_rng(3)
    group = Group("study", "metric", Metric(scale))
    for number in range(arms):
        values = draw(generator, number, seeds)
        group.arms[identity(number)] = dict(enumerate(map(float, values)))
    return group


def normal(generator, number, seeds):
    return 100 + number + generator.normal(0, 1, seeds)


def multiplying(generator, number, seeds):
    return np.exp(number / 4 + generator.normal(0, 1, seeds))


def share(generator, number, seeds):
    odds = np.exp(number / 4 + generator.normal(0, 1.5, seeds))
    return odds / (1 + odds)


def judged(group):
    return row(group, np.random.default_rng(5))


def test_normal_values_are_as_they_should_be():
    found = judged(made(normal))
    assert found.warning == ""
    assert found.pairs == 12 * 11 // 2
    for rate in found.rates:
        assert rate == pytest.approx(0.006, abs=0.002)
    assert "over 66 pairs: flipped 0." in together([found])


@pytest.mark.parametrize(("draw", "better"), [(multiplying, "log"), (share, "log-odds")])
def test_a_metric_on_the_wrong_scale_is_warned_of(draw, better):
    assert f"agree that {better!r} is more nearly normal" in judged(made(draw)).warning
    assert judged(made(draw, scale=better)).warning == ""


def test_heavy_tails_are_told_from_normal_ones_by_the_same_numbers():
    def rare(generator, number, seeds):
        return generator.standard_t(1.5, seeds)

    flipped, normal_flipped, *_ = judged(made(rare)).rates
    assert flipped < normal_flipped


def test_arms_that_were_judged_against_themselves_are_settled_by_chance_alone():
    wrong, calls = judged(made(normal, arms=40)).against_itself
    assert calls == 40 * 20
    assert wrong < 0.03 * calls


def test_an_arm_without_a_place_on_the_scale_is_left_out_and_said():
    group = made(share, scale="log-odds", arms=11)
    group.arms[identity(99)] = dict(enumerate([0.0, 0.1, 0.2, 0.3, 0.1, 0.2]))
    found = judged(group)
    assert found.pairs == 11 * 10 // 2
    assert found.left_out == (
        "study: 1 arm has values of metric that have no place on the scale 'log-odds': left out"
    )
    assert judged(made(share, scale="log-odds")).left_out == ""


def test_a_few_pairs_have_no_rates():
    found = judged(made(normal, arms=3))
    assert found.rates == [None] * 5
    assert "  - " in str(found)
    assert "no metric has 10 pairs" in together([found])


def test_pairs_differ_in_one_setting_and_in_nothing_else():
    assert differ_in_one(identity(1), identity(2))
    assert differ_in_one(identity(1, code="a"), identity(2, code="b"))
    assert not differ_in_one(identity(1), identity(1))
    assert not differ_in_one(identity(1), identity(2, engine="loop"))


def test_a_store_is_read_and_stays_as_it_is(tmp_path):
    store = Store(tmp_path)
    for seed in range(6):
        settings = {"arm": LADDER.settings(), "seed": seed, "code": "c", "data": "d"}
        measures = {"accuracy": 0.5 + seed / 100, "alignment": [0.1 * seed, 0.2], "other": 1.0}
        store.put(settings, {"measures": measures, "history": {}, "steps": 1}, {})
    store.put({**settings, "seed": 7}, {"diverged_at": 3}, {})
    without_blocks = {"accuracy": 0.4, "alignment": []}  # a list of one value a block
    frozen = {**settings, "arm": LADDER.but(depth=0, trained=0).settings()}
    store.put(frozen, {"measures": without_blocks, "history": {}, "steps": 1}, {})
    [damaged] = (
        f.parent for f in tmp_path.glob("runs/*/*/identity.json") if '"seed": 0' in f.read_text()
    )
    (damaged / "result.json").write_text("{}")
    before = sorted(tmp_path.rglob("*"))
    found = {group.metric: group for group in groups(tmp_path, {"LadderArm": type(LADDER)})}
    assert sorted(tmp_path.rglob("*")) == before
    assert list(found) == ["accuracy", "alignment"]
    values, other = found["accuracy"].arms.values()
    counts = sorted((len(values), len(other)))
    assert counts == [1, 5], "one was damaged, one diverged, one is of another arm"
    assert isinstance(judged(found["accuracy"]), Row)
