"""Files of recorded results and numbers at hand: read, refused with a sentence, and judged."""

import json

import numpy as np
import pytest
from recorded_results import table
from scipy import stats

import repro.judge
from repro.__main__ import main
from repro.arm import Metric, Needs, Run
from repro.plugin.trials import Trials
from repro.recorded import RecordedError, judge, recorded
from repro.recorded.adapter import WithRecorded
from repro.recorded.judging import design_of, means_of, not_finite, require_same_ends
from repro.runs.profiles import PROFILES
from repro.store import run_key
from tests.oracles import oracle
from tests.plugin.sessions import Made

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

    make.folder = tmp_path
    return make


def values(results, metric="accuracy", **chosen):
    arm = results(**chosen).located()
    runs = results.runs(arm.chosen).runs
    return {seed: run.measures.get(metric) for seed, run in runs.items()}


LONG = "method,seed,accuracy\nplain,2,0.5\nplain,1,0.4\nsmooth,1,0.6\n"


WIDE = "method,seed_1,seed_2\nplain,0.4,0.5\nsmooth,0.6,\n"
BY_ARM = "seed,plain - acc,plain - acc__MIN,smooth - acc\n1,0.4,0,0.6\n2,0.5,0,0.7\n"
UNCOUNTED = "method,accuracy\nplain,0.5\nplain,0.5\nsmooth,0.6\n"
ROW_LISTS = [["plain", 1, 0.5], ["plain", 2, 0.6]]


def read_lists(path):
    """A reader of one's own."""
    names = ("method", "seed", "accuracy")
    return [dict(zip(names, row, strict=True)) for row in json.loads(path.read_text())]


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
    ("a.log", json.dumps(ROW_LISTS), {"read": read_lists}, "plain", {1: 0.5, 2: 0.6}),
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
    source("methods/smooth.csv", LONG)
    with pytest.raises(RecordedError, match="'smooth' in the name of the file is 'plain' here"):
        values(source("none", "", path=str(tmp_path / "methods/{method}.csv")), method="smooth")


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

    rows = epochs("plain", 1, 3) + epochs("plain", 2, 3)[::2]
    arm = source("b.csv", "\n".join([HEAD, *rows]), epoch="epoch")(method="plain").located()
    with pytest.raises(RecordedError, match=r"Seed 2 .* has no accuracy at 2"):
        arm.epochs_of("accuracy")


HEAD = "method,seed,epoch,accuracy"


def epochs(method, seed, end, value="0.5"):
    return [f"{method},{seed},{epoch},{value}" for epoch in range(1, end + 1)]


CUT = [
    (
        {("b", 1): 5, ("b", 2): 5},
        r"accuracy of b ends at epoch 5 \(seed 1, 2\), and of a at 20 \(seed 1",
    ),
    ({("a", 2): 19}, r"accuracy of a ends at epoch 19 \(seed 2\), and of a at 20 \(seed 1\)"),
    ({("a", 1): 5, ("a", 2): 5, ("b", 1): 5, ("b", 2): 5}, ""),
]


def test_runs_that_end_at_different_epochs_are_refused_unless_that_is_declared(source):
    def require(text, **said):
        results = source("a.csv", text, epoch="epoch", **said)
        require_same_ends([results.arm_of(each) for each in results.arms], ["accuracy", "loss"])

    runs = [(method, seed) for method in "ab" for seed in (1, 2)]
    for cut, match in CUT:
        text = "\n".join([HEAD, *(row for run in runs for row in epochs(*run, cut.get(run, 20)))])
        require(text, ends="as recorded")
        if match:
            with pytest.raises(RecordedError, match=f'{match}.*say ends="as recorded" in'):
                require(text)
        else:
            require(text)
    diverged = [*epochs("a", 1, 20), *epochs("a", 2, 4), "a,2,5,nan"]  # may end where it did
    require("\n".join([HEAD, *diverged]))
    table_of_ends = source("b.csv", LONG)  # which has no epochs
    require_same_ends([table_of_ends(method="plain").located()], ["accuracy"])


