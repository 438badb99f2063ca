"""The axes of the page's plots: every value is on them, and their numbers are few and different."""

import math
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from repro.report import svg

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


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([0.9, 1.2], ["0.9", "1.0", "1.1", "1.2"]),
        ([0.4, 8.0], ["0.5", "1", "2", "5"]),
    ],
)
def test_ratios_are_named_by_numbers_one_says(values, labels):
    assert [label for _, label in svg.Axis.of_ratios(values, 0, 100).ticks] == labels


def test_a_vertical_axis_goes_up():
    axis = svg.Axis.over([1.0, 2.0], 100, 0, most=4)
    assert axis.at(2.0) < axis.at(1.0)


def test_an_axis_of_nothing_is_one_too():
    assert svg.Axis.over([], 0, 100, most=4).ticks
    assert svg.Axis.over([0.0, 0.0], 0, 100, most=4).at(0.0) == 50


def test_words_stay_text():
    drawn = svg.text(0, 0, '</text><script>"&')
    assert re.findall(r">(.*)</text>", drawn) == ["&lt;/text&gt;&lt;script&gt;&quot;&amp;"]
