"""The page's plots: a dot for each seed, an interval, a link for each row; curves, and axes."""

import math
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from repro.judge import Design, Judge
from repro.report import svg
from repro.report.curves import caption, figure_plot, training, write_figure
from repro.report.intervals import forest, seeds
from repro.report.stored_runs import TrainingCurve
from tests.report.records import depth_ladder, judged, measured


def finding_of(results, claim):
    """The one finding of a claim."""
    [finding] = next(record for record in results.claims if record.claim == claim).findings
    return finding


def paths(plot, kind):
    """The `d` of every path of a kind."""
    return re.findall(rf'<path class="{kind}" d="([^"]+)"', plot.body)


def test_every_seed_is_a_dot_and_every_needed_comparison_a_row(results):
    finding = finding_of(results, "000/order")
    [plot] = seeds([finding])
    needed = [effect for effect in finding.effects if effect.needed]
    assert [path.count("h0") for path in paths(plot, "seed")] == [e.seeds for e in needed]
    assert len(paths(plot, "whisker")) == len(paths(plot, "estimate")) == len(needed) == 3
    assert all(effect.label in plot.body for effect in needed)
    [plot] = seeds([finding_of(results, "004/value")])  # two bounds of one comparison share a row
    assert len(paths(plot, "whisker")) == 1
    assert [path.count("M") for path in paths(plot, "claimed")] == [2]


def test_a_side_that_diverged_has_neither_dot_nor_interval(results):
    finding = finding_of(results, "004/gains")
    [effect] = finding.effects
    per_seed = [None, *effect.per_seed[1:]]
    effect = replace(effect, per_seed=per_seed, low=None, high=None, estimate=None)
    [plot] = seeds([replace(finding, effects=[effect])])
    assert [path.count("h0") for path in paths(plot, "seed")] == [effect.seeds - 1]
    assert not paths(plot, "whisker") + paths(plot, "estimate")


def test_the_point_is_what_the_interval_is_of(results):
    finding = finding_of(results, "004/gains")
    effect = replace(finding.effects[0], plain=0.0, estimate=finding.effects[0].high)
    [plot] = seeds([replace(finding, effects=[effect])])
    [whisker], [point] = paths(plot, "whisker"), paths(plot, "estimate")
    assert whisker.endswith(point.removeprefix("M").removesuffix("h0"))


def test_a_forest_links_every_measured_claim_in_the_colour_of_its_verdict(results):
    anchors = [record.claim for record in results.claims]
    plots = forest(results.claims, anchors=anchors)
    body = "".join(plot.body for plot in plots)
    measured = {record.claim for record in results.claims if record.arms}
    assert set(re.findall(r'href="#([^"]+)"', body)) == measured
    [(verdict, _)] = re.findall(r"falls</text></a><g style=\"--key:var\(--(\w+)\)\">(<path)", body)
    assert verdict == "refuted"
    assert len(plots) == 3


def test_a_documented_number_is_a_diamond_and_a_bound_a_stroke(results):
    [value] = [record for record in results.claims if record.claim == "004/value"]
    [gains] = [record for record in results.claims if record.claim == "004/gains"]
    drawn = [forest([each], anchors=["a"])[0] for each in (value, gains)]
    assert [paths(plot, "claimed")[0].endswith("z") for plot in drawn] == [True, False]


def test_a_documented_run_stands_beside_the_interval_of_such_runs():
    judge = Judge(Design(looks=(5,)))
    one, two = (measured(judge, f"BP k={k}", 0.4 + 0.1 * k) for k in range(2))
    alone = judged("000/alone", one.agrees_with(0.43, runs=1, within=0.2), arms=[])
    above = judged("000/above", two.agrees_with(0.12, runs=1, within=0.2, plus=one), arms=[])
    records = [alone.record, above.record]
    effects = [record.findings[0].effects[0] for record in records]
    assert [(effect.kind, effect.relation) for effect in effects] == [("run", "≈")] * 2
    assert effects[0].low < 0.4 < effects[0].high
    plots = forest(records, anchors=["a", "b"])
    assert {plot.described.partition(": ")[2] for plot in plots} == {
        effects[0].unit,
        f"difference in {effects[0].unit}",
    }
    assert all(paths(plot, "claimed")[0].endswith("z") for plot in plots)
    [drawn] = seeds(alone.record.findings)
    assert [path.count("h0") for path in paths(drawn, "seed")] == [5]


LOSS = TrainingCurve(list(range(1, 11)), {1: [2 - 0.1 * i for i in range(10)]})


def words_of(plot):
    return re.findall(r">([^<>]+)</text>", plot.body)


