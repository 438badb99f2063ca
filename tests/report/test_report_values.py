"""The arms' own values on the page, and the comparison that decides."""

import statistics
from dataclasses import replace

from repro.judge import Design, Judge
from repro.report.page import amount_of, arm_values, compared
from tests.report.records import arm, judged, measured


def claim(means, finding):
    judge = Judge(Design(looks=(5,)))
    rungs = [measured(judge, f"BP k={k}", mean) for k, mean in means.items()]
    return judged("004/it", finding(*rungs), arms=[arm(k) for k in means])


def values_of(claim):
    return arm_values(claim.record, claim.arms)


def test_every_arm_has_its_mean_its_range_and_its_metric():
    one = claim({2: 0.4, 3: 0.6}, lambda a, b: b > a)
    low, high = values_of(one)
    assert (low.label, high.label, low.unit) == ("BP k=2", "BP k=3", "accuracy")
    assert low.mean == statistics.fmean(one.record.findings[0].samples[1].values)
    assert low.least < low.mean < low.most
    only = claim({2: 0.4}, lambda a: a > 0.1)  # a number is no arm
    assert [value.label for value in values_of(only)] == ["BP k=2"]
    one.record.findings[0].samples[0].values[:] = [None] * 5
    assert len(values_of(one)) == 1


def test_values_come_in_the_order_of_the_arms_and_not_of_the_comparison():
    turned = claim({2: 0.4, 12: 0.6}, lambda a, b: b > a)
    assert turned.record.findings[0].samples[0].label == "BP k=12"
    assert [value.label for value in values_of(turned)] == ["BP k=2", "BP k=12"]
    one_begins_another = claim({1: 0.4, 2: 0.5, 12: 0.6}, lambda a, b, c: c > a)
    assert [value.label for value in values_of(one_begins_another)] == ["BP k=1", "BP k=12"]
    three = claim({1: 0.4, 2: 0.5, 12: 0.6}, lambda a, b, c: (c > b) & (b > a))
    assert [value.label for value in values_of(three)] == ["BP k=1", "BP k=2", "BP k=12"]


def test_the_table_shows_the_comparison_that_decides():
    """Of several findings it is the last with the claim's own outcome."""
    one = claim({2: 0.4, 3: 0.6}, lambda a, b: a > b)
    other = claim({2: 0.4, 3: 0.6}, lambda a, b: b > a)
    findings = [*one.record.findings, *other.record.findings]
    both = replace(one.record, findings=findings)
    assert both.verdict == "refuted"
    assert compared(both).label == compared(one.record).label == "BP k=2 - BP k=3"


def test_an_effect_is_said_as_in_a_verdict():
    one = claim({2: 0.4, 3: 0.6}, lambda a, b: b > a).record
    effect = compared(one)
    assert one.measured == f"{effect.label} = {amount_of(effect)}, 5 seeds"
    scaled = replace(effect, plain=-0.1, on_scale="log", estimate=-1234.5, low=None)
    assert amount_of(scaled) == "−0.1, on log −1234"