def test_what_is_no_number_counts_as_is_said(source):
    for diverged, value, said in (
        ({}, None, "has no finite accuracy: say in diverged= what that counts as"),
        ({"accuracy": 0.1}, 0.1, "has no finite accuracy: that counts as 0.1"),
    ):
        text = "method,seed,accuracy\nplain,1,nan\n"
        plain = source("a.csv", text, diverged=diverged)(method="plain").located()
        assert WithRecorded(None).get(Run(plain, 1)).values["measures"] == {"accuracy": value}
        [line] = not_finite(plain, [1])
        assert line.startswith("plain, seed 1 (")
        assert line.endswith(f"a.csv, line 2) {said}")


ROWS = [{"method": "plain", "seed": 1, "accuracy": "high"}]
ONE = json.dumps(ROWS[0])
TWO_SETS = "method,data,seed,accuracy\nplain,cifar10,1,0.5\nplain,svhn,1,0.4\n"
WRONG = [
    ("a.csv", LONG, {"arm": "methode"}, "has no column 'methode'; it has method, seed, accuracy"),
    ("a.csv", LONG, {"seed": "number"}, "has no column 'number'"),
    ("a.csv", LONG, {"tags": {"accuracy": "acc"}}, "has no column 'acc'"),
    ("a.csv", LONG, {"columns": "seed_{seed}"}, "No column of .* is of the form 'seed_{seed}'"),
    ("a.csv", LONG, {"path": "nothing.csv"}, r"There is no file .*nothing.csv"),
    ("a.csv", LONG + "plain,2,0.5\n", {}, "Seed 2 is there twice, in .*line 2 and .*remove one"),
    ("a.csv", TWO_SETS, {}, "which differ in data: name what tells arms apart .arm., or"),
    ("a.csv", LONG.replace("plain,2", "plain,x"), {}, "line 2, column seed: 'x' is no whole"),
    ("a.csv", LONG + "plain,3\n", {}, "a.csv, line 5: 2 cells where line 1 names 3"),
    ("a.csv", "method,seed,seed\n", {}, "a.csv, line 1: two columns are called 'seed'"),
    ("a.csv", "", {}, "No row was found"),
    ("a.jsonl", ONE + "\n{\n", {}, r"a\.jsonl, line 2: Expecting"),
    ("a.jsonl", ONE + "\n[1]\n", {}, r"a\.jsonl, line 2: no JSON object with names and values"),
]


def test_what_is_wrong_with_a_table_is_said(source):
    for name, content, said, match in WRONG:
        results = source(name, content, **said)
        with pytest.raises(RecordedError, match=match):
            results(method="plain").located() if "arm" not in said else results.arms


SAME = [
    ("a.csv", "method,seed,accuracy\nplain,1,high\n", "line 2", None),
    ("a.tsv", "method\tseed\taccuracy\nplain\t1\thigh\n", "line 2", None),
    ("a.jsonl", ONE, "line 1", None),
    ("a.json", json.dumps(ROWS), "row 1", None),
    ("a.log", '[["plain", 1, "high"]]', "row 1", read_lists),
]


def test_a_wrong_cell_is_named_in_the_same_words_whichever_way_it_is_read(source):
    for name, content, place, read in SAME:
        with pytest.raises(RecordedError) as raised:
            source(name, content, read=read)(method="plain").located()
        said = f"{name}, {place}, column accuracy: 'high' is no number."
        assert str(raised.value).endswith(said)


def test_a_metric_need_not_be_in_the_first_row(source):
    lines = [{"method": "plain", "seed": 1}, {"method": "plain", "seed": 2, "accuracy": 0.5}]
    results = source("a.jsonl", "\n".join(map(json.dumps, lines)))
    assert values(results, method="plain") == {1: None, 2: 0.5}


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
    ({"spread": "equal"}, "spread='equal' is not known"),
    ({"spread": "same", "paired": True}, "Pairs have one spread"),
    ({"diverged": {"loss": 1.0}}, "'loss' is none of the metrics accuracy"),
    ({"metrics": {"x": Metric("identity", sampled="y")}}, "leave sampled= out"),
    ({"ends": "early"}, "ends='early' is not known: say 'as recorded'"),
]


