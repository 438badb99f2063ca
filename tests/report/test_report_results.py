"""The results as data: they keep to the published schema, and pandas reads the tables."""

import copy
import json

import jsonschema
import numpy as np
import pandas
import pytest

from repro.report.results import gather, schema_text
from repro.report.write import write_data

SCHEMA = json.loads(schema_text())


def problems(results):
    return [e.message for e in jsonschema.Draft202012Validator(SCHEMA).iter_errors(results)]


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_results_keep_to_the_schema_that_is_written_beside_them(session, tmp_path):
    write_data(tmp_path, *session)
    assert json.loads((tmp_path / "results.schema.json").read_text()) == SCHEMA
    assert problems(json.loads((tmp_path / "results.json").read_text())) == []


@pytest.mark.parametrize(
    "spoil",
    [
        lambda claim: claim.pop("verdict"),
        lambda claim: claim.update(verdict="perhaps"),
        lambda claim: claim.update(unheard_of=1),
        lambda claim: claim["findings"][0]["effects"][0].update(estimate="large"),
    ],
    ids=["no verdict", "another verdict", "another field", "no number"],
)
def test_the_schema_refuses_what_is_none(session, spoil):
    results = json.loads(json.dumps(gather(*session)))
    spoil(next(c for c in results["claims"] if c["findings"] and c["arms"]))
    assert problems(results)


def test_an_arm_that_claims_share_is_written_once_with_all_its_seeds(session):
    records, figures = session
    fewer = copy.deepcopy(records[0])
    for arm in fewer["arms"]:
        arm["seeds"], arm["keys"] = arm["seeds"][:5], arm["keys"][:5]
    results = gather([fewer, *records], figures)
    assert len(results["arms"]) == 4
    assert all(len(arm["seeds"]) == 12 for arm in results["arms"].values())
    assert all(name in results["arms"] for claim in results["claims"] for name in claim["arms"])


def test_pandas_reads_the_tables(session, tmp_path):
    results, _ = write_data(tmp_path, *session)
    claims = pandas.read_csv(tmp_path / "claims.csv").set_index("claim")
    assert len(claims) == len(results["claims"])
    value = claims.loc["004/value"]
    assert value.documented_value == 0.45
    assert value.low < value.estimate < value.high
    assert claims.loc["000/agrees"].isna().p
    seeds = pandas.read_csv(tmp_path / "seeds.csv")
    of_ratio = seeds[seeds.claim == "000/ratio"].groupby("comparison").per_seed
    assert np.isclose(of_ratio.mean(), claims.loc["000/ratio"].estimate, rtol=0.01).all()


def test_each_seed_alone_is_what_its_samples_say(session):
    records, _ = session
    (finding,) = next(r for r in records if r["claim"] == "004/gains")["findings"]
    (effect,) = finding["effects"]
    left, right = (np.array(finding["samples"][side]["values"]) for side in effect["sides"])
    assert effect["label"] == "BP k=3 - BP k=2"
    assert np.allclose(left - right, effect["per_seed"])


def test_a_run_without_a_value_is_null(session, tmp_path):
    records, figures = session
    sample = records[0]["findings"][0]["samples"][0]
    sample["values"][0] = None
    results, _ = write_data(tmp_path, records, figures)
    assert problems(json.loads(json.dumps(results))) == []
