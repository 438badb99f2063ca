"""The plots of claims: a dot for each seed, an interval where there is one, a link for each row."""

import re
from dataclasses import replace

from repro.judge import Design, Judge
from repro.report.plots import forest, seeds
from tests.report.records import judged, measured


def finding_of(results, claim):
    """The one finding of a claim."""
    [finding] = next(record for record in results.claims if record.claim == claim).findings
    return finding


def paths(plot, kind):
    """The `d` of every path of a kind."""
    return re.findall(rf'<path class="{kind}" d="([^"]+)"', plot.body)


def test_every_seed_is_a_dot_and_every_needed_comparison_a_row(results):
    finding = finding_of(results, "000/order")
    [plot] = seeds([finding], name="order")
    needed = [effect for effect in finding.effects if effect.needed]
    assert [path.count("h0") for path in paths(plot, "seed")] == [e.seeds for e in needed]
    assert len(paths(plot, "whisker")) == len(paths(plot, "estimate")) == len(needed) == 3
    assert all(effect.label in plot.body for effect in needed)


def test_two_bounds_of_one_comparison_share_a_row(results):
    [plot] = seeds([finding_of(results, "004/value")], name="value")
    assert len(paths(plot, "whisker")) == 1
    assert [path.count("M") for path in paths(plot, "claimed")] == [2]


def test_a_side_that_diverged_has_neither_dot_nor_interval(results):
    finding = finding_of(results, "004/gains")
    [effect] = finding.effects
    per_seed = [None, *effect.per_seed[1:]]
    effect = replace(effect, per_seed=per_seed, low=None, high=None, estimate=None)
    [plot] = seeds([replace(finding, effects=[effect])], name="diverged")
    assert [path.count("h0") for path in paths(plot, "seed")] == [effect.seeds - 1]
    assert not paths(plot, "whisker") + paths(plot, "estimate")


def test_a_forest_links_every_measured_claim_in_the_colour_of_its_verdict(results):
    anchors = [record.claim for record in results.claims]
    plots = forest(results.claims, name="all", anchors=anchors)
    body = "".join(plot.body for plot in plots)
    measured = {record.claim for record in results.claims if record.arms}
    assert set(re.findall(r'href="#([^"]+)"', body)) == measured
    [(verdict, _)] = re.findall(r"falls</text></a><g style=\"--key:var\(--(\w+)\)\">(<path)", body)
    assert verdict == "refuted"
    assert len({plot.name for plot in plots}) == len(plots) == 4


def test_a_documented_number_is_a_diamond_and_a_bound_a_stroke(results):
    [value] = [record for record in results.claims if record.claim == "004/value"]
    [gains] = [record for record in results.claims if record.claim == "004/gains"]
    drawn = [forest([each], name="one", anchors=["a"])[0] for each in (value, gains)]
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
    plots = forest(records, name="runs", anchors=["a", "b"])
    assert {plot.described.partition(": ")[2] for plot in plots} == {
        effects[0].unit,
        f"difference in {effects[0].unit}",
    }
    assert all(paths(plot, "claimed")[0].endswith("z") for plot in plots)
    [drawn] = seeds(alone.record.findings, name="alone")
    assert [path.count("h0") for path in paths(drawn, "seed")] == [5]