def test_a_file_is_a_run_where_none_has_a_number(source):
    for run in (0, 1, 2):
        rows = [f"{epoch},{0.1 * run + epoch / 100}" for epoch in (1, 2, 3)]
        source(f"out/plain/run{run}.csv", "\n".join(["epoch,accuracy", *rows]))
    path = str(source.folder / "out/{method}/{run}.csv")
    results = source("x", "", path=path, seed=None, epoch="epoch")
    runs = results.runs(results(method="plain").located().chosen).runs
    assert sorted(runs) == [1, 2, 3]
    assert [run.measures["accuracy"] for run in runs.values()] == pytest.approx([0.03, 0.13, 0.23])


def test_what_is_wrong_with_a_declaration_is_said(source):
    for said, match in UNSAID:
        with pytest.raises(RecordedError, match=match):
            source("a.csv", LONG, **said)


def test_a_path_is_relative_to_the_file_that_names_it():
    results = recorded("x.csv", arm="method", seed="seed", metrics=ACCURACY)
    assert results.folder.name == "recorded"
    other = recorded("x.csv", arm="method", seed="seed", metrics=ACCURACY)  # as in another folder
    assert results(method="plain") == results(method="plain") != other(method="plain")


def test_keys_follow_the_content_and_not_the_place_of_a_row(source):
    def keys(rows):
        known = WithRecorded(None)
        results = source("a.csv", "\n".join([head, *rows]), arm=["method", "width"])
        runs = [Run(results.arm_of(each), seed) for each in results.arms for seed in (3, 4)]
        found = {run: known.get(run) for run in runs}
        assert all(each.key == run_key(each.identity) for each in found.values())
        return {(run.arm.label, run.seed): each.key for run, each in found.items()}

    head, *rows = table(seeds=4)
    before = keys(rows)
    assert keys(rows[::-1]) == before
    after = keys([row if not row.startswith("plain,64,3,") else "plain,64,3,0.5" for row in rows])
    assert {place for place in before if before[place] != after[place]} == {("plain", 3)}


SMOOTH = [0.94, 0.95, 0.945, 0.952, 0.943]
PLAIN = [0.91, 0.92, 0.915, 0.905, 0.91, 0.912]


def test_pairs_are_made_by_seed():
    a, b = {1: 0.5, 2: 0.7, 3: 0.6}, {3: 0.55, 1: 0.46, 2: 0.64}
    verdict = judge({"a": a, "b": b}, paired=True)
    theirs = stats.ttest_rel([0.5, 0.7, 0.6], [0.46, 0.64, 0.55], alternative="greater")
    assert verdict.effects[0].p_for == pytest.approx(theirs.pvalue)
    with pytest.raises(RecordedError, match="b has no value at seed 3"):
        judge({"a": a, "b": {1: 0.4, 2: 0.5}}, paired=True)


def test_a_run_without_a_number_is_said():
    verdict = judge({"a": [0.5, None, 0.6], "b": [0.4, 0.5, 0.6]})
    assert verdict.outcome == "inconclusive"
    assert "a has no finite value on 1 of 3 runs" in verdict.reason


def test_a_number_a_hundred_times_another_is_compared_where_that_is_meant():
    seconds = {"slow": [81.0, 83.5, 80.2], "fast": [0.8, 0.81, 0.795]}
    assert judge(seconds, on=Metric("log")).outcome == "reproduced"
    assert judge({"a": [81.0, 83.5, 80.2], "b": [0.2, 0.21, 0.195]}).outcome == "reproduced"
    assert repro.judge(seconds, on=Metric("log")).outcome == "reproduced"  # a package, too


