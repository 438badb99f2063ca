"""Does a language model gain from layers that share parameters?  Source 002, BLiMP and LAMBADA.

The source names families and strategies and no sizes, so the families are ours: as many parameters
in the layers as the baseline has (`repro/studies/parameter_sharing/arms.py`). Its numbers are of
one run each; here differences are held against what another seed changes, and on BLiMP against
what other paradigms would. At `ci` LAMBADA is judged by perplexity, since so small a model tells
no last word. `documents/test_002_parameter_sharing.py` holds the text against the tables.
"""

from itertools import combinations

import pytest

from repro import claim
from repro.studies.parameter_sharing.arms import BASELINE, FAMILIES, untrained
from repro.studies.parameter_sharing.assignment import STRATEGIES
from repro.studies.parameter_sharing.rows import COLUMNS, MODELS, ROWS, SHORT_NAMES, at, by_strategy

BLIMP = {  # decoder and encoder at 10k steps, then at 25k where they were trained so long
    "baseline": (71.02, 48.44, 71.09, 47.58),
    "deep seq": (70.00, 49.73),
    "deep cycle": (67.56, 48.03),
    "deep rev": (69.31, 50.38, 70.6, 50.06),
    "very deep seq": (69.67, 48.49),
    "very deep cycle": (65.60, 49.13),
    "very deep rev": (69.84, 51.04, 70.15, 51.43),
    "wide seq": (70.05, 43.98),
    "wide cycle": (70.05, 44.66),
    "wide rev": (70.05, 43.98, 69.24, 45.35),
    "very wide seq": (65.32, 52.78),
    "very wide cycle": (67.58, 52.78),
    "very wide rev": (66.89, 52.78, 70.06, 50.24),
    "wide deep seq": (68.40, 51.90),
    "wide deep cycle": (68.71, 51.90),
    "wide deep rev": (68.40, 51.71, 70.72, 49.97),
}
LAMBADA = {  # per cent
    "baseline": (8.3, 0.0, 8.93, 1.998),
    "deep seq": (7.1, 0.078),
    "deep cycle": (7.4, 0.0),
    "deep rev": (7.22, 0.0, 7.65, 2.562),
    "very deep seq": (6.8, 0.076),
    "very deep cycle": (5.96, 0.058),
    "very deep rev": (6.66, 0.19, 7.14, 1.087),
    "wide seq": (6.79, 0.194),
    "wide cycle": (6.8, 0.0, 4.09, 0.097),
    "wide rev": (6.79, 0.194, 9.84, 0.78),
    "very wide seq": (0.37, 0.0),
    "very wide cycle": (0.97, 0.0),
    "very wide rev": (0.89, 0.0, 8.95, 0.0),
    "wide deep seq": (6.58, 0.19),
    "wide deep cycle": (6.23, 0.019),
    "wide deep rev": (6.58, 0.175, 9.33, 1.144),
}
PERPLEXITY = {  # in brackets behind them
    "baseline": (22, 1374, None, 823),
    "deep seq": (23, 1094),
    "deep cycle": (23, 1428),
    "deep rev": (23, 1418, 22, 551),
    "very deep seq": (24, 1712),
    "very deep cycle": (27, 2043),
    "very deep rev": (24, 1384, 22, 1069),
    "wide seq": (25, 1623),
    "wide cycle": (None, 1923, 28, 1248),
    "wide rev": (25, 1709, 19, 973),
    "very wide seq": (54, 2175),
    "very wide cycle": (40, 2175),
    "very wide rev": (38, 2175, 20, 3544),
    "wide deep seq": (24, 1232),
    "wide deep cycle": (25, 1232),
    "wide deep rev": (24, 1244, 20, 983),
}
NOISE = 0.007  # wide encoders are one model, and have 43.98 and 44.66
A_LOT = 0.02

blimp = "002, BLiMP"
lambada = "002, LAMBADA"
ours = "002, not in its text: asked of its result"

each_model = pytest.mark.parametrize("name", MODELS)
each_family = pytest.mark.parametrize("family", FAMILIES)
each_long_row = pytest.mark.parametrize("name", ["baseline", *FAMILIES])


