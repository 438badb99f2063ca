"""Does a language model gain from layers that share parameters?  Source 002, LAMBADA.

The source names families, strategies and six sets, and no sizes: nothing that is trained settles
its scores, so no cell of its tables is held against ours. What it says of one model against another
is judged at sizes, text and steps of ours (`repro/studies/parameter_sharing/arms.py`), with as many
layers as explain which of its rows are equal. On BLiMP no strategies are compared, since our
baseline has 0.507 where chance is 0.5.

Perplexities are of LAMBADA's whole last words, and compared as ratios: the difference in log
perplexity a word. What the source's perplexities are of, it does not say. A collapsed encoder says
the same whatever it reads; `told_by_the_input` is how much answers depend on what is read, in nats.
`documents/test_002_parameter_sharing.py` holds the text against the tables.
"""

from itertools import combinations

import pytest

from repro import claim
from repro.studies.parameter_sharing.arms import (
    BASELINE,
    FAMILIES,
    MODELS,
    ROWS,
    SHORT_NAMES,
    at,
)

BLIMP = {  # decoder and encoder at 10k steps
    "deep seq": (70.00, 49.73),
    "deep cycle": (67.56, 48.03),
    "deep rev": (69.31, 50.38),
    "very deep seq": (69.67, 48.49),
    "very deep cycle": (65.60, 49.13),
    "very deep rev": (69.84, 51.04),
    "wide seq": (70.05, 43.98),
    "wide cycle": (70.05, 44.66),
    "wide rev": (70.05, 43.98),
    "very wide seq": (65.32, 52.78),
    "very wide cycle": (67.58, 52.78),
    "very wide rev": (66.89, 52.78),
    "wide deep seq": (68.40, 51.90),
    "wide deep cycle": (68.71, 51.90),
    "wide deep rev": (68.40, 51.71),
}
PERPLEXITY = {  # the decoder's on LAMBADA, in brackets: at 10k steps, and at 25k
    "baseline": (22, None),
    "deep seq": (23,),
    "deep cycle": (23,),
    "deep rev": (23, 22),
    "very deep seq": (24,),
    "very deep cycle": (27,),
    "very deep rev": (24, 22),
    "wide seq": (25,),
    "wide cycle": (None, 28),
    "wide rev": (25, 19),
    "very wide seq": (54,),
    "very wide cycle": (40,),
    "very wide rev": (38, 20),
    "wide deep seq": (24,),
    "wide deep cycle": (25,),
    "wide deep rev": (24, 20),
}
SHORT = 0  # the column of 10k steps

COLLAPSED = 1.35  # half of the least documented excess, 38 / 22 = 1.7
ANY = 1.0  # any ratio above it: for perplexities, whose differences mean nothing
NO_ANSWER = 0.01  # nats: a sixth of what the baseline decoder has after 100 steps of ci

lambada = "002, LAMBADA"
ours = "002, not in its text: asked of its result"


def row_of(name):
    """The name of a row in the tables; a family's is by cycle (rev), which was trained long."""
    return f"{name} rev" if name in FAMILIES else name


def against_baseline(names):
    """Judge each, with the perplexities that the table has for it and for the baseline at 10k."""
    return pytest.mark.parametrize(
        ("name", "documented"),
        [(n, f"{PERPLEXITY[n][SHORT]} and {PERPLEXITY['baseline'][SHORT]}") for n in names],
        ids=list(names),
    )


def over_steps(names):
    """Judge each, with the perplexities that the table has for it at 10k and at 25k steps."""
    return pytest.mark.parametrize(
        ("name", "documented"),
        [(n, " → ".join(str(x or "not printed") for x in PERPLEXITY[row_of(n)])) for n in names],
        ids=list(names),
    )


@claim(
    "Of three strategies those rows are equal, and those alone, that are one model",
    source=ours,
    documented="{documented}",
    kind="question",
)
@pytest.mark.parametrize(
    ("family", "kind", "documented"),
    [
        (family, kind, ", ".join(str(BLIMP[f"{family} {s}"][n]) for s in SHORT_NAMES.values()))
        for family in FAMILIES
        for n, kind in enumerate(("decoder", "encoder"))
    ],
    ids=[f"{family}-{kind}" for family in FAMILIES for kind in ("decoder", "encoder")],
)
def test_equal_rows_are_one_model(document, family, kind, documented):
    pairs = list(combinations([f"{family} {short}" for short in SHORT_NAMES.values()], 2))
    column = ["decoder", "encoder"].index(kind)
    as_they_should = [
        (BLIMP[one][column] == BLIMP[other][column]) == (ROWS[one].order == ROWS[other].order)
        for one, other in pairs
    ]
    assert document(len(pairs)).agrees_with(sum(as_they_should))