def test_one_spread_is_that_of_all_arms_where_it_is_declared():
    """It is the test after an analysis of variance; with two arms, Student's."""
    rng = np.random.default_rng(75)
    a, b, c = (rng.normal(mean, 1.0, runs) for mean, runs in ((4, 3), (0, 10), (9, 6)))
    effect = judge({"a": a, "b": b}, spread="same").effects[0]
    assert (effect.low, effect.high) == pytest.approx(
        stats.ttest_ind(a, b).confidence_interval(0.99)
    )
    three = judge({"a": a, "b": b, "c": c}, lambda a, b, c: a > b, spread="same").effects[0]
    within = sum(((x - x.mean()) ** 2).sum() for x in (a, b, c)) / 16
    t = (a.mean() - b.mean()) / (within * (1 / 3 + 1 / 10)) ** 0.5
    assert three.p_for == pytest.approx(stats.t.sf(t, 16))
    number = judge({"a": a, "b": b}, lambda a, b: a > 2.0, spread="same").effects[0]
    pooled = (((a - a.mean()) ** 2).sum() + ((b - b.mean()) ** 2).sum()) / 11
    assert number.p_for == pytest.approx(stats.t.sf((a.mean() - 2) / (pooled / 3) ** 0.5, 11))


def test_spreads_that_are_not_the_same_are_said():
    rng = np.random.default_rng(76)
    a, b = rng.normal(9, 5.0, 9), rng.normal(0, 1.0, 9)
    verdict = judge({"a": a, "b": b}, spread="same")
    p = stats.bartlett(a, b).pvalue
    assert f"the spreads of the arms differ (Bartlett's test, p {p:.1g})" in verdict.states[0]
    assert judge({"a": a, "b": 9 - a[::-1] / 2 + 3}, spread="same").states == ()
    assert judge({"a": a, "b": b}).states == ()


def test_a_run_that_repeats_another_says_nothing_about_the_one_spread():
    a, b = [0.1234567891, 0.2234567891, 0.1734567891], [0.5234567891, 0.6134567891]
    same = judge({"a": a, "b": b}, spread="same").effects[0]
    copied = judge({"a": [*a, a[0]], "b": b}, spread="same").effects[0]
    assert copied.p_against == pytest.approx(same.p_against)


def test_the_level_is_one_directions_and_its_interval_is_as_wide():
    a, b = [0.54, 0.56, 0.55, 0.53, 0.57], [0.5, 0.53, 0.51, 0.52, 0.54]
    p = judge({"a": a, "b": b}, paired=True).effects[0].p_for
    for level, outcome in ((p * 1.01, "reproduced"), (p * 0.99, "inconclusive")):
        verdict = judge({"a": a, "b": b}, paired=True, level=level)
        assert verdict.outcome == outcome
        theirs = stats.ttest_rel(a, b).confidence_interval(1 - 2 * level)
        assert (verdict.effects[0].low, verdict.effects[0].high) == pytest.approx(theirs)
    verdict = judge({"a": a, "b": b}, paired=True, level=0.01)
    assert "98% intervals" in str(verdict)
    assert repr(verdict).endswith("5 seeds, level 1 %>")


def test_means_have_as_many_digits_as_their_difference_needs():
    a, b = [3.27801, 3.27802, 3.278], [3.27811, 3.27812, 3.2781]
    assert "means: b 3.27811, a 3.27801" in str(judge({"a": a, "b": b}, lambda a, b: a < b))


def test_what_cannot_be_judged_is_said():
    for options, match in (
        ({"looks": "often"}, "looks='often' is not known"),
        ({"spread": "equal"}, "spread='equal' is not known"),
        ({"spread": "same", "paired": True}, "Pairs have one spread"),
    ):
        with pytest.raises(RecordedError, match=match):
            judge({"a": SMOOTH, "b": SMOOTH}, **options)
    with pytest.raises(ValueError, match=r"from 0\.0001 to 0\.05"):
        judge({"a": SMOOTH, "b": SMOOTH}, level=0.1)
    for arms, claim, match in (
        ({"a": [1.0, 2.0]}, None, "1 arms and no claim"),
        ({"a": [1.0], "b": [1.0, 2.0]}, None, "two runs or more"),
        ({"a": [1.0, 2.0], "b": [1.0, 2.5]}, lambda a, b: True, "no finding"),
        (
            {"a": [0.8, 0.9], "b": ["0.8", "0.81"]},
            None,
            "b has '0.8' at seed 1, which is no number",
        ),
        ({"a": {7: 0.8, 9: True}, "b": [0.8, 0.9]}, None, "a has True at seed 9"),
        ({"a": [81, 83], "b": [0.8, 0.81]}, None, "a has values near 82 and b near 0.805, which"),
        ({"a": [0.8, 0.81], "b": [81, 83, 80]}, None, "give both in one unit"),
    ):
        with pytest.raises(RecordedError, match=match):
            judge(arms, claim)


