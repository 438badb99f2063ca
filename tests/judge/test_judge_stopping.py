"""Estimates of verdicts that fell early, and how far from the truth they are on average."""

import numpy as np
import pytest
from arms import arms

from repro.judge import Design, Judge, Outcome
from repro.judge.stopping import without_stopping

LOOKS = Design(looks=(5, 8, 12))


def settled(effect, samples=1500):
    """The estimates of true effects of this many standard deviations, as printed and corrected."""
    rng = np.random.default_rng(17)
    estimates = []
    for _ in range(samples):
        (a,) = arms(effect + rng.standard_normal(12), design=LOOKS)
        verdict = Judge.decide(a.judge, (a > 0).judged)
        if verdict.outcome is Outcome.REPRODUCED:
            (judged,) = verdict.effects
            estimates.append((judged.estimate, judged.corrected))
    return np.array(estimates).mean(axis=0)


@pytest.mark.parametrize(
    ("effect", "printed", "corrected"), [(0.5, 0.97, 0.82), (1.0, 1.22, 1.06), (2.0, 2.04, 1.99)]
)
def test_the_correction_removes_most_of_the_error(effect, printed, corrected):
    assert settled(effect) == pytest.approx((printed, corrected), abs=0.05)


def test_large_effects_and_open_statements_are_left_alone():
    assert without_stopping(9.0, 1.0, LOOKS) == 9.0
    assert without_stopping(-0.9, 0.5, LOOKS) == -without_stopping(0.9, 0.5, LOOKS)
    (a,) = arms([1.0, -1.0] * 6, design=LOOKS)
    assert [effect.corrected for effect in (a > 0.1).effects] == [None]
    a, b = arms(np.arange(12.0), np.zeros(12), design=LOOKS)
    assert all(effect.corrected is None for effect in a.is_within(90, of=b).effects)


def test_a_verdict_prints_the_corrected_estimate_beside_the_mean():
    (a,) = arms([0.1, 1.4, 1.2, 0.5, 1.0, 0.9, -0.2, 1.7, 0.4, 0.8, 1.1, 0.6], design=LOOKS)
    assert "corrected for stopping" in str(a > 0).replace("\n    ", " ")