@claim("The tables", source="002, Results", documented="see each", only_at="paper")
@pytest.mark.parametrize(
    ("column", "name"),
    [(COLUMNS[n], name) for name, row in LAMBADA.items() for n in range(len(row))],
)
def test_row(trials, column, name):
    place, arm_trials = COLUMNS.index(column), trials(at(column, name))
    if place < len(BLIMP[name]):
        assert arm_trials.blimp.matches(BLIMP[name][place] / 100, tolerance=NOISE)
    assert arm_trials.lambada_accuracy.matches(LAMBADA[name][place] / 100, tolerance=NOISE)
    if (perplexity := PERPLEXITY[name][place]) is not None:
        assert arm_trials.lambada_perplexity.matches(perplexity, tolerance=perplexity / 10)


@claim(
    "Of three strategies those rows are equal, and those alone, that are one model",
    source="002, BLiMP, its table",
    documented="70.05 three times; encoders: 52.78 three times",
)
@pytest.mark.parametrize("kind", ["decoder", "encoder"])
@each_family
def test_equal_rows_are_one_model(document, family, kind):
    pairs = list(combinations([f"{family} {short}" for short in SHORT_NAMES.values()], 2))
    column = ["decoder", "encoder"].index(kind)
    as_they_should = [
        (BLIMP[one][column] == BLIMP[other][column]) == (ROWS[one].order == ROWS[other].order)
        for one, other in pairs
    ]
    assert document(len(pairs)).agrees_with(sum(as_they_should))


@claim("Sharing divides the parameters in the layers by layers over sets", source=ours)
@pytest.mark.parametrize(("family", "times"), [("deep", 2), ("very deep", 3), ("very wide", 3)])
def test_sharing_divides_parameters(trials, family, times):
    shared = untrained(FAMILIES[family])
    without, shared = trials(shared.but(sets=shared.layers), shared)
    assert without.parameters_in_layers.is_times(
        times, shared.parameters_in_layers, within_ratio=1.0001
    )


@claim("It leaves what is computed as it was", source=ours)
@pytest.mark.parametrize("family", ["deep", "very deep", "very wide"])
def test_sharing_leaves_the_computation(trials, family):
    shared = untrained(FAMILIES[family])
    without, shared = trials(shared.but(sets=shared.layers), shared)
    assert without.multiplications.is_times(1, shared.multiplications, within_ratio=1.0001)


@claim(
    "On the decoder we did not get any improvements: the baseline is best at 10k",
    source=f"{blimp}, Decoder",
    documented="71.02 against at most 70.05",
)
@each_model
def test_baseline_is_best_at_10k(trials, name):
    baseline, shared = trials(BASELINE, ROWS[name])
    assert baseline.blimp > shared.blimp


@claim("And at 25k", source=f"{blimp}, Decoder", documented="71.09 against at most 70.72")
@each_family
def test_baseline_is_best_at_25k(trials, family):
    baseline, shared = trials(at("decoder 25k", "baseline"), at("decoder 25k", family))
    assert baseline.blimp > shared.blimp


@claim(
    "More steps make the difference between sharing and the baseline smaller",
    source=f"{blimp}, Decoder",
    documented="in four of five rows",
)
@each_family
def test_more_steps_shrink_the_gap(trials, family):
    columns = ("decoder 10k", "decoder 25k")
    arms = [at(column, name) for column in columns for name in ("baseline", family)]
    early, early_shared, late, late_shared = (trial.blimp for trial in trials(*arms))
    assert late - late_shared < early - early_shared


@claim(
    "Adding sharing did not seem to affect the result a lot: by 2 points at most",
    source=f"{blimp}, Decoder",
    documented="by 0.97 to 5.70 points",
)
@each_model
def test_sharing_does_not_affect_the_result_a_lot(trials, name):
    shared, baseline = trials(ROWS[name], BASELINE)
    assert shared.blimp.is_within(A_LOT, of=baseline.blimp)


@claim("This strategy is the worst", source=f"{blimp}, its table", documented="see each")
@pytest.mark.parametrize(
    ("family", "worst"),
    [("deep", "cycle"), ("very deep", "cycle"), ("very wide", "sequence")],
)
def test_worst_strategy(trials, family, worst):
    assert trials(by_strategy(family)).blimp.bottoms_at(list(STRATEGIES).index(worst))


@claim("This strategy is the best", source=f"{blimp}, its table", documented="see each")
@pytest.mark.parametrize(
    ("family", "best"),
    [("deep", "sequence"), ("very deep", "cycle (rev)"), ("very wide", "cycle")],
)
def test_best_strategy(trials, family, best):
    assert trials(by_strategy(family)).blimp.peaks_at(list(STRATEGIES).index(best))


