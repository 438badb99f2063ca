"""The results as data: they keep to the published schema, and pandas reads the tables."""

import doctest
import importlib
import json
import pkgutil
import runpy
from dataclasses import replace
from pathlib import Path

import jsonschema
import numpy as np
import pandas

import repro.report
from repro.report.diff import Said
from repro.report.record import JudgedClaim, from_json, to_json
from repro.report.results import ResultsDocument, results_of
from repro.report.runs import read_runs
from repro.report.write import schema_text, write_data
from repro.runs.progress import Status
from repro.store import Store, run_key
from tests.report.records import RECIPE, arm, identity, store_runs

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads(schema_text())


def problems(data):
    return [e.message for e in jsonschema.Draft202012Validator(SCHEMA).iter_errors(data)]


def named(results, claim):
    """The record of a claim."""
    return next(record for record in results.claims if record.claim == claim)


def test_the_schema_is_that_of_the_types():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    script = runpy.run_path(str(ROOT / "scripts" / "results_schema"))
    assert schema_text() == script["schema_text"](), "run: python scripts/results_schema"


def test_results_that_were_written_keep_to_the_schema_and_can_be_read(results, tmp_path):
    named(results, "004/climbs").findings[0].samples[0].values[0] = None  # a run without a value
    write_data(tmp_path, results)
    assert json.loads((tmp_path / "results.schema.json").read_text()) == SCHEMA
    data = json.loads((tmp_path / "results.json").read_text())
    assert problems(data) == []
    [climbs] = [each for each in data["claims"] if each["claim"] == "004/climbs"]
    assert climbs["findings"][0]["samples"][0]["values"][0] is None
    assert from_json(ResultsDocument, data) == results


def test_what_a_process_sends_to_another_arrives(claims):
    texts = [json.dumps(to_json(claim), allow_nan=False) for claim in claims]
    arrived = [from_json(JudgedClaim, json.loads(text)) for text in texts]
    assert repr(arrived) == repr(claims)  # the types too: an outcome equals its text


def test_what_nobody_knows_is_left_out(results):
    data = {claim["claim"]: claim for claim in to_json(results)["claims"]}
    assert data["004/climbs"]["level"] > 0
    assert "opposed" not in data["004/paper"]
    assert data["004/paper"]["p"] is None


def test_an_arm_that_claims_share_is_written_once_with_all_its_seeds(claims):
    [first, *_] = claims
    arms = {
        name: replace(arm, seeds=arm.seeds[:5], keys=arm.keys[:5])
        for name, arm in first.arms.items()
    }
    results = results_of([replace(first, arms=arms), *claims], [])
    assert len(results.arms) == 4
    assert all(len(arm.seeds) == 12 for arm in results.arms.values())
    assert all(name in results.arms for record in results.claims for name in record.arms)


def test_pandas_reads_the_tables(results, tmp_path):
    write_data(tmp_path, results)
    claims = pandas.read_csv(tmp_path / "claims.csv").set_index("claim")
    assert len(claims) == len(results.claims)
    value = claims.loc["004/value"]
    assert (value.verdict, value.documented_value) == ("reproduced", 0.45)
    assert value.low < value.estimate < value.high
    assert value.low < value.plain < value.high
    assert claims.loc["000/agrees"].isna().p
    seeds = pandas.read_csv(tmp_path / "seeds.csv")
    of_ratio = seeds[seeds.claim == "000/ratio"].groupby("comparison").per_seed
    assert np.isclose(of_ratio.mean(), claims.loc["000/ratio"].estimate, rtol=0.01).all()


def test_each_seed_alone_is_what_its_samples_say(results, tmp_path):
    (finding,) = named(results, "004/gains").findings
    (effect,) = finding.effects
    left, right = (np.array(finding.samples[side].values) for side in effect.sides)
    assert effect.label == "BP k=3 - BP k=2"
    assert np.allclose(left - right, effect.per_seed)
    write_data(tmp_path, results)
    seeds = pandas.read_csv(tmp_path / "seeds.csv")
    written = seeds[seeds.claim == "004/gains"]
    assert np.allclose(written["first"], left)
    assert np.allclose(written["second"], right)


def curves_of(tmp_path, **settings):
    store = Store(tmp_path)
    store_runs(store, 1, range(1, 3))
    given = arm(1)
    kept = {name: value for name, value in given.settings.items() if name != "recipe"}
    changed = replace(given, settings=kept | settings, seeds=[1], keys=[run_key(identity(1, 1))])
    return read_runs({"it": changed}, store)["it"].curves


def test_epochs_are_those_that_were_measured(tmp_path):
    curves = curves_of(tmp_path, recipe=RECIPE | {"measure_every": 2})
    assert curves["accuracy"].epochs == [2, 4, 5]
    assert curves["loss"].epochs == [1, 2, 3, 4, 5]
    assert curves_of(tmp_path)["accuracy"].epochs == [1, 2, 3, 4, 5]  # without a recipe


def test_the_documented_examples_run(shared_results, monkeypatch):
    monkeypatch.chdir(ROOT)
    status = Status(claims=66, open=54, requested=290, missing=95, seconds_left=600.0)
    names = {"results": shared_results, "status": status, "said": Said("reproduced", "")}
    modules = pkgutil.walk_packages(repro.report.__path__, "repro.report.")
    loaded = [importlib.import_module(module.name) for module in modules]
    assert [x.__name__ for x in loaded if doctest.testmod(x, extraglobs=names).failed] == []
