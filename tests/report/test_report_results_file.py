"""The results as data: they keep to the schema, pandas reads the tables, links tell no secret."""

import csv
import doctest
import importlib
import io
import json
import pkgutil
import runpy
from dataclasses import replace
from pathlib import Path

import jsonschema
import numpy as np
import pandas
import pytest

import repro.report
from repro.report.records import JudgedClaim, SampleData, from_json, to_json
from repro.report.results_file import (
    ResultsDocument,
    file_link,
    project_name,
    results_of,
    way_from,
    web_address,
)
from repro.report.stored_runs import UsedRuns, columns_of, read_runs, rows_of
from repro.report.write import schema_text, write_data, write_results, write_table
from repro.runs.time_left import Status
from repro.store import Store
from repro.store.run_files import UNKNOWN, key_of
from tests.report.records import RECIPE, SEEDS, arm, identity, record, store_runs

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads(schema_text())


def named(results, claim):
    """The record of a claim."""
    return next(record for record in results.claims if record.claim == claim)


def test_the_schema_is_that_of_the_types():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    script = runpy.run_path(str(ROOT / "scripts" / "results_schema"))
    assert schema_text() == script["schema_text"](), "run: python scripts/results_schema"


def test_results_that_were_written_keep_to_the_schema_and_can_be_read(results, tmp_path):
    named(results, "004/climbs").findings[0].samples[0].values[0] = None  # a run without a value
    results.claims.append(record("004/lost", "error", text="ValueError: no seven"))
    page = tmp_path / "index.html"
    page.write_text("of a former report")
    write_data(tmp_path, results)
    assert not page.exists()
    assert json.loads((tmp_path / "results.schema.json").read_text()) == SCHEMA
    data = json.loads((tmp_path / "results.json").read_text())
    jsonschema.validate(data, SCHEMA)
    assert from_json(ResultsDocument, data) == results
    climbs, paper = (
        next(each for each in data["claims"] if each["claim"] == name)
        for name in ("004/climbs", "004/paper")
    )
    assert climbs["findings"][0]["samples"][0]["values"][0] is None
    assert climbs["level"] > 0
    assert paper["p"] is None
    assert (data["claims"][-1]["verdict"], data["claims"][-1]["text"]) == (
        "error",
        "ValueError: no seven",
    )
    assert "opposed" not in paper  # its default


def test_what_a_process_sends_to_another_arrives(claims):
    texts = [json.dumps(to_json(claim), allow_nan=False) for claim in claims]
    arrived = [from_json(JudgedClaim, json.loads(text)) for text in texts]
    assert repr(arrived) == repr(claims)  # the types too: an outcome equals its text


def test_an_arm_that_claims_share_is_written_once_with_all_its_seeds(claims):
    [first, *_] = claims
    parts = [
        JudgedClaim(
            record=replace(first.record, arms={name: list(seeds) for name in first.arms}),
            arms={
                name: replace(arm, seeds=list(seeds), keys=[f"key {seed}" for seed in seeds])
                for name, arm in first.arms.items()
            },
        )
        for seeds in ((8, 9, 10), (1, 2), (2, 3))  # the first ones as with after=7
    ]
    results = results_of(parts, [])
    assert len(results.arms) == 4
    for joined in results.arms.values():
        assert joined.seeds == [1, 2, 3, 8, 9, 10]
        assert joined.keys == [f"key {seed}" for seed in joined.seeds]
    used = [list(record.arms.values()) for record in results.claims]
    assert used == [[[8, 9, 10]] * 4, [[1, 2]] * 4, [[2, 3]] * 4]


