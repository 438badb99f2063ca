"""Verdicts on numbers at hand, and what a claim wants next."""

import csv
import doctest
import importlib
import io
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded_results import say, table, write
from scipy import stats

from repro.__main__ import main
from repro.arm import Metric
from repro.recorded import RecordedError, judge
from repro.recorded.rivals import Rivals
from repro.recorded.runs import RecordedArmRuns, RecordedRun
from repro.recorded.table import File

SMOOTH = [0.94, 0.95, 0.945, 0.952, 0.943]
PLAIN = [0.91, 0.92, 0.915, 0.905, 0.91, 0.912]


def test_two_arms_are_compared_as_samples():
    verdict = judge({"smooth": SMOOTH, "plain": PLAIN}, metric="accuracy")
    theirs = stats.ttest_ind(SMOOTH, PLAIN, equal_var=False, alternative="greater")
    assert verdict.outcome == "reproduced"
    assert verdict.statement == "smooth exceeds plain in accuracy"
    assert dict(verdict.means) == pytest.approx({"smooth": 0.946, "plain": 0.912})
    assert verdict.effects[0].p_for == pytest.approx(theirs.pvalue)


def test_a_claim_is_a_function_of_the_arms():
    share = Metric("log-odds", examples=1000)
    verdict = judge(
        {"a": SMOOTH, "b": SMOOTH[::-1]}, lambda a, b: a.is_at_most(0.05, below=b), on=share
    )
    assert verdict.outcome == "reproduced"
    assert "log-odds scale" in str(verdict)


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
    assert "a has no finite value on 1 of 3 seeds" in verdict.reason


def test_what_cannot_be_judged_is_said():
    for arms, claim, match in (
        ({"a": [1.0, 2.0]}, None, "1 arms and no claim"),
        ({"a": [1.0], "b": [1.0, 2.0]}, None, "two runs or more"),
        ({"a": [1.0, 2.0], "b": [1.0, 2.5]}, lambda a, b: True, "no finding"),
    ):
        with pytest.raises(RecordedError, match=match):
            judge(arms, claim)


def test_a_notebook_shows_the_verdict_with_its_text_escaped():
    html = judge({"<b>": SMOOTH, "plain": PLAIN})._repr_html_()
    assert "REPRODUCED" in html
    assert "&lt;b&gt; - plain" in html
    assert "<b>:" not in html
    assert html.count("<div>") == html.count("</div>") == 1


def test_the_documented_examples_run():
    for name in ("notebook", "cells", "pattern", "runs"):
        outcome = doctest.testmod(importlib.import_module(f"repro.recorded.{name}"))
        assert outcome.attempted > 0, name
        assert outcome.failed == 0, name


def wanted(project, monkeypatch, capsys):
    monkeypatch.chdir(project.path)
    assert main(["recorded", "wanted", "."]) == 0
    shown = capsys.readouterr()
    return list(csv.DictReader(io.StringIO(shown.out))), shown.err


@pytest.mark.thorough
def test_the_runs_that_would_settle_a_claim_are_listed(project, monkeypatch, capsys):
    write(project, table(means={"plain": 0.93, "smoothing": 0.936, "mixup": 0.9321}))
    rows, said = wanted(project, monkeypatch, capsys)
    assert {row["method"] for row in rows} == {"mixup", "plain"}
    assert {row["claims"] for row in rows} == {"Ours/mixup"}
    seeds = [int(row["seed"]) for row in rows if row["method"] == "plain"]
    assert seeds == list(range(21, 21 + len(seeds)))
    assert f"~{20 + len(seeds)} seeds would reproduce it with 80% power" in said
    assert {row["width"] for row in rows} == {"64"}


@pytest.mark.thorough
def test_nothing_is_wanted_where_all_is_settled(project, monkeypatch, capsys):
    say(project, "paired=True")
    rows, said = wanted(project, monkeypatch, capsys)
    assert rows == []
    assert "Nothing is wanted" in said


@pytest.mark.thorough
def test_a_claim_that_cannot_be_read_costs_itself_alone(project, lines, monkeypatch, capsys):
    write(project, [line for line in lines if not line.startswith("plain,64,7,")])
    say(project, "paired=True")
    project.makepyfile(
        test_others="""
        import pytest
        from repro import claim

        @claim("It ends in an error", source="Other, Text")
        def test_error(trials):
            raise ValueError("no seven")

        @claim("It is skipped", source="Other, Text")
        def test_skipped(trials):
            pytest.skip("not today")
        """
    )
    rows, said = wanted(project, monkeypatch, capsys)
    assert [(row["method"], row["seed"]) for row in rows] == [("plain", "7")]
    assert rows[0]["claims"] == "Ours/label_smoothing; Ours/mixup"
    assert "Other/error: cannot be read: ValueError: no seven" in said
    assert "Other/skipped" not in said


@pytest.mark.thorough
def test_what_is_recorded_is_not_packed_and_why_is_said(project, monkeypatch, capsys):
    monkeypatch.chdir(project.path)
    assert main(["evidence", "pack", "packed", "."]) == 1
    said = capsys.readouterr().err
    assert "2 claims was trained here; they are judged as recorded in results.csv (sha256" in said
    assert not (project.path / "packed").exists()


FILE = File("results.csv", "")
SETTINGS = st.tuples(st.sampled_from("abc"), st.integers(1, 3), st.booleans())
VALUES = st.lists(st.none() | st.sampled_from([0.1, 0.2, 0.3]), max_size=2)


def chosen_of(settings):
    return tuple(zip(("method", "width", "deep"), settings, strict=True))


def arm_of(values):
    runs = {
        seed: RecordedRun("", FILE, {"accuracy": value}) for seed, value in enumerate(values, 1)
    }
    return RecordedArmRuns(runs)


def expected(arms, chosen, beside):
    """How an arm stands, from a look at every other one; None where it is not told."""
    means = {}
    for each, arm in arms.items():
        values = [run.measures["accuracy"] for run in arm.runs.values()]
        apart = sum(a != b for a, b in zip(each, chosen, strict=True))
        if apart <= 1 and each != beside and values and None not in values:
            means[each] = fmean(values)
    own = means.pop(chosen, None)
    if own is None or len(means) < 2:
        return None
    return own, min(means.values()), max(means.values()), len(means)


@given(st.dictionaries(SETTINGS, VALUES, min_size=2, max_size=27), st.data())
def test_an_arm_stands_among_those_that_differ_from_it_in_one_setting(tables, data):
    arms = {chosen_of(settings): arm_of(values) for settings, values in tables.items()}
    rivals = Rivals(arms)
    for _ in range(3):
        chosen, beside = (data.draw(st.sampled_from(list(arms))) for _ in range(2))
        found = rivals.standing(chosen, "accuracy", beside=beside)
        told = found and (found.own, found.lowest, found.highest, found.rivals)
        assert told == expected(arms, chosen, beside)
