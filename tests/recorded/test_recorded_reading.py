"""Files of recorded results, read as they are written, and refused with a sentence."""

import json

import pytest
from recorded_results import table

from repro.arm import Metric, Run
from repro.recorded import RecordedError, recorded
from repro.recorded.pattern import Pattern
from repro.recorded.results import WithRecorded
from repro.recorded.runs import listed
from repro.store import run_key
from tests.oracles import oracle

ACCURACY = {"accuracy": Metric("log-odds", examples=1000)}


@pytest.fixture
def source(tmp_path):
    """Write a file, and return what is recorded in it."""

    def make(name, content, **said):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content)
        said = {"arm": "method", "seed": "seed", "metrics": ACCURACY} | said
        return recorded(said.pop("path", str(path)), **said)

    return make


def values(results, metric="accuracy", **chosen):
    arm = results(**chosen).located()
    runs = results.runs(arm.chosen).runs
    return {seed: run.measures.get(metric) for seed, run in runs.items()}


LONG = "method,seed,accuracy\nplain,2,0.5\nplain,1,0.4\nsmooth,1,0.6\n"


WIDE = "method,seed_1,seed_2\nplain,0.4,0.5\nsmooth,0.6,\n"
BY_ARM = "seed,plain - acc,plain - acc__MIN,smooth - acc\n1,0.4,0,0.6\n2,0.5,0,0.7\n"
UNCOUNTED = "method,accuracy\nplain,0.5\nplain,0.5\nsmooth,0.6\n"
NUMBERS = "method,seed,accuracy\n1e-1,1,0.5\n0.1,2,0.6\n0.10,3,0.7\n"
TABLES = [
    ("a.csv", LONG, {}, "plain", {1: 0.4, 2: 0.5}),
    ("a.tsv", LONG.replace(",", "\t"), {}, "plain", {1: 0.4, 2: 0.5}),
    ("a.csv", b"\xef\xbb\xbf" + LONG.replace("\n", "\r\n").encode(), {}, "smooth", {1: 0.6}),
    ("a.csv", WIDE, {"columns": "seed_{seed}"}, "plain", {1: 0.4, 2: 0.5}),
    ("a.csv", WIDE, {"columns": "seed_{seed}"}, "smooth", {1: 0.6, 2: None}),
    ("a.csv", BY_ARM, {"columns": "{method} - {metric}", "tags": {"accuracy": "acc"}},
     "smooth", {1: 0.6, 2: 0.7}),
    ("a.csv", UNCOUNTED, {"seed": None}, "plain", {1: 0.5, 2: 0.5}),
    ("a.csv", NUMBERS, {}, 0.1, {1: 0.5, 2: 0.6, 3: 0.7}),  # equal, however they are written
    ("a.csv", NUMBERS, {}, "0.1", {1: 0.5, 2: 0.6, 3: 0.7}),
    ("a.csv", LONG + "plain,2,0.5\n", {}, "smooth", {1: 0.6}),  # a wrong row costs its arm alone
]  # fmt: skip


def test_tables_of_any_form_are_read_in_the_order_of_seeds(source):
    for name, content, said, method, expected in TABLES:
        found = values(source(name, content, **said), method=method)
        assert list(found.items()) == list(expected.items()), (content, said)


def test_json_lines_are_read_with_their_types_and_lists(source):
    lines = [
        {"method": "plain", "deep": True, "lr": 1e-1, "seed": 1, "accuracy": [0.1, 0.2]},
        {"method": "plain", "deep": False, "lr": 0.1, "seed": 1, "accuracy": [0.3, None]},
    ]
    text = "\n".join(map(json.dumps, lines)) + "\n"
    listed_metric = {"accuracy": Metric("log-odds", listed=True)}
    results = source("a.jsonl", text, arm=["method", "deep", "lr"], metrics=listed_metric)
    assert values(results, deep=True, lr=0.1) == {1: [0.1, 0.2]}
    assert values(results, deep=False) == {1: [0.3, None]}
    again = source("b.json", json.dumps(lines), arm="deep", metrics=listed_metric)
    assert values(again, deep=True) == {1: [0.1, 0.2]}


def test_parquet_is_read(source, tmp_path):
    oracle("pyarrow")
    import pyarrow
    import pyarrow.parquet

    rows = {"method": ["plain", "plain"], "seed": [1, 2], "accuracy": [0.5, float("nan")]}
    pyarrow.parquet.write_table(pyarrow.table(rows), tmp_path / "x.parquet")
    results = source("other", "", path=str(tmp_path / "x.parquet"))
    assert values(results, method="plain") == {1: 0.5, 2: None}


def test_one_file_a_run_with_settings_in_their_names(source, tmp_path):
    for method in ("plain", "smooth"):
        for seed in (1, 2):
            source(f"runs/{method}/seed_{seed}.json", json.dumps({"accuracy": seed / 10}))
    results = source("other", "", path=str(tmp_path / "runs/{method}/seed_{seed}.json"))
    assert values(results, method="smooth") == {1: 0.1, 2: 0.2}
    assert "4 files" in results.content


def test_curves_end_with_their_last_value_and_skip_what_was_not_measured(source):
    rows = ["method,seed,epoch,accuracy,loss"]
    for seed in (1, 2):
        for epoch in (3, 1, 2):  # as a logger of several processes may write them
            rows.append(f"plain,{seed},{epoch},{'' if epoch == 2 else epoch / 10},{1 / epoch}")
    metrics = ACCURACY | {"loss": Metric("identity")}
    results = source("a.csv", "\n".join(rows), epoch="epoch", metrics=metrics)
    assert values(results, method="plain") == {1: 0.3, 2: 0.3}
    arm = results(method="plain").located()
    assert (arm.epochs_of("accuracy"), arm.epochs_of("loss")) == ([1, 3], [1, 2, 3])