@claim("Cycle (rev) is better than cycle", source=f"{blimp}, its table", documented="+1.75, +4.24")
@pytest.mark.parametrize("family", ["deep", "very deep"])
def test_reversing_helps(trials, family):
    reversed_, cycle = trials(ROWS[f"{family} rev"], ROWS[f"{family} cycle"])
    assert reversed_.blimp > cycle.blimp


@claim("It is worse than cycle", source=f"{blimp}, its table", documented="-0.69, -0.31")
@pytest.mark.parametrize("family", ["very wide", "wide deep"])
def test_reversing_harms(trials, family):
    reversed_, cycle = trials(ROWS[f"{family} rev"], ROWS[f"{family} cycle"])
    assert reversed_.blimp < cycle.blimp


@claim("The very wide are the worst at 10k", source=f"{blimp}, its table", documented="66.89")
@pytest.mark.parametrize("family", ["deep", "very deep", "wide", "wide deep"])
def test_very_wide_is_worst(trials, family):
    very_wide, other = trials(at("decoder 10k", "very wide"), at("decoder 10k", family))
    assert very_wide.blimp < other.blimp


@claim(
    "With steps it rises; the wide one falls",
    source=f"{blimp}, its table",
    documented="+0.07 for the baseline to +3.17; wide: 70.05 → 69.24",
)
@each_long_row
def test_blimp_over_steps(trials, name):
    late, early = trials(at("decoder 25k", name), at("decoder 10k", name))
    assert late.blimp < early.blimp if name == "wide" else late.blimp > early.blimp


@claim("The very wide gain most from steps", source=f"{blimp}, its table", documented="+3.17")
@pytest.mark.parametrize("name", ["baseline", "deep", "very deep", "wide", "wide deep"])
def test_very_wide_gains_most(trials, name):
    columns = ("decoder 25k", "decoder 10k")
    arms = [at(column, row) for row in ("very wide", name) for column in columns]
    late, early, other_late, other_early = (trial.blimp for trial in trials(*arms))
    assert late - early > other_late - other_early


@claim("The baseline is best at 10k", source=f"{lambada}, Decoder", documented="22 against 23-54")
@each_model
def test_baseline_has_the_best_perplexity(trials, name):
    baseline, shared = trials(BASELINE, ROWS[name])
    assert baseline.lambada_perplexity < shared.lambada_perplexity


@claim(
    "In accuracy too",
    source=f"{lambada}, Decoder",
    documented="8.3 % against at most 7.4 %",
    only_at="paper",
)
@each_model
def test_baseline_has_the_best_accuracy(trials, name):
    baseline, shared = trials(BASELINE, ROWS[name])
    assert baseline.lambada_accuracy > shared.lambada_accuracy


@claim(
    "Generally quite similar results at 10k: perplexities within 10 %",
    source=f"{lambada}, Decoder",
    documented="22, 23-27; the very wide: 38-54",
)
@each_model
def test_perplexities_are_similar(trials, name):
    shared, baseline = trials(ROWS[name], BASELINE)
    assert shared.lambada_perplexity.is_times(1, baseline.lambada_perplexity, within_ratio=1.1)


@claim(
    "The very wide collapse at 10k: half as much perplexity again as the baseline's",
    source=f"{lambada}, its table",
    documented="54, 40, 38 against 22",
)
@pytest.mark.parametrize("short", SHORT_NAMES.values())
def test_very_wide_collapse(trials, short):
    very_wide, baseline = trials(ROWS[f"very wide {short}"], BASELINE)
    assert very_wide.lambada_perplexity.exceeds(baseline.lambada_perplexity, by_ratio=1.5)


@claim(
    "And recover: at 25k they pass what the baseline had at 10k",
    source=f"{lambada}, its table",
    documented="38 → 20; the baseline 22",
)
def test_very_wide_recover(trials):
    very_wide, baseline = trials(at("decoder 25k", "very wide"), BASELINE)
    assert very_wide.lambada_perplexity < baseline.lambada_perplexity


@claim("They gain most from steps", source=f"{lambada}, its table", documented="38 → 20")
@pytest.mark.parametrize("name", ["baseline", "deep", "very deep", "wide", "wide deep"])
def test_very_wide_gain_most_perplexity(trials, name):
    columns = ("decoder 10k", "decoder 25k")
    arms = [at(column, row) for row in ("very wide", name) for column in columns]
    early, late, other_early, other_late = (f.lambada_perplexity for f in trials(*arms))
    assert early - late > other_early - other_late


