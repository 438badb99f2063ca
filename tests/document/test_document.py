"""Printed numbers, their formulas and their checks, against brute force where there is one."""

from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from repro.document import (
    Document,
    agrees_with,
    exact,
    grim,
    percent_change,
    percent_drop,
    perplexity,
    printed,
    root,
)
from repro.judge import Outcome

TRUE = st.decimals(min_value="-1e6", max_value="1e6", places=7)
PLACES = st.integers(min_value=0, max_value=5)
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


def test_what_is_no_printed_number_or_has_no_ends_is_refused():
    for text in ("", "a", "1.2.3", "1,23", "25.000 steps", "0.196 ± 0.003", "1e5"):
        with pytest.raises(ValueError, match="is not one printed number: give its digits"):
            printed(text)
    with pytest.raises(TypeError, match="has lost its printed digits"):
        printed("1") + 0.5
    x, total = printed("0.5"), sum((printed("1") for _ in range(13)), exact(0))
    for formula, match in (
        (x * (1 - x), "is not monotone"),
        *((1 / printed(zero) / (1 / printed("0")), "by what may be zero|is not monotone")
          for zero in ("0%", "0.0%", "0.4%")),
        (total, "has 13 rounded inputs"),
        (root("0.0"), "has no value at an end"),
        (perplexity("9" * 30), "has no value at an end"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=match):
            formula.interval()


stated = Document()


def shown(share, places, rule):
    return f"{(100 * share).quantize(Decimal(1).scaleb(-places), rounding=rule)}%"


@given(st.integers(0, 3), st.integers(1, 400), st.integers(0, 10_000))
@example(0, 8, 1)  # 12.5 and 3.125 per cent, rounded either way
@example(2, 32, 1)
def test_a_share_is_possible_where_a_count_rounds_to_it(places, examples, hundredths):
    """Brute force: each count, rounded both ways or cut off, as a paper could print it."""
    for rule in (ROUND_HALF_EVEN, ROUND_HALF_UP, ROUND_DOWN):
        count = hundredths % (examples + 1)
        assert grim(shown(Decimal(count) / examples, places, rule), of=examples)
    printable = {
        shown(Decimal(count) / examples, 2, rule)
        for count in range(examples + 1)
        for rule in (ROUND_HALF_EVEN, ROUND_HALF_UP, ROUND_DOWN)
    }
    for step in range(12):
        share = f"{(hundredths + step) // 100}.{(hundredths + step) % 100:02}%"
        if hundredths + step <= 10_000:
            assert bool(grim(share, of=examples)) == (share in printable)


def test_a_share_tells_what_it_cannot_be():
    check = grim("99.81%", of=149)
    assert check.outcome is Outcome.REFUTED
    assert "148 / 149 = 99.329% and 149 / 149 = 100.000%: impossible" in str(check)
    cut_off = grim("1.144%", of=5153)
    assert cut_off.outcome is Outcome.REPRODUCED
    assert "printed; 59 / 5153 = 1.1450%, cut off: possible" in str(cut_off)
    assert "3 / 5153 = 0.0582% and 4 / 5153 = 0.0776%: impossible" in str(grim("0.076%", of=5153))
    assert "this says nothing" in str(grim("96%", of=1040))  # printed too coarsely
    assert "this says nothing" not in str(grim("96.63%", of=1040))
    with pytest.raises(ValueError, match="is no share: write it as a fraction of 1, or with a %"):
        grim("95.00", of=300)
    with pytest.raises(ValueError, match="leaves nothing to count"):
        grim("95.00%", of=0)


def test_what_disagrees_shows_its_arithmetic_and_what_should_be_there():
    check = agrees_with("94", printed("4.84M") / 51026)
    assert not check
    assert str(check).splitlines() == [
        "94 printed; 4.84M / 51,026 = 94.75 to 94.96: disagrees",
        "  94 stands for 93.5 to 94.5",
        "  4.84M stands for 4.835M to 4.845M",
        "  4.84M / 51,026 would be printed 95",
        "  94 is what is left of it where digits are cut off",
    ]


def test_numbers_agree_if_they_may_be_equal_or_within_what_the_source_calls_the_same():
    for one, other, within, agree in (
        ("0.5", "0.6", 0, True),  # both may be 0.55
        ("0.5", printed("0.6") + Fraction(1, 1000), 0, False),
        ("0.6", printed("0.5") - Fraction(1, 1000), 0, False),
        ("0.617", "0.615", 0, False),
        ("0.617", "0.615", "0.01", True),
        (72, Fraction(72), 0, True),  # exact numbers only if they are equal
        (72, 73, 0, False),
        ("40.93", perplexity("3.7119"), 0, True),
    ):
        assert bool(agrees_with(one, other, within=within)) is agree, (one, other)
        if isinstance(other, str):
            assert bool(agrees_with(other, one, within=within)) is agree, (other, one)
    apart = agrees_with("0.5", printed("0.6") + Fraction(1, 1000))
    assert apart.measured == "0.5 printed; 0.6 + 1/1000 = 0.551 to 0.651: disagrees"
    with pytest.raises(ValueError, match="is negative: give a distance"):
        agrees_with("0.617", "0.615", within=-1)


def test_an_order_is_possible_or_not_or_open_as_far_as_the_digits_say():
    for high, low, verdict in (
        ("0.565", "0.389", "agrees"),
        ("0.389", "0.565", "disagrees"),
        ("70.05", "70.05", "agrees, as the digits leave it open"),
        ("6.79", "6.8", "agrees, as the digits leave it open"),  # may be 6.794 and 6.75
        (3, 3, "disagrees"),
        (3, 2, "agrees"),
    ):
        assert (stated(high) > low).measured == f"{high} > {low}: {verdict}"
        assert bool(stated(high) > low) is verdict.startswith("agrees")
        assert (stated(low) < high).measured == f"{low} < {high}: {verdict}"
        assert stated([low, high]).climbs().measured == f"{low} < {high}: {verdict}"


@given(st.lists(st.integers(0, 6), min_size=2, max_size=5), st.integers(0, 4))
def test_ladders_of_exact_numbers_are_as_python_sorts_them(values, place):
    at = place % len(values)
    others = values[:at] + values[at + 1 :]
    assert bool(stated(values).climbs()) == (sorted(set(values)) == values)
    for index in (at, at - len(values)):
        assert bool(stated(values).peaks_at(index)) == all(values[at] > other for other in others)


def test_a_ladder_is_possible_only_as_a_whole():
    assert stated(["0.3", "0.3", "0.3"]).climbs()
    assert not stated([3, "3.0", 3]).climbs()  # each neighbour alone could do
    assert "40.57 < 40.48" not in str(stated(["40.48", "40.57"]).climbs())
    assert "40.48 > 40.57: disagrees" in str(stated(["40.57", "40.48"]).climbs())
    with pytest.raises(ValueError, match="give two or more"):
        stated(["1"]).climbs()
    assert stated([2, 2, 0]).mostly_exceeds([1, 1, 1])
    assert not stated([2, 0]).mostly_exceeds([1, 1])  # most is more than half


def test_a_document_keeps_what_it_finds():
    document = Document()
    assert document("46.9%").agrees_with(percent_drop("34.86", "18.52"))
    assert document("96.63%").is_share_of(1040)
    assert document("9.84") > "8.93"
    assert document("8.93") < "9.84"
    assert document(["0.3", "0.4"]).climbs()
    assert document(["0.4", "0.3"]).falls()
    assert not document(["0.4", "0.3"]).peaks_at(1)
    assert document(["0.4", "0.3"]).mostly_exceeds(["0.3", "0.2"])
    assert [bool(check) for check in document.findings] == [True] * 6 + [False, True]


def test_misuse_is_explained():
    document = Document()
    with pytest.raises(TypeError, match=r"claim document\(a\)\.agrees_with"):
        document("0.617") == "0.617"  # noqa: B015
    with pytest.raises(TypeError, match="give the share as text"):
        document(printed("96.63%")).is_share_of(1040)
    with pytest.raises(TypeError, match="has lost its printed digits"):
        document(0.617) > "0.3"  # noqa: B015
    assert document.findings == ()