@pytest.mark.thorough
def test_what_is_recorded_is_not_packed_and_why_is_said(project, monkeypatch, capsys):
    monkeypatch.chdir(project.path)
    assert main(["evidence", "pack", "packed", "."]) == 1
    said = capsys.readouterr().err
    assert "2 claims was trained here; their runs are recorded in results.csv (sha256" in said
    assert not (project.path / "packed").exists()


def test_an_arm_stands_among_those_that_differ_from_it_in_one_setting(source):
    rows = ["method,width,seed,accuracy", "a,1,1,0.1", "a,1,2,0.3", "b,1,1,0.3", "c,1,1,0.4"]
    rows += ["a,2,1,0.5", "c,2,1,0.6", "b,2,1,0.7", "b,2,2,nan"]  # without a number: no rival
    results = source("a.csv", "\n".join(rows), arm=["method", "width"])
    for arm, other, expected in (
        (("a", 1), ("b", 1), (0.2, [0.4, 0.5])),
        (("a", 1), ("c", 2), (0.2, [0.3, 0.4, 0.5])),
        (("b", 1), ("a", 1), (0.3, [0.4])),
        (("b", 2), ("a", 1), (None, [])),
        (("a", 1), ("a", 1), (None, [])),
    ):
        pair = [results(method=method, width=width).located() for method, width in (arm, other)]
        mean, rivals = means_of(*pair, "accuracy")
        assert (mean, sorted(rivals)) == expected, (arm, other)
        assert means_of(*pair, "a metric of another source") == (None, [])


UNSCALED = {"accuracy": Metric("identity")}


def test_all_arms_of_a_source_have_one_spread_where_it_says_so(source):
    rng = np.random.default_rng(8)
    draws = {name: rng.normal(x, 1, n) for name, x, n in (("a", 3, 3), ("b", 7, 10), ("c", 0, 6))}
    rows = [f"{name},{i},{x}" for name, of_arm in draws.items() for i, x in enumerate(of_arm)]
    results = source(
        "a.csv", "\n".join(["method,seed,accuracy", *rows]), spread="same", metrics=UNSCALED
    )
    trials = Trials(WithRecorded(Made(None)), PROFILES["ci"], {})
    a, b = trials(results(method="b"), results(method="a"))
    effect = (a.accuracy > b.accuracy).effects[0]
    within = sum(((x - x.mean()) ** 2).sum() for x in draws.values()) / 16
    t = (draws["b"].mean() - draws["a"].mean()) / (within * (1 / 10 + 1 / 3)) ** 0.5
    assert effect.p_for == pytest.approx(stats.t.sf(t, 16))


def test_what_is_recorded_is_asked_whether_it_is_a_sample(source):
    draws = np.random.default_rng(4).normal(0.6, 0.01, (2, 12))
    pasted = [f"a,{seed},{draws[0][seed % 3]}" for seed in range(12)]
    other = [f"b,{seed},{x - 0.2}" for seed, x in enumerate(draws[1])]
    ended = [f"a,{seed},{'nan' if seed % 3 else x}" for seed, x in enumerate(draws[0])]
    for rows, said, seeds in ((pasted, "9 of 12 runs of a repeat", 3), (ended, "", 12)):
        text = "\n".join(["method,seed,accuracy", *rows, *other])
        results = source("a.csv", text, diverged={"accuracy": 1 / 3**0.5})
        trials = Trials(WithRecorded(Made(None)), PROFILES["ci"], {})
        a, b = trials(results(method="a"), results(method="b"))
        verdict = a.accuracy > b.accuracy
        assert verdict.effects[0].counts == (seeds, 12)
        assert verdict.measured.partition("; ")[2].startswith(said)
        assert bool(said) == bool(verdict.repeats)