def test_a_gap_in_a_curve_is_named(source):
    rows = ["method,seed,epoch,accuracy"]
    rows += [f"plain,1,{epoch},0.5" for epoch in (1, 2, 3)]
    rows += [f"plain,2,{epoch},0.5" for epoch in (1, 3)]
    arm = source("a.csv", "\n".join(rows), epoch="epoch")(method="plain").located()
    with pytest.raises(RecordedError, match=r"Seed 2 .* has no accuracy at 2"):
        arm.epochs_of("accuracy")


def test_what_is_no_number_counts_as_is_said(source):
    text = "method,seed,accuracy\nplain,1,nan\n"
    plain = source("a.csv", text, diverged={"accuracy": 0.1})(method="plain").located()
    assert WithRecorded(None).get(Run(plain, 1)).values["measures"] == {"accuracy": 0.1}


def test_a_reader_of_ones_own_is_a_function_of_the_path(source, tmp_path):
    def read(path):
        for line in path.read_text().splitlines():
            method, seed, accuracy = line.split(":")
            yield {"method": method, "seed": seed, "accuracy": accuracy}

    assert values(source("a.log", "plain:1:0.5\nplain:2:0.6", read=read), method="plain") == {
        1: 0.5,
        2: 0.6,
    }


WRONG = [
    (LONG, {"arm": "methode"}, "has no column 'methode'; it has method, seed, accuracy"),
    (LONG, {"seed": "number"}, "has no column 'number'"),
    (LONG, {"tags": {"accuracy": "acc"}}, "has no column 'acc'"),
    (LONG + "plain,2,0.5\n", {}, "Seed 2 is there twice, in line 2 of .*remove one"),
    (LONG.replace("plain,2", "plain,x"), {}, "seed is 'x' in line 2 of .*no whole number"),
    (LONG.replace("0.5", "high"), {}, "accuracy is 'high' in line 2 of .*no number"),
    (LONG + "plain,3\n", {}, "line 5 has 2 cells where the first line names 3"),
    ("method,seed,seed\n", {}, "two columns called 'seed'"),
    ("", {}, "No row was found"),
    (LONG, {"columns": "seed_{seed}"}, "No column of .* is of the form 'seed_{seed}'"),
]


def test_what_is_wrong_with_a_table_is_said(source):
    for content, said, match in WRONG:
        results = source("a.csv", content, **said)
        with pytest.raises(RecordedError, match=match):
            results(method="plain").located() if "arm" not in said else results.every_arm


def test_rows_that_something_else_tells_apart_are_named(source):
    text = "method,data,seed,accuracy\nplain,cifar10,1,0.5\nplain,svhn,1,0.4\n"
    with pytest.raises(RecordedError, match="which differ in data: name what tells arms apart in"):
        source("a.csv", text)(method="plain").located()


def test_arms_that_are_not_told_apart_are_said(source):
    text = "method,width,seed,accuracy\nplain,8,1,0.5\nplain,16,1,0.5\n"
    results = source("a.csv", text, arm=["method", "width"])
    with pytest.raises(
        RecordedError, match=r"2 arms of .*, which differ in width: name one of them"
    ):
        results(method="plain").located()
    assert results(width=8).located().label == "width 8"
    with pytest.raises(RecordedError, match="method is one of plain"):
        results(method="smooth").located()
    with pytest.raises(RecordedError, match="'depth' tells no arms apart"):
        results(depth=3)


UNSAID = [
    ({"metrics": {}}, "needs metrics="),
    ({"arm": []}, "needs arm="),
    ({"seed": None, "paired": True}, "say in seed= which column"),
    ({"diverged": {"loss": 1.0}}, "'loss' is none of the metrics accuracy"),
    ({"metrics": {"x": Metric("identity", sampled="y")}}, "leave sampled= out"),
]


def test_what_is_wrong_with_a_declaration_is_said(source):
    for said, match in UNSAID:
        with pytest.raises(RecordedError, match=match):
            source("a.csv", LONG, **said)


def test_a_file_that_is_not_there_is_said(source):
    with pytest.raises(RecordedError, match=r"There is no file .*nothing.csv"):
        source("a.csv", LONG, path="nothing.csv")(method="plain").located()


def test_a_path_is_relative_to_the_file_that_names_it():
    results = recorded("x.csv", arm="method", seed="seed", metrics=ACCURACY)
    assert results.folder.name == "recorded"


def test_patterns_take_texts_apart_and_seeds_are_listed_as_ranges():
    assert Pattern("{a}/{a}-{b}.csv").fields_of("x/x-1.csv") == {"a": "x", "b": "1"}
    assert Pattern("{a}/{a}-{b}.csv").fields_of("x/y-1.csv") is None
    assert Pattern("{a}.csv").fields_of("x/y.csv") is None
    assert listed([3, 1, 2, 9]) == "1–3, 9"
    assert listed([5, 6]) == "5, 6"
    assert listed([4]) == "4"


def test_keys_follow_the_content_and_not_the_place_of_a_row(source):
    def keys(rows):
        known = WithRecorded(None)
        results = source("a.csv", "\n".join([head, *rows]), arm=["method", "width"])
        found = {Run(arm, seed): None for arm in results.every_arm for seed in (3, 4)}
        found = {run: known.get(run) for run in found}
        assert all(each.key == run_key(each.identity) for each in found.values())
        return {(run.arm.label, run.seed): each.key for run, each in found.items()}

    head, *rows = table(seeds=4)
    before = keys(rows)
    assert keys(rows[::-1]) == before
    after = keys([row if not row.startswith("plain,64,3,") else "plain,64,3,0.5" for row in rows])
    assert {place for place in before if before[place] != after[place]} == {("plain", 3)}
