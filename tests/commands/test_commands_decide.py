"""`python -m repro decide`: keep, discard or run more, by exit codes alone."""

import json

import numpy as np
import pytest

from repro.recorded import Choice, RecordedError, decide
from tests.judge.arms import benchmark, exact

EIGHT = exact(1.0, 0.01, 8).round(6).tolist()


def test_choices_are_exit_codes(runs, call):
    runs("baseline.jsonl", EIGHT)
    for values, code, begins in (
        ([0.94, 0.945, 0.938, 0.942, 0.941, 0.939], 0, "keep"),
        ([1.001], 1, "discard"),
        ([0.96, 0.965], 2, "run more"),
        ([1.2, 1.21, 1.19], 1, "discard"),
    ):
        runs("candidate.jsonl", values)
        found = call("decide", "baseline.jsonl", "candidate.jsonl", "--lower", "val_bpb")
        assert (found[0], found[1].split("  ")[0]) == (code, begins), found
        worse = call("decide", "baseline.jsonl", "candidate.jsonl", "--higher", "val_bpb")[0]
        assert worse == 1 or code == 1
    said = json.loads(
        call("decide", "baseline.jsonl", "candidate.jsonl", "--json", "--lower", "val_bpb")[1]
    )
    assert (said["choice"], said["runs"]) == ("discard", [3, 8])


def test_the_runs_that_are_named_have_it_kept(runs, call):
    runs("baseline.jsonl", EIGHT)
    runs("candidate.jsonl", exact(0.96, 0.01, 4))
    asked = ("decide", "baseline.jsonl", "candidate.jsonl", "--json", "--lower", "val_bpb")
    more = json.loads(call(*asked)[1])["more"]
    assert more["candidate"] + more["baseline"] > 0
    runs("baseline.jsonl", exact(1.0, 0.01, 8 + more["baseline"]))
    runs("candidate.jsonl", exact(0.96, 0.01, 4 + more["candidate"]))
    assert call(*asked)[0] == 0


def test_what_cannot_be_decided_is_3(runs, call, folder):
    runs("baseline.jsonl", EIGHT)
    runs("candidate.jsonl", [0.96, float("nan")])
    (folder / "empty.jsonl").write_text("")
    runs("other.jsonl", [1.0, 2.0], metric="loss")
    log = [json.dumps({"step": i, "val_bpb": 1 - i / 100}) for i in range(1, 21)]
    (folder / "log.jsonl").write_text("\n".join(log))
    for other, options, said in (
        ("missing.jsonl", ["--lower", "val_bpb"], "There is no file"),
        ("empty.jsonl", ["--lower", "val_bpb"], "No row was found in empty.jsonl"),
        ("candidate.jsonl", ["--lower", "val_bpb"], "line 2, column val_bpb: nan is not finite"),
        ("other.jsonl", ["--lower", "val_bpb"], "no column 'val_bpb'; it has loss"),
        ("log.jsonl", ["--lower", "val_bpb"], "no column says which rows are one run"),
        ("baseline.jsonl", [], "one of the arguments --lower --higher is required"),
        ("baseline.jsonl", ["--lower", "val_bpb", "--max-runs", "1"], "of at least 2"),
        ("baseline.jsonl", ["--lower", "val_bpb", "--margin", "-1"], "The margin is -1.0"),
        ("baseline.jsonl", ["--lower", "val_bpb", "--confirm", "8"], "leaves no run"),
        ("baseline.jsonl", ["--lower", "val_bpb", "--level", "0.5"], "0.0001 to 0.05"),
    ):
        code, out, err = call("decide", "baseline.jsonl", other, *options)
        assert (code, out) == (3, ""), other
        assert said in err


def test_a_fresh_test_leaves_out_the_runs_that_chose_it(runs, call):
    runs("baseline.jsonl", EIGHT)
    lucky, fresh = [0.9, 0.91, 0.92, 0.9, 0.91, 0.905], [1.0, 1.01, 0.99, 1.005]
    runs("candidate.jsonl", lucky)
    asked = ("decide", "baseline.jsonl", "candidate.jsonl", "--lower", "val_bpb")
    assert call(*asked)[0] == 0
    runs("candidate.jsonl", lucky + fresh)
    assert call(*asked, "--confirm", "6")[0] == 1


def test_a_gain_below_the_margin_is_not_kept():
    better = exact(0.95, 0.005, 8).tolist()
    assert decide(EIGHT, better, lower=True).choice is Choice.KEEP
    assert decide(EIGHT, better, lower=True, margin=0.005).choice is Choice.KEEP
    assert decide(EIGHT, better, lower=True, margin=0.06).choice is Choice.DISCARD


def test_pairs_decide_on_the_differences_of_seeds():
    rng = np.random.default_rng(5)
    seeds = {seed: 1 + rng.normal(0, 0.1) for seed in range(20)}
    new = {seed: seeds[seed] - 0.02 + rng.normal(0, 0.002) for seed in range(9)}
    assert decide(seeds, new, lower=True, paired=True).choice is Choice.KEEP
    assert decide(list(seeds.values()), list(new.values()), lower=True).choice is Choice.DISCARD
    with pytest.raises(RecordedError, match="has seed 99"):
        decide(seeds, {**new, 99: 1.0}, lower=True, paired=True)


def test_it_ends_with_the_most_runs_and_begins_with_a_baseline():
    near = exact(0.985, 0.012, 12).tolist()
    found = decide(EIGHT, near, lower=True)
    assert (found.choice, found.why) == (Choice.DISCARD, "not shown within 12 runs")
    first = decide([1.0], [0.9], lower=True)
    assert (first.choice, first.baseline) == (Choice.RUN_MORE, 1)


def test_a_run_that_is_copied_does_not_help():
    copied = [0.9512345678] * 6
    assert decide(EIGHT, copied, lower=True).choice is not Choice.KEEP


def test_one_spread_decides_earlier():
    few = exact(0.955, 0.01, 6).tolist()
    assert decide(EIGHT, few, lower=True).choice is Choice.RUN_MORE
    assert decide(EIGHT, few, lower=True, spread="same").choice is Choice.KEEP


@pytest.mark.thorough
def test_nights_of_no_ops_keep_nothing_and_cost_little():
    module = benchmark("decide")
    found = [module.night(module.by_decide, 100, np.random.default_rng(seed)) for seed in (1, 2)]
    assert sum(kept for kept, _ in found) <= 1
    assert all(runs <= 6 for _, runs in found)
    assert module.gains(module.by_decide, 3.0, 100, np.random.default_rng(3)) >= 0.8


def test_runs_that_never_differ_are_discarded():
    for candidate in ([1.0, 1.0, 1.0], [0.5, 0.5, 0.5], [0.5]):
        found = decide([1.0, 1.0, 1.0, 1.0], candidate, lower=True)
        assert found.choice is Choice.DISCARD
        assert "does the training use its seed" in found.why