@claim(
    "The wide one is the best overall: it overtakes the baseline at 25k",
    source=f"{lambada}, Decoder",
    documented="19, the lowest; the baseline's is not printed",
)
@pytest.mark.parametrize("name", ["baseline", "deep", "very deep", "very wide", "wide deep"])
def test_wide_is_best_at_25k(trials, name):
    wide, other = trials(at("decoder 25k", "wide"), at("decoder 25k", name))
    assert wide.lambada_perplexity < other.lambada_perplexity


@claim(
    "In accuracy too",
    source=f"{lambada}, Decoder",
    documented="9.84 % against 8.93 % of the baseline",
    only_at="paper",
)
@pytest.mark.parametrize("name", ["baseline", "deep", "very deep", "very wide", "wide deep"])
def test_wide_is_the_most_accurate_at_25k(trials, name):
    wide, other = trials(at("decoder 25k", "wide"), at("decoder 25k", name))
    assert wide.lambada_accuracy > other.lambada_accuracy


@claim(
    "Most runs at 25k are better than at 10k",
    source=f"{lambada}, Decoder",
    documented="25 → 19, 38 → 20, 24 → 20; 23 → 22, 24 → 22",
)
@each_long_row
def test_steps_help(trials, name):
    late, early = trials(at("decoder 25k", name), at("decoder 10k", name))
    assert late.lambada_perplexity < early.lambada_perplexity


@claim(
    "The wide one by cycle, which is the same model, is worse at 25k than at 10k",
    source=f"{lambada}, its table",
    documented="6.8 → 4.09 (28), in a row of its own; 6.79 (25) → 9.84 (19) in the next",
)
def test_wide_by_cycle_is_worse_with_steps(trials):
    late, early = trials(at("decoder 25k", "wide cycle"), at("decoder 10k", "wide cycle"))
    assert late.lambada_perplexity > early.lambada_perplexity


@claim(
    "The decoder seems to scale better with sharing: it gains more from steps than the baseline",
    source=f"{lambada}, Decoder",
    documented="+0.43, +0.48, +3.05, +8.06, +2.75 against +0.63 points; judged by perplexity",
)
@each_family
def test_sharing_scales_better(trials, family):
    columns = ("decoder 10k", "decoder 25k")
    arms = [at(column, name) for name in (family, "baseline") for column in columns]
    early, late, baseline_early, baseline_late = (f.lambada_perplexity for f in trials(*arms))
    assert early - late > baseline_early - baseline_late


@claim(
    "The decoder improves at LAMBADA by some sharing, at 25k",
    source="002, Conclusion",
    documented="9.84, 9.33 and 8.95 % against 8.93 %",
    only_at="paper",
)
@pytest.mark.parametrize("family", ["wide", "wide deep", "very wide"])
def test_sharing_improves_lambada(trials, family):
    shared, baseline = trials(at("decoder 25k", family), at("decoder 25k", "baseline"))
    assert shared.lambada_accuracy > baseline.lambada_accuracy


@claim(
    "These are the accuracies at 10k that the text has, and the table has not",
    source=f"{lambada}, Decoder",
    documented="baseline at best 8.95, around 7.9-8.4; shared_6_cycle_reverse 9.06",
    only_at="paper",
)
@pytest.mark.parametrize(
    ("name", "share", "tolerance"),
    [
        ("baseline", 0.0815, 0.0025),
        ("baseline", 0.0895, 0.0025),
        ("deep", 0.0906, 0.0025),
        ("very deep", 0.0906, 0.0025),
    ],
)
def test_accuracies_of_the_text(trials, name, share, tolerance):
    trial = trials(at("decoder 10k", name))
    assert trial.lambada_accuracy.matches(share, tolerance=tolerance)


@claim(
    "The more accurate, the lower the perplexity",
    source=f"{lambada}, its table",
    documented="9.84 (19), 9.33 (20), 8.95 (20), 7.65 (22), 7.14 (22)",
    only_at="paper",
)
def test_accuracy_and_perplexity_rank_inversely(trials):
    ladder = ("wide", "wide deep", "very wide", "deep", "very deep")
    families = trials([at("decoder 25k", family) for family in ladder])
    assert families.lambada_accuracy.is_ordered()
    assert families.lambada_perplexity.climbs()