def named(folder, lines):
    (folder / "named.csv").write_text("\n".join(["method,run,accuracy", *lines]) + "\n")
    metrics = {"accuracy": Metric("identity")}
    return recorded(folder / "named.csv", arm="method", seed="run", metrics=metrics, paired=True)


def test_runs_may_have_names(tmp_path):
    lines = [f"{m},{name},0.{n}" for m, n in (("a", 1), ("b", 2)) for name in ("mon", "tue")]
    source = named(tmp_path, ["b,tue,0.3", *lines[:3]])
    a, b = (source(method=each).located() for each in "ab")
    assert (a.word, a.named(*a.seeds(9))) == ("runs", "run tue, mon")
    assert source.runs(b.chosen).runs.keys() == source.runs(a.chosen).runs.keys()
    again = named(tmp_path, [*lines, "a,mon,0.5"])
    with pytest.raises(RecordedError, match=r"Run mon is there twice, in .*named\.csv, line 2 and"):
        again(method="a").located()
    for cell in ("3", "3.5", ""):
        source = named(tmp_path, [*lines, f"a,{cell},0.5"])
        with pytest.raises(RecordedError, match="is no whole number; number all runs, or give"):
            source(method="a").located()


def test_a_missing_pair_is_named(tmp_path):
    source = named(tmp_path, ["a,mon,0.1", "a,tue,0.2", "b,mon,0.3", "b,wed,0.3"])
    arms = [source(method=each).located() for each in "ab"]
    with pytest.raises(Needs, match="needs a at run wed, which b has"):
        design_of(arms)


def test_without_its_file_a_source_says_how_to_get_it(tmp_path):
    options = {"arm": "method", "seed": None, "metrics": {"loss": Metric("identity")}}
    for path in ("missing.csv", "runs/{method}.csv"):
        with pytest.raises(Needs, match=r"^needs .*csv: python make\.py > missing\.csv$"):
            recorded(tmp_path / path, get="python make.py > missing.csv", **options)().located()
        with pytest.raises(RecordedError, match=r"There is no file|No row was found"):
            recorded(tmp_path / path, **options)().located()
    (tmp_path / "missing.csv").write_text("method,loss\n")
    with pytest.raises(RecordedError, match="No row was found"):
        recorded(tmp_path / "missing.csv", get="python make.py", **options)().located()


def test_runs_without_seeds_are_called_runs():
    runs = judge({"a": [0.5, 0.52, 0.51], "b": [0.4, 0.43, 0.42]})
    assert " 3 runs (one look)" in str(runs)
    assert "seed" not in str(runs)
    assert "every run gave" in judge({"a": [0.5, 0.5]}, lambda a: a > 0.4).reason
    paired = judge({"a": [0.5, 0.52, 0.51], "b": [0.4, 0.43, 0.41]}, paired=True)
    assert " 3 seeds (one look)" in str(paired)
    copied = judge({"a": [0.5123456789, 0.5123456789, 0.52], "b": [0.4, 0.43, 0.41]})
    assert "(run 2 is run 1 again)" in copied.repeats[0]


@pytest.mark.parametrize("looks", [None, "any"])
def test_two_runs_do_not_say_how_many_more_it_takes(looks):
    two, three = {"a": [0.5, 0.53], "b": [0.4, 0.43]}, [0.47, 0.50, 0.53]
    for arms in (two, {"a": two["a"], "b": three}, {"a": three, "b": two["b"]}):
        advice = judge(arms, looks=looks).advice
        assert advice == "two runs hardly say how much runs differ: run it more often"
    assert "more" in judge({"a": three, "b": [0.4, 0.45, 0.49]}, looks=looks).advice
    assert "~" in judge({"a": [0.5, 0.53], "b": three, "c": three}, only_ab, spread="same").advice


def only_ab(a, b, c):
    return a > b
