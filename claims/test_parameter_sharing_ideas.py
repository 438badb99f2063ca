"""What else its notes would try: do they cost, do they help?  Source 002, the list before its plan.

The notes name ideas and claim next to nothing of them: that some have fewer parameters, which is
counted. That an idea is free, or helps, is our question. At `ci` it is asked of grouped queries and
of sharing a part of some layers; that one is free, only where the baseline's answers depend on its
text by more than the margin.
"""

import math

import pytest

from repro import claim
from repro.studies.parameter_sharing.arms import BASELINE, PartialArm, untrained

ENCODER = BASELINE.but(kind="encoder")
GROUPED = BASELINE.but(key_heads=2)
UNIVERSAL = BASELINE.but(sets=1, halting=True)
EARLY, LATE, ALL = (
    PartialArm(part="feed-forward", among=among) for among in ("first half", "last half", "all")
)
EARLY_BLOCKS = PartialArm(part="block", among="first half")
A_TWENTIETH = 1.05  # a perplexity of 22 and one of 23, its nearest rows, lie this far apart

notes = "002, Notes"
ours = "002, not in its text: asked of its notes"


def has_fewer_parameters(trials, arm):
    """Judge whether an idea saves parameters in the layers."""
    fewer, baseline = trials(untrained(arm), untrained(BASELINE))
    return fewer.parameters_in_layers < baseline.parameters_in_layers


@claim("It decreases the number of trainable parameters", source=notes, documented="{documented}")
@pytest.mark.parametrize(
    ("arm", "documented"),
    [
        (GROUPED, "“decreases the number of trainable parameters”"),
        (UNIVERSAL, "“good for parameter reduction”"),
    ],
    ids=["grouped-queries", "universal"],
)
def test_it_has_fewer_parameters(trials, arm, documented):
    assert has_fewer_parameters(trials, arm)


@claim(
    "Its other ideas decrease the number of trainable parameters, too",
    source=ours,
    documented="{documented}",
    kind="question",
)
@pytest.mark.parametrize(
    ("arm", "documented"),
    [
        (BASELINE.but(biases=False), "“modify number of bias terms?”"),
        (EARLY, "“share … some of the feed forward layers, especially in earlier” blocks"),
        (ALL, "“share … some of the feed forward layers”"),
        (EARLY_BLOCKS, "“especially in earlier transformer blocks”"),
    ],
    ids=["no-biases", "early-feed-forward", "feed-forward", "early-blocks"],
)
def test_these_have_fewer_parameters(trials, arm, documented):
    assert has_fewer_parameters(trials, arm)


@claim(
    "Feed-forward layers are better shared in earlier blocks than in later ones",
    source=ours,
    documented="“especially in earlier transformer blocks”",
    kind="question",
)
def test_early_layers_are_better_shared(trials):
    early, late = trials(EARLY, LATE)
    assert early.perplexity.falls_below(late.perplexity)


def is_free(trials, arm, plain):
    """Judge whether a change leaves the perplexity where it was, to a twentieth."""
    changed, plain = trials(arm, plain)
    depends = plain.told_by_the_input.exceeds(math.log(A_TWENTIETH))
    trials.require(depends, "a baseline whose answers depend on its text by more than that")
    assert changed.perplexity.is_times(1, plain.perplexity, within_ratio=A_TWENTIETH)


@claim(
    "It leaves the perplexity where it was, to 5 %",
    source=ours,
    documented="not said",
    kind="question",
)
@pytest.mark.parametrize(
    "arm",
    [GROUPED, EARLY, ALL, EARLY_BLOCKS],
    ids=["grouped-queries", "early-feed-forward", "feed-forward", "early-blocks"],
)
def test_it_costs_nothing(trials, arm):
    is_free(trials, arm, BASELINE)


@claim(
    "It leaves the perplexity where it was, to 5 %",
    source=ours,
    documented="{documented}",
    kind="question",
    only_at="paper",
)
@pytest.mark.parametrize(
    ("arm", "plain", "documented"),
    [
        (BASELINE.but(biases=False), BASELINE, "not said"),
        (ENCODER.but(compressed=64), ENCODER, "“good for long range efficient attention”"),
        (BASELINE.but(pruned=0.5), BASELINE, "not said"),
    ],
    ids=["no-biases", "linformer", "half-pruned"],
)
def test_it_is_free(trials, arm, plain, documented):
    is_free(trials, arm, plain)


@claim(
    "A larger teacher helps",
    source=notes,
    documented="“consider”",
    kind="question",
    only_at="paper",
)
def test_a_teacher_helps(trials):
    taught, alone = trials(BASELINE.but(teacher_width=2 * BASELINE.width), BASELINE)
    assert taught.perplexity < alone.perplexity


@claim(
    "A universal transformer is better at LAMBADA",
    source=notes,
    documented="“state of the art for LAMBADA (2019)”",
    kind="question",
    only_at="paper",
)
def test_universal_is_better_at_lambada(trials):
    universal, baseline = trials(UNIVERSAL, BASELINE)
    assert universal.lambada_perplexity.falls_below(baseline.lambada_perplexity, by_ratio=1.0)


@claim(
    "Halting, where places are sure, beats always taking all layers",
    source=notes,
    documented="“does recurrence for more ambiguous symbols”",
    kind="question",
    only_at="paper",
)
def test_halting_helps(trials):
    halting, always = trials(UNIVERSAL, UNIVERSAL.but(halting=False))
    assert halting.perplexity < always.perplexity