def test_pandas_reads_the_tables(results, tmp_path):
    write_data(tmp_path, results)
    claims = pandas.read_csv(tmp_path / "claims.csv").set_index("claim")
    assert len(claims) == len(results.claims)
    value = claims.loc["004/value"]
    assert (value.verdict, value.documented_value) == ("reproduced", 0.45)
    assert value.low < value.estimate < value.high
    assert value.low < value.plain < value.high
    assert claims.loc["000/agrees"].isna().p
    (finding,) = named(results, "004/gains").findings
    (effect,) = finding.effects
    left, right = (np.array(finding.samples[side].values) for side in effect.sides)
    assert effect.label == "BP k=3 - BP k=2"
    seeds = pandas.read_csv(tmp_path / "seeds.csv")
    written = seeds[seeds.claim == "004/gains"]
    assert written.seed.tolist() == SEEDS[: len(left)]
    assert np.allclose(written.per_seed, left - right)
    assert np.allclose(written["first"], left)
    assert np.allclose(written["second"], right)


def sample(values, seeds=(), left_out=(), *, fixed=False):
    return SampleData(
        label="a", fixed=fixed, values=values, seeds=list(seeds), left_out=list(left_out)
    )


FIXED = sample([9.0] * 3, fixed=True)
ROWS = [
    # paired with a number: the run of seed 7 repeats another
    ([sample([1.0, 2.0, 1.0], [0, 3, 7], [7]), FIXED], [-8.0, -7.0],
     [(0, -8.0, 1.0, 9.0), (3, -7.0, 2.0, 9.0), (7, "", 1.0, 9.0)]),
    # not paired: each side has its own seeds
    ([sample([1.0, 2.0], [1, 2]), sample([3.0, 4.0], [2, 5])], [],
     [(1, "", 1.0, ""), (2, "", 2.0, 3.0), (5, "", "", 4.0)]),
    # no sample: all runs repeat one, and none is left out of the effect
    ([sample([1.0, 1.0], [1, 2], [2]), FIXED], [-8.0, -8.0],
     [(1, -8.0, 1.0, 9.0), (2, -8.0, 1.0, 9.0)]),
    # no seed changes it
    ([sample([1.0, 1.0]), FIXED], [-8.0, -8.0], [("", -8.0, 1.0, 9.0)]),
    ([sample([None, 2.0], [4, 6])], [None, 2.0], [(4, "", "", ""), (6, 2.0, 2.0, "")]),
]  # fmt: skip


@pytest.mark.parametrize(("samples", "per_seed", "rows"), ROWS)
def test_the_table_of_seeds_has_the_seed_of_each_value(results, tmp_path, samples, per_seed, rows):
    one = named(results, "004/gains")
    finding = one.findings[0]
    effect = replace(finding.effects[0], sides=[*range(len(samples))], per_seed=per_seed)
    one = replace(one, findings=[replace(finding, samples=samples, effects=[effect])])
    write_results(tmp_path, replace(results, claims=[one]))
    with (tmp_path / "seeds.csv").open(newline="") as file:
        written = [*csv.DictReader(file)]
    found = [
        tuple(row[name] for name in ("seed", "per_seed", "first", "second")) for row in written
    ]
    assert found == [tuple(map(str, row)) for row in rows]


def curves_of(tmp_path, **settings):
    store = Store(tmp_path)
    store_runs(store, 1, range(1, 3))
    given = arm(1)
    kept = {name: value for name, value in given.settings.items() if name != "recipe"}
    changed = replace(
        given, settings=kept | settings, seeds=[1], keys=[key_of(identity(1, 1), UNKNOWN)]
    )
    return read_runs({"it": changed}, store)["it"].curves


def test_epochs_are_those_that_were_measured(tmp_path):
    curves = curves_of(tmp_path, recipe=RECIPE | {"measure_every": 2})
    assert curves["accuracy"].epochs == [2, 4, 5]
    assert curves["loss"].epochs == [1, 2, 3, 4, 5]
    assert curves_of(tmp_path)["accuracy"].epochs == [1, 2, 3, 4, 5]  # without a recipe


