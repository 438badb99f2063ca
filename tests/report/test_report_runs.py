"""Stored runs as a report reads them: their curves, whatever recipe their arm has."""

from dataclasses import replace

from repro.report.runs import read_runs
from repro.store import Store, run_key
from tests.report.records import RECIPE, arm, identity, store_runs


def curves_of(tmp_path, **settings):
    store = Store(tmp_path)
    store_runs(store, 1, range(1, 3))
    given = arm(1)
    kept = {name: value for name, value in given.settings.items() if name != "recipe"}
    changed = replace(given, settings=kept | settings, keys=[run_key(identity(1, 1))])
    return read_runs(store, {"it": changed})["it"].curves


def test_epochs_are_those_that_were_measured(tmp_path):
    curves = curves_of(tmp_path, recipe=RECIPE | {"measure_every": 2})
    assert curves["accuracy"].epochs == [2, 4, 5]
    assert curves["loss"].epochs == [1, 2, 3, 4, 5]


def test_a_recipe_with_a_setting_of_its_own_has_curves_too(tmp_path):
    assert curves_of(tmp_path, recipe=RECIPE | {"warmup_from": 0.25})["loss"].runs


def test_an_arm_without_a_recipe_has_its_epochs_counted(tmp_path):
    assert curves_of(tmp_path)["accuracy"].epochs == [1, 2, 3, 4, 5]
