"""The learning curves of a claim: one axis of epochs for all metrics."""

import re

from repro.report.plots.training import training
from repro.report.runs import TrainingCurve

LOSS = TrainingCurve(list(range(1, 11)), [[2 - 0.1 * i for i in range(10)]])


def words_of(plot):
    return re.findall(r">([^<>]+)</text>", plot.body)


def test_panels_have_the_same_axis_of_epochs():
    accuracy = TrainingCurve([5, 10], [[0.5, 0.6], [0.6, 0.7]])
    plot = training([("bp", {"loss": LOSS, "accuracy": accuracy})], "accuracy", name="two")
    words = words_of(plot)
    assert {"training loss", "accuracy"} <= set(words)
    assert words.count("epoch") == words.count("10") == words.count("2") == 2


def test_a_metric_measured_once_is_no_curve():
    accuracy = TrainingCurve([10], [[0.5], [0.6]])
    plot = training([("bp", {"loss": LOSS, "accuracy": accuracy})], "accuracy", name="once")
    words = words_of(plot)
    assert "training loss" in words
    assert "accuracy" not in words
    assert words.count("epoch") == 1


def test_without_epochs_there_is_nothing_to_show():
    assert training([("bp", {"loss": TrainingCurve([1], [[2.0]])})], "loss", name="none") is None