def test_the_table_has_a_row_for_each_number_of_each_run(store):
    claims = [
        UsedRuns("004/climbs", [arm(0), arm(1)], ["accuracy", "loss"]),
        UsedRuns("004/value", [arm(1)], ["accuracy"]),
    ]
    file = io.StringIO()
    write_table(file, columns_of(claims), rows_of(claims, store))
    rows = pandas.read_csv(io.StringIO(file.getvalue()))
    assert [*rows.columns][:4] == ["claim", "study", "arm", "arm.trained"]  # all else is alike
    climbs = rows[(rows.claim == "004/climbs") & (rows["arm.trained"] == 1)]
    assert sorted(set(climbs.seed)) == list(range(1, 13))
    first = climbs[(climbs.seed == 1) & (climbs.metric == "accuracy")]
    assert first.epoch.fillna(0).tolist() == [1, 2, 3, 4, 5, 0]  # and what it ended with
    assert first.value.round(3).tolist() == [0.302, 0.352, 0.402, 0.452, 0.502, 0.5]
    assert set(rows[rows.claim == "004/value"].metric) == {"accuracy"}
    assert [*rows_of(claims)] == []  # runs that nobody has


def test_a_list_has_a_row_for_each_part(store):
    class Listed:
        def measured(self, key):
            result = store.measured(key)
            result.values["measures"] = {"accuracy": [0.5, None, 0.7]}
            result.values["history"] = {}
            return result

    rows = [*rows_of([UsedRuns("004/climbs", [arm(0)], ["accuracy"])], Listed())]
    assert {row["metric"] for row in rows} == {"accuracy[0]", "accuracy[2]"}
    assert len(rows) == 24


BLOB = "https://github.com/some/study/blob/1f2e/"
ADDRESSES = {
    "git@github.com:some/study.git": BLOB,
    "https://github.com/some/study": BLOB,
    "https://github.com/some/study/": BLOB,
    "https://someone:secret@github.com/some/study.git": BLOB,
    "ssh://git@github.com:22/some/study.git": BLOB,
    "https://gitlab.uni.edu/a/b/c.git": "https://gitlab.uni.edu/a/b/c/-/blob/1f2e/",
    "/srv/git/study.git": "",
    "https://example.org/study.git": "",
    "javascript:alert(1)//github.com/x": "",
    "": "",
}


def test_links_tell_no_secret_and_no_path_of_a_machine(tmp_path):
    assert {remote: web_address(remote, "1f2e") for remote in ADDRESSES} == ADDRESSES
    assert web_address("git@github.com:some/study.git", "") == ""
    project = tmp_path / "project"
    assert way_from(project / "build" / "report", project) == "../../"
    assert way_from(tmp_path / "report", project) == ""
    assert way_from(project, project) == ""
    assert file_link(BLOB, "claims/a b.py", 6) == BLOB + "claims/a%20b.py#L7"
    assert file_link("", "claims/it.py", 6) == ""
    assert file_link(BLOB, "../elsewhere.py", 6) == ""
    assert file_link("../", 'javascript:"x', 0) == "../javascript%3A%22x#L1"


def test_a_project_is_called_as_it_calls_itself(tmp_path):
    assert project_name(tmp_path) == tmp_path.name
    for text, name in (('[project]\nname = "study"\n', "study"), ("[project\n", tmp_path.name)):
        (tmp_path / "pyproject.toml").write_text(text)
        assert project_name(tmp_path) == name, text


def test_the_documented_examples_run(shared_results, monkeypatch):
    monkeypatch.chdir(ROOT)
    status = Status(claims=66, open=54, requested=290, missing=95, seconds_left=600.0)
    names = {"results": shared_results, "status": status}
    modules = pkgutil.walk_packages(repro.report.__path__, "repro.report.")
    loaded = [importlib.import_module(module.name) for module in modules]
    assert [x.__name__ for x in loaded if doctest.testmod(x, extraglobs=names).failed] == []
