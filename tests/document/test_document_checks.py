"""The results and the texts of the checks, against brute force where there is one."""

from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repro.document import Document, agrees_with, grim, percent_drop, perplexity, printed
from repro.document.order import climbs, exceeds, falls_below, mostly_exceed, peaks
from repro.judge import Outcome

SHARES = st.integers(min_value=0, max_value=10_000)


def shown(share, places, rule):
    return f"{(100 * share).quantize(Decimal(1).scaleb(-places), rounding=rule)}%"


@given(st.integers(1, 3000), st.data(), st.integers(0, 3))
def test_every_count_is_possible(examples, data, places):
    count = data.draw(st.integers(0, examples))
    rule = data.draw(st.sampled_from([ROUND_HALF_EVEN, ROUND_HALF_UP]))
    assert grim(shown(Decimal(count) / examples, places, rule), of=examples)


@given(SHARES, st.integers(1, 400))
def test_what_no_count_rounds_to_is_impossible(hundredths, examples):
    """Brute force: every count, rounded both ways, as the percentages a paper could print."""
    printable = {
        shown(Decimal(count) / examples, 2, rule)
        for count in range(examples + 1)
        for rule in (ROUND_HALF_EVEN, ROUND_HALF_UP)
    }
    share = f"{hundredths // 100}.{hundredths % 100:02}%"
    assert bool(grim(share, of=examples)) == (share in printable)


@pytest.mark.parametrize(
    ("share", "examples"), [("12%", 8), ("13%", 8), ("3.12%", 32), ("3.13%", 32), ("0.13", 8)]
)
def test_a_count_on_the_half_end_is_possible_rounded_either_way(share, examples):
    assert grim(share, of=examples)


def test_an_impossible_share_names_the_nearest_counts():
    check = grim("99.81%", of=149)
    assert check.outcome is Outcome.REFUTED
    assert "148 / 149 = 99.329% and 149 / 149 = 100.000%: impossible" in str(check)


def test_an_impossible_share_may_have_been_cut_off():
    line = "1.144% is what is left of 59 / 5153 = 1.1450% where digits are cut off"
    assert line in str(grim("1.144%", of=5153))
    assert "cut off" not in str(grim("0.076%", of=5153))


def test_a_share_printed_too_coarsely_says_nothing_and_says_so():
    assert "this says nothing" in str(grim("96%", of=1040))
    assert "this says nothing" not in str(grim("96.63%", of=1040))


@pytest.mark.parametrize(
    ("share", "of", "sentence"),
    [
        ("95.00", 300, "is no share: write it as a fraction of 1, or with a %"),
        ("95.00%", 0, "leaves nothing to count"),
    ],
)
def test_a_share_that_is_none_is_explained(share, of, sentence):
    with pytest.raises(ValueError, match=sentence):
        grim(share, of=of)


@given(
    st.decimals("0.01", "1000", places=6), st.decimals("0.01", "1000", places=6), st.integers(0, 4)
)
def test_a_true_percentage_is_never_refuted(before, after, places):
    """It agrees however the three numbers were rounded."""

    def rounded(value, places):
        return str(value.quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_EVEN))

    if printed(rounded(before, places)).low <= 0:
        return
    drop = rounded(100 * (before - after) / before, 1) + "%"
    assert agrees_with(drop, percent_drop(rounded(before, places), rounded(after, places)))


def test_what_agrees_shows_its_arithmetic():
    assert str(agrees_with("46.9%", percent_drop("34.86", "18.52"))).splitlines() == [
        "46.9% printed; (34.86 - 18.52) / 34.86 = 46.851% to 46.896%: agrees",
        "  46.9% stands for 46.85% to 46.95%",
        "  34.86 stands for 34.855 to 34.865",
        "  18.52 stands for 18.515 to 18.525",
    ]


def test_what_disagrees_says_what_should_be_there():
    check = agrees_with("94", printed("4.84M") / 51026)
    assert not check
    assert str(check).splitlines() == [
        "94 printed; 4.84M / 51,026 = 94.75 to 94.96: disagrees",
        "  94 stands for 93.5 to 94.5",
        "  4.84M stands for 4.835M to 4.845M",
        "  4.84M / 51,026 would be printed 95",
        "  94 is what is left of it where digits are cut off",
    ]


def test_numbers_that_touch_agree_and_numbers_that_do_not_are_shown_apart():
    assert agrees_with("0.5", "0.6")  # both may be 0.55
    apart = agrees_with("0.5", printed("0.6") + Fraction(1, 1000))
    assert apart.measured == "0.5 printed; 0.6 + 1/1000 = 0.551 to 0.651: disagrees"


def test_agreement_within_what_the_source_calls_the_same():
    assert not agrees_with("0.617", "0.615")
    assert agrees_with("0.617", "0.615", within="0.01")
    with pytest.raises(ValueError, match="is negative: give a distance"):
        agrees_with("0.617", "0.615", within=-1)


def test_exact_numbers_agree_only_if_they_are_equal():
    assert agrees_with(72, Fraction(72))
    assert not agrees_with(72, 73)
    assert agrees_with("40.93", perplexity("3.7119"))


@pytest.mark.parametrize(
    ("high", "low", "possible"),
    [
        ("0.565", "0.389", True),
        ("0.389", "0.565", False),
        ("70.05", "70.05", True),  # a tie as printed
        ("6.79", "6.8", True),  # may be 6.794 and 6.75
        (3, 3, False),
        (3, 2, True),
    ],
)
def test_order(high, low, possible):
    assert bool(exceeds(high, low)) is possible


def test_an_order_that_the_digits_leave_open_is_said_to_be_so():
    assert exceeds("70.05", "70.05").measured == (
        "70.05 > 70.05: agrees, as the digits leave it open"
    )
    assert exceeds("9.84", "8.93").measured == "9.84 > 8.93: agrees"
    assert falls_below("9.84", "8.93").measured == "9.84 < 8.93: disagrees"


@given(st.lists(st.integers(0, 6), min_size=2, max_size=5), st.integers(0, 4))
def test_ladders_of_exact_numbers_are_as_python_sorts_them(values, place):
    at = place % len(values)
    others = values[:at] + values[at + 1 :]
    assert bool(climbs(values)) == (sorted(set(values)) == values)
    assert bool(peaks(values, at)) == all(values[at] > other for other in others)


def test_a_ladder_is_possible_only_as_a_whole():
    assert climbs(["0.3", "0.3", "0.3"])
    assert not climbs([3, "3.0", 3])  # each neighbour alone could do
    assert "40.57 < 40.48" not in str(climbs(["40.48", "40.57"]))
    assert "40.48 > 40.57: disagrees" in str(climbs(["40.57", "40.48"]))


def test_most_is_more_than_half():
    assert mostly_exceed([2, 2, 0], [1, 1, 1])
    assert not mostly_exceed([2, 0], [1, 1])
    with pytest.raises(ValueError, match="give two or more"):
        climbs(["1"])


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
    assert document.findings == []