OTHERS = ["baseline", "deep", "very deep", "wide", "wide deep"]


@claim("The baseline is best at 10k", source=f"{lambada}, its table", documented="{documented}")
@against_baseline(MODELS)
def test_baseline_has_the_best_perplexity(trials, name, documented):
    baseline, shared = trials(BASELINE, ROWS[name])
    assert baseline.lambada_perplexity.falls_below(shared.lambada_perplexity, by_ratio=ANY)


@claim(
    "The very wide collapse at 10k: a third as much perplexity again as the baseline's",
    source=f"{lambada}, its table",
    documented="{documented}",
)
@against_baseline([f"very wide {short}" for short in SHORT_NAMES.values()])
def test_very_wide_collapse(trials, name, documented):
    very_wide, baseline = trials(ROWS[name], BASELINE)
    assert very_wide.lambada_perplexity.exceeds(baseline.lambada_perplexity, by_ratio=COLLAPSED)


@claim(
    "The very wide recover: at 25k they pass what the baseline had at 10k",
    source=f"{lambada}, its table",
    documented="38 → 20; the baseline 22",
)
def test_very_wide_recover(trials):
    very_wide, baseline = trials(at("decoder 25k", "very wide"), BASELINE)
    assert very_wide.lambada_perplexity.falls_below(baseline.lambada_perplexity, by_ratio=ANY)


@claim(
    "The very wide gain most from steps",
    source=f"{lambada}, its table",
    documented="38 → 20; this one: {documented}",
)
@over_steps(OTHERS)
def test_very_wide_gain_most_perplexity(trials, name, documented):
    columns = ("decoder 10k", "decoder 25k")
    arms = [at(column, row) for row in ("very wide", name) for column in columns]
    early, late, other_early, other_late = (f.lambada_perplexity for f in trials(*arms))
    assert early - late > other_early - other_late


@claim(
    "Most runs at 25k are better than at 10k",
    source=f"{lambada}, Decoder",
    documented="{documented}",
)
@over_steps(["baseline", *FAMILIES])
def test_steps_help(trials, name, documented):
    late, early = trials(at("decoder 25k", name), at("decoder 10k", name))
    assert late.lambada_perplexity.falls_below(early.lambada_perplexity, by_ratio=ANY)


@claim(
    "The wide one by cycle, which is the same model, is worse at 25k than at 10k",
    source=f"{lambada}, its table",
    documented="6.8 → 4.09 (28), in a row of its own; 6.79 (25) → 9.84 (19) in the next",
)
def test_wide_by_cycle_is_worse_with_steps(trials):
    late, early = trials(at("decoder 25k", "wide cycle"), at("decoder 10k", "wide cycle"))
    assert late.lambada_perplexity.exceeds(early.lambada_perplexity, by_ratio=ANY)


@claim(
    "The decoder seems to scale better with sharing: it gains more from steps than the baseline",
    source=f"{lambada}, Decoder",
    documented="{documented}; the baseline: 22 → not printed",
)
@over_steps(FAMILIES)
def test_sharing_scales_better(trials, name, documented):
    columns = ("decoder 10k", "decoder 25k")
    arms = [at(column, row) for row in (name, "baseline") for column in columns]
    early, late, baseline_early, baseline_late = (f.lambada_perplexity for f in trials(*arms))
    assert early - late > baseline_early - baseline_late


@claim(
    "Very wide encoders answer the same whatever they read",
    source=ours,
    documented="52.78 and 0.0 (2175) by every strategy, while the decoders differ",
    kind="question",
)
@pytest.mark.parametrize("short", SHORT_NAMES.values())
def test_very_wide_encoders_collapse(trials, short):
    assert trials(at("encoder 10k", f"very wide {short}")).told_by_the_input < NO_ANSWER


@claim(
    "The baseline encoder's answers depend on what it reads",
    source=ours,
    documented="its rows differ",
    kind="question",
)
def test_baseline_encoder_does_not_collapse(trials):
    assert trials(at("encoder 10k", "baseline")).told_by_the_input > NO_ANSWER


@claim(
    "Very wide encoders beat the baseline, and not for want of an answer: it depends on the text",
    source="002, BLiMP, its table",
    documented="52.78 and 48.44",
)
def test_very_wide_encoders_beat_the_baseline(trials):
    very_wide, baseline = trials(at("encoder 10k", "very wide"), at("encoder 10k", "baseline"))
    assert very_wide.told_by_the_input > NO_ANSWER
    assert very_wide.blimp > baseline.blimp