def test_panels_have_the_same_axis_of_epochs():
    accuracy = TrainingCurve([5, 10], {1: [0.5, 0.6], 2: [0.6, 0.7]})
    plot = training([{"loss": LOSS, "accuracy": accuracy}], "accuracy")
    words = words_of(plot)
    assert {"training loss", "accuracy"} <= set(words)
    assert words.count("epoch") == words.count("10") == words.count("2") == 2
    once = TrainingCurve([10], {1: [0.5], 2: [0.6]})  # measured once: no curve
    words = words_of(training([{"loss": LOSS, "accuracy": once}], "accuracy"))
    assert "accuracy" not in words
    assert words.count("epoch") == words.count("training loss") == 1
    assert training([{"loss": TrainingCurve([1], {1: [2.0]})}], "loss") is None


POSITIVE = st.floats(1e-9, 1e9)
NUMBER = st.one_of(st.just(0.0), POSITIVE, POSITIVE.map(lambda number: -number))


def label_of(number):
    return float(number.replace("−", "-"))


@given(st.lists(NUMBER, min_size=1), st.integers(2, 10))
@example([1.0, 1.0 + 1e-15], 5)
@example([-1e9, 1e-6 - 1e9], 5)
@example([2.0, 2.00001], 5)
def test_every_value_is_on_an_axis_of_few_different_numbers(values, most):
    axis = svg.Axis.over(values, 10, 300, most=most)
    assert all(10 <= axis.at(value) <= 300 for value in values)
    assert len(axis.ticks) <= most + 1
    assert all(10 - 1e-6 <= axis.at(tick) <= 300 + 1e-6 for tick, _ in axis.ticks)
    labels = [label_of(label) for _, label in axis.ticks]
    assert len(set(labels)) == len(labels)
    assert labels == pytest.approx([tick for tick, _ in axis.ticks], rel=1e-6, abs=1e-12)


@given(st.lists(st.floats(1e-3, 1e3), min_size=1))
def test_equal_ratios_are_equally_far_apart(values):
    axis = svg.Axis.of_ratios(values, 0, 100)
    assert all(0 <= axis.at(value) <= 100 for value in values)
    middle = math.sqrt(axis.low * axis.high)
    assert axis.at(middle) == pytest.approx(50)
    labels = [label_of(label) for _, label in axis.ticks]
    assert labels == pytest.approx([tick for tick, _ in axis.ticks])


def test_a_vertical_axis_goes_up_and_an_axis_of_nothing_is_one_too():
    axis = svg.Axis.over([1.0, 2.0], 100, 0, most=4)
    assert axis.at(2.0) < axis.at(1.0)
    assert svg.Axis.over([], 0, 100, most=4).ticks
    assert svg.Axis.over([0.0, 0.0], 0, 100, most=4).at(0.0) == 50


[PANEL] = depth_ladder().panels
LINE = replace(PANEL.lines[0], values=[[0.38, 0.39, 0.4], [0.56], []])
FIGURE = replace(depth_ladder(), panels=[replace(PANEL, lines=[LINE])])


def figure_of(*lines, **changes):
    return replace(FIGURE, panels=[replace(PANEL, lines=list(lines))], **changes)


def test_the_caption_counts_the_seeds_and_names_the_data():
    assert caption(FIGURE) == (
        "Source 004, Figure 1. solid: mean ± 1 standard deviation over 1 to 3 seeds, profile ci,"
        " cifar10-twin; dashed: as documented"
    )
    assert caption(figure_of(replace(LINE, documented=[]))).endswith("profile ci, cifar10-twin")
    without_values = figure_of(replace(LINE, values=[[], [], []]))
    assert "nothing is stored of it yet; dashed: as documented" in caption(without_values)
    assert "documented dashed" in figure_plot(without_values).body


def test_a_line_without_a_point_is_not_named_and_the_others_keep_their_colours():
    empty = replace(LINE, label="not yet", values=[[], [], []], documented=[])
    plot = figure_plot(figure_of(empty, replace(LINE, label="last")))
    assert ">last</text>" in plot.body
    assert "not yet" not in plot.body
    assert "series-1" in plot.body
    many = figure_of(*(replace(LINE, label=f"line {n}") for n in range(9)))  # more than colours
    assert all(f">line {n}</text>" in figure_plot(many).body for n in range(9))


def test_a_figure_as_a_file_has_its_title_and_caption_and_needs_nothing_else(tmp_path):
    title = "A title of some length, " * 9
    path = write_figure(replace(FIGURE, title=title, data=["some-data"] * 9), tmp_path)
    root = ET.parse(path).getroot()
    *_, width, height = map(float, root.get("viewBox").split())
    texts = root.findall(".//{*}text")
    words = " ".join(text.text for text in texts)
    assert title.strip() in words
    assert caption(replace(FIGURE, data=["some-data"] * 9)) in words
    for text in texts:
        assert 4 * len(text.text) <= width
        assert float(text.get("y")) <= height
    assert "--series-0" in root.find("{*}style").text
