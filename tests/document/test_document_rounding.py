"""Printed numbers: whatever rounds to one lies in its interval, and its formulas keep it."""

from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repro.document import exact, percent_change, percent_drop, perplexity, printed, root

TRUE = st.decimals(min_value="-1e6", max_value="1e6", places=7)
PLACES = st.integers(min_value=0, max_value=5)
MORE_DIGITS = Context(prec=50)
RULES = st.sampled_from([ROUND_HALF_EVEN, ROUND_HALF_UP])


def as_printed(value, places, rule):
    return str(value.quantize(Decimal(1).scaleb(-places), rounding=rule))


def contains(number, value):
    low, high = number.interval()
    return low <= Fraction(value) <= high


@given(TRUE, PLACES, RULES, st.sampled_from(["", "%", "pp", "M"]))
def test_what_was_rounded_lies_in_the_interval(value, places, rule, unit):
    scale = {"": 1, "%": Fraction(1, 100), "pp": Fraction(1, 100), "M": 1_000_000}[unit]
    text = as_printed(value, places, rule)
    assert contains(printed(text + unit), Fraction(value) * scale)


def test_both_half_ends_belong_to_the_interval():
    bad = []
    for text, low, high in (
        ("18.52", "18.515", "18.525"),
        ("0.10", "0.095", "0.105"),  # a zero at the end is a digit
        ("72", "71.5", "72.5"),
        ("51,026", "51025.5", "51026.5"),
        ("46.9%", "0.4685", "0.4695"),
        ("+22.8 pp", "0.2275", "0.2285"),
        ("-4.8 pp", "-0.0485", "-0.0475"),
        ("−4.8 pp", "-0.0485", "-0.0475"),  # as typeset
        ("2.74M", "2735000", "2745000"),
        ("≈ 0.349", "0.348", "0.350"),
        ("~2%", "0.01", "0.03"),
    ):
        if printed(text).interval() != (Fraction(low), Fraction(high)):
            bad.append((text, printed(text).interval()))
    assert bad == []


@given(TRUE.map(abs), TRUE.map(abs), PLACES, PLACES, RULES)
def test_a_percentage_keeps_the_true_one(before, after, places, other_places, rule):
    start = printed(as_printed(before, places, rule))
    end = printed(as_printed(after, other_places, rule))
    if start.low <= 0:
        return
    change = (Fraction(after) - Fraction(before)) / Fraction(before)
    assert contains(percent_change(start, end), change)
    assert contains(percent_drop(start, end), -change)


@given(st.decimals(min_value="0", max_value="8", places=6), PLACES)
def test_perplexity_and_root_keep_the_true_ones(value, places):
    shown = printed(as_printed(value, places, ROUND_HALF_EVEN))
    assert contains(perplexity(shown), value.exp(MORE_DIGITS))
    if shown.low >= 0:
        assert contains(root(shown), value.sqrt(MORE_DIGITS))


@given(*[st.fractions(min_value="-9", max_value=9, max_denominator=50)] * 3)
def test_formulas_of_exact_numbers_are_exact(a, b, c):
    formula = (exact(a) - b) * c + a
    assert formula.interval() == ((a - b) * c + a,) * 2


def test_an_input_that_occurs_twice_is_one_unknown():
    x = printed("3.0")
    assert (x - x).inputs == (x,)
    assert (x - x).interval() == (0, 0)
    assert (x - printed("3.0")).interval() == (Fraction("-0.1"), Fraction("0.1"))


def test_a_formula_is_shown_as_it_is_written():
    three, two, one = map(printed, "321")
    written = {
        "(3 - 2) / 3": (three - two) / printed("3"),
        "3 - (2 - 1)": three - (two - one),
        "3 - 2 - 1": three - two - one,
        "1 - 52.3% * 2 / 3": 1 - printed("52.3%") * 2 / 3,
        "6 / (2 * 3)": 6 / (two * 3),
        "256 * 1000 + 51,026": exact(256) * 1000 + 51026,
        "1/3 * 2": exact(Fraction(1, 3)) * 2,
    }
    assert [formula.text for formula in written.values()] == list(written)


def test_what_is_no_printed_number_is_refused():
    for text in ("", "a", "1.2.3", "1,23", "25.000 steps", "0.196 ± 0.003", "1e5"):
        with pytest.raises(ValueError, match="is not one printed number: give its digits"):
            printed(text)
    with pytest.raises(TypeError, match="has lost its printed digits"):
        printed("1") + 0.5


def test_a_formula_whose_ends_say_nothing_is_refused():
    x = printed("0.5")
    with pytest.raises(ValueError, match="is not monotone"):
        (x * (1 - x)).interval()
    for zero in ("0%", "0.0%", "0.4%"):
        with pytest.raises(ValueError, match=r"divides by what may be zero|is not monotone"):
            (1 / printed(zero) / (1 / printed("0"))).interval()
    total = exact(0)
    for _ in range(13):
        total = total + printed("1")
    with pytest.raises(ValueError, match="has 13 rounded inputs"):
        total.interval()
