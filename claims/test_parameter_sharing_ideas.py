"""What else its notes would try: do they cost, do they help?  Source 002, the list before its plan.

The notes name ideas and claim next to nothing of them. That parameters become fewer is counted;
that an idea is free, or helps, is asked at `ci` of grouped queries alone, which decoders have.
"""

import pytest

from repro import claim
from repro.studies.parameter_sharing.arms import BASELINE, untrained

ENCODER = BASELINE.but(kind="encoder")
GROUPED = BASELINE.but(key_heads=2)
UNIVERSAL = BASELINE.but(sets=1, halting=True)
A_TWENTIETH = 1.05

notes = "002, Notes"
ours = "002, not in its text: asked of its notes"


@claim(
    "It decreases the number of trainable parameters", source=notes, documented="grouped queries"
)
@pytest.mark.parametrize(
    "arm",
    [GROUPED, BASELINE.but(biases=False), UNIVERSAL],
    ids=["grouped-queries", "no-biases", "universal"],
)
def test_it_has_fewer_parameters(trials, arm):
    fewer, baseline = trials(untrained(arm), untrained(BASELINE))
    assert fewer.parameters_in_layers < baseline.parameters_in_layers


@claim("Grouped queries leave the perplexity where it was, to 5 %", source=ours)
def test_grouped_queries_are_free(trials):
    grouped, baseline = trials(GROUPED, BASELINE)
    assert grouped.perplexity.is_times(1, baseline.perplexity, within_ratio=A_TWENTIETH)


@claim(
    "It leaves the perplexity where it was, to 5 %",
    source=ours,
    documented="Linformer: “good for long range efficient attention”",
    only_at="paper",
)
@pytest.mark.parametrize(
    ("arm", "plain"),
    [
        (BASELINE.but(biases=False), BASELINE),
        (ENCODER.but(compressed=64), ENCODER),
        (BASELINE.but(pruned=0.5), BASELINE),
    ],
    ids=["no-biases", "linformer", "half-pruned"],
)
def test_it_is_free(trials, arm, plain):
    changed, plain = trials(arm, plain)
    assert changed.perplexity.is_times(1, plain.perplexity, within_ratio=A_TWENTIETH)


@claim("A larger teacher helps", source=notes, documented="“consider”", only_at="paper")
def test_a_teacher_helps(trials):
    taught, alone = trials(BASELINE.but(teacher_width=2 * BASELINE.width), BASELINE)
    assert taught.perplexity < alone.perplexity


@claim(
    "A universal transformer is better at LAMBADA",
    source=notes,
    documented="“state of the art for LAMBADA (2019)”",
    only_at="paper",
)
def test_universal_is_better_at_lambada(trials):
    universal, baseline = trials(UNIVERSAL, BASELINE)
    assert universal.lambada_perplexity < baseline.lambada_perplexity


@claim(
    "Recurrence is good for parameter reduction: halting beats always taking all layers",
    source=notes,
    documented="“does recurrence for more ambiguous symbols”",
    only_at="paper",
)
def test_halting_helps(trials):
    halting, always = trials(UNIVERSAL, UNIVERSAL.but(halting=False))
    assert halting.perplexity < always.perplexity
