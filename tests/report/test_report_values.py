"""The arms' own values: what each arm gave, in the unit that the source writes."""

from dataclasses import replace

from repro.judge import Design, Judge
from repro.report.values import arm_values, is_in_percent, measurement_of
from tests.report.records import arm, judged, measured


def claim(means, finding, documented):
    judge = Judge(Design(looks=(5,)))
    rungs = [measured(judge, f"BP k={k}", mean) for k, mean in means.items()]
    return judged("004/it", finding(*rungs), arms=[arm(k) for k in means], documented=documented)


def values_of(claim):
    return arm_values(claim.record, claim.arms)


def test_every_arm_has_its_mean_its_range_and_its_metric():
    one = claim({2: 0.4, 3: 0.6}, lambda a, b: b > a, "0.4 and 0.6")
    low, high = values_of(one)
    assert (low.label, high.label, low.unit) == ("BP k=2", "BP k=3", "accuracy")
    assert (round(low.mean, 1), round(high.mean, 1)) == (0.4, 0.6)
    assert low.least < low.mean < low.most
    only = claim({2: 0.4}, lambda a: a > 0.1, "0.389 against 0.10")  # a number is no arm
    assert [value.label for value in values_of(only)] == ["BP k=2"]
    one.record.findings[0].samples[0].values[:] = [None] * 5
    assert len(values_of(one)) == 1


def test_values_come_in_the_order_of_the_arms_and_not_of_the_comparison():
    turned = claim({2: 0.4, 12: 0.6}, lambda a, b: b > a, "")
    assert turned.record.findings[0].samples[0].label == "BP k=12"
    assert [value.label for value in values_of(turned)] == ["BP k=2", "BP k=12"]
    one_begins_another = claim({1: 0.4, 2: 0.5, 12: 0.6}, lambda a, b, c: c > a, "")
    assert [value.label for value in values_of(one_begins_another)] == ["BP k=1", "BP k=12"]
    three = claim({1: 0.4, 2: 0.5, 12: 0.6}, lambda a, b, c: (c > b) & (b > a), "")
    assert [value.label for value in values_of(three)] == ["BP k=1", "BP k=2", "BP k=12"]


def test_shares_are_in_percent_where_the_source_writes_percent():
    percent = claim({2: 0.4, 3: 0.6}, lambda a, b: b > a, "40.1 and 60.3")
    low, high = values_of(percent)
    assert (round(low.mean, -1), round(high.mean, -1), low.in_percent) == (40, 60, True)
    compared = measurement_of(percent.record)
    assert round(compared.estimate, -1) == 20
    low, high = compared.interval
    assert 10 < low < compared.estimate < high < 30
    assert compared.in_percent
    share = claim({2: 0.4, 3: 0.6}, lambda a, b: b > a, "0.401 and 0.603")
    assert not measurement_of(share.record).in_percent
    assert round(measurement_of(share.record).estimate, 1) == 0.2


def test_means_over_examples_are_shares_where_they_lie_between_0_and_1():
    percent = claim({2: 0.4, 3: 0.6}, lambda a, b: b > a, "40.1 and 60.3")
    [finding] = percent.record.findings
    samples = [replace(sample, examples=50) for sample in finding.samples]
    means = replace(finding, scale="identity", samples=samples)
    assert is_in_percent(percent.record, means)
    assert not is_in_percent(percent.record, replace(finding, scale="identity"))
    losses = [replace(samples[0], values=[1.2] * 5), samples[1]]
    assert not is_in_percent(percent.record, replace(means, samples=losses))


def test_the_table_shows_the_comparison_that_decides():
    """Of several findings it is the last with the claim's own outcome."""
    one = claim({2: 0.4, 3: 0.6}, lambda a, b: a > b, "")
    other = claim({2: 0.4, 3: 0.6}, lambda a, b: b > a, "")
    findings = [*one.record.findings, *other.record.findings]
    both = replace(one.record, findings=findings)
    assert both.verdict == "refuted"
    assert measurement_of(both).label == measurement_of(one.record).label == "BP k=2 - BP k=3"
