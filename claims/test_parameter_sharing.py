"""Does a language model gain from layers that share parameters?  Source 002, LAMBADA.

The source names families, strategies and six sets, and no sizes: nothing that is trained settles
its scores, so no cell of its tables is held against ours. What it says of one model against another
is judged at sizes, text and steps of ours (`repro/studies/parameter_sharing/arms.py`), with as many
layers as explain which of its rows are equal; what its tables alone show is a question there. On
BLiMP no strategies are compared, since our baseline has 0.507 where chance is 0.5.

Perplexities are of LAMBADA's whole last words, and compared as ratios: the difference in log
perplexity a word. What the source's perplexities are of, it does not say. A collapsed encoder says
the same whatever it reads; `mutual_information` is how much answers depend on what it reads, in
nats.
`documents/test_002_parameter_sharing.py` holds the text against the tables.
"""

import tomllib
from pathlib import Path

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

LAMBADA = tomllib.loads((Path(__file__).parent / "sources/002.toml").read_text("utf-8"))["lambada"]
SHORT, LONG = 0, 2  # the decoder's columns of 10k and of 25k steps

COLLAPSED = 1.35  # half of the least excess in the table, 38 / 22 = 1.7
ANY = 1.0  # any ratio above it: for perplexities, whose differences mean nothing
NO_ANSWER = 0.01  # nats: a fourteenth of what the baseline decoder has after 100 steps of ci

ONCE_MORE = {"only_at": "ci", "looks": (40, 80, 120), "after": 20}
"""For sentences that twenty seeds left open, and that at most 100 new ones would settle."""

lambada = "002, LAMBADA"
ours = "002, not in its text: asked of its result"


def perplexity(name, column):
    """The decoder's in the table, in brackets; a family's by cycle (rev), the one trained long."""
    row = f"{name} rev" if name in FAMILIES else name
    cell = LAMBADA[row.replace(" ", "_").replace("_rev", "_cycle_rev")][column]
    return cell.partition("(")[2].removesuffix(")") or "not printed"


def against_baseline(names):
    """Judge each, with the perplexities that the table has for it and for the baseline at 10k."""
    return pytest.mark.parametrize(
        ("name", "documented"),
        [(n, f"{perplexity(n, SHORT)} and {perplexity('baseline', SHORT)}") for n in names],
        ids=list(names),
    )


def over_steps(names):
    """Judge each, with the perplexities that the table has for it at 10k and at 25k steps."""
    return pytest.mark.parametrize(
        ("name", "documented"),
        [(n, f"{perplexity(n, SHORT)} → {perplexity(n, LONG)}") for n in names],
        ids=list(names),
    )


OTHERS = ["deep", "very deep", "wide", "wide deep"]


@claim("The baseline is best at 10k", source=f"{lambada}, its table", documented="{documented}")
@against_baseline(MODELS)
def test_baseline_has_the_best_perplexity(trials, name, documented):
    baseline, shared = trials(BASELINE, ROWS[name])
    assert baseline.lambada_perplexity.falls_below(shared.lambada_perplexity, by_ratio=ANY)


@pytest.mark.nightly
@claim(
    "The baseline is best at 10k, on fresh seeds",
    source=f"{lambada}, its table",
    documented="{documented}",
    **ONCE_MORE,
)
@against_baseline(["wide seq", "wide deep cycle"])
def test_baseline_has_the_best_perplexity_on_fresh_seeds(trials, name, documented):
    baseline, shared = trials(BASELINE, ROWS[name])
    assert baseline.lambada_perplexity.falls_below(shared.lambada_perplexity, by_ratio=ANY)


@claim(
    "The very wide collapse at 10k: a third as much perplexity again as the baseline's",
    source=ours,
    documented="{documented}",
    kind="question",
)
@against_baseline([f"very wide {short}" for short in SHORT_NAMES.values()])
def test_very_wide_collapse(trials, name, documented):
    very_wide, baseline = trials(ROWS[name], BASELINE)
    assert very_wide.lambada_perplexity.exceeds(baseline.lambada_perplexity, by_ratio=COLLAPSED)


@claim(
    "The very wide recover: at 25k they pass what the baseline had at 10k",
    source=ours,
    documented="38 → 20; the baseline 22",
    kind="question",
)
def test_very_wide_recover(trials):
    very_wide, baseline = trials(at("decoder 25k", "very wide"), BASELINE)
    assert very_wide.lambada_perplexity.falls_below(baseline.lambada_perplexity, by_ratio=ANY)


@claim(
    "The very wide gain more from steps than another family",
    source=ours,
    documented="38 → 20; this one: {documented}",
    kind="question",
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
    "The decoder seems to scale better with sharing: it gains more from steps than the baseline",
    source=f"{lambada}, Decoder",
    documented="{documented}; the baseline: 22 → not printed",
)
@over_steps(FAMILIES)
def test_sharing_scales_better(trials, name, documented):
    assert scales_better(trials, name)


@pytest.mark.nightly
@claim(
    "The decoder seems to scale better with sharing, on fresh seeds",
    source=f"{lambada}, Decoder",
    documented="{documented}; the baseline: 22 → not printed",
    **ONCE_MORE,
)
@over_steps(["very wide"])
def test_sharing_scales_better_on_fresh_seeds(trials, name, documented):
    assert scales_better(trials, name)


def scales_better(trials, name):
    """Judge whether a family that shares gains more from steps than the baseline."""
    columns = ("decoder 10k", "decoder 25k")
    arms = [at(column, row) for row in (name, "baseline") for column in columns]
    early, late, baseline_early, baseline_late = (f.lambada_perplexity for f in trials(*arms))
    return early - late > baseline_early - baseline_late


@claim(
    "Very wide encoders answer the same whatever they read",
    source=ours,
    documented="52.78 and 0.0 (2175) by every strategy, while the decoders differ",
    kind="question",
)
@pytest.mark.parametrize("short", SHORT_NAMES.values())
def test_very_wide_encoders_collapse(trials, short):
    assert trials(at("encoder 10k", f"very wide {short}")).mutual_information < NO_ANSWER


@claim(
    "The baseline encoder's answers depend on what it reads",
    source=ours,
    documented="its rows differ",
    kind="question",
)
def test_baseline_encoder_does_not_collapse(trials):
    assert trials(at("encoder 10k", "baseline")).mutual_information > NO_ANSWER
