"""Source 004 against itself: the depth ladder, its tables and what is said of them."""

import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

from repro import claim
from repro.document import exact, points, printed, root

LADDERS = tomllib.loads((Path(__file__).parents[1] / "sources/004.toml").read_text("utf-8"))
A_POINT = "0.01"  # what it calls the same: 0.617 and 0.615, or 0.301 and 0.306

ours = "004, not in its text: asked of its tables"
both_shapes = pytest.mark.parametrize("shape", LADDERS)


def both(say):
    """Check both tables, each with what a function says of it as documented."""
    return pytest.mark.parametrize(
        ("shape", "documented"),
        [(shape, say(table)) for shape, table in LADDERS.items()],
        ids=list(LADDERS),
    )


each_frozen = pytest.mark.parametrize(
    ("shape", "rule", "frozen"),
    [(shape, rule, row[0]) for shape, table in LADDERS.items() for rule, row in table.items()],
    ids=[f"{shape}-{rule}" for shape, table in LADDERS.items() for rule in table],
)


def gain(shape, rule):
    """From frozen to fully trained."""
    frozen, *_, full = LADDERS[shape][rule]
    return points(frozen, full)


@claim("BP climbs monotonically", source="004, Interpretation", documented="{documented}")
@both(lambda table: ", ".join(table["bp"]))
def test_table_climbs_for_bp(document, shape, documented):
    assert document(LADDERS[shape]["bp"]).climbs()


@claim(
    "The accuracy gained from frozen to full",
    source="004, Interpretation",
    documented="{gained}",
)
@pytest.mark.parametrize(
    ("shape", "rule", "gained"),
    [
        ("d256", "bp", "+23 pp"),
        ("d512", "bp", "+22 pp"),
        ("d256", "dfa", "-4.8 pp"),
        ("d512", "dfa", "-4.7 pp"),
        ("d256", "fa", "+4.7 pp"),
    ],
)
def test_gain(document, shape, rule, gained):
    assert document(gained).agrees_with(gain(shape, rule))


@claim("Training deep DFA blocks destroys ~5 pp", source="004, Interpretation", documented="~5 pp")
@both_shapes
def test_dfa_destroys_five_points(document, shape):
    assert document("~5 pp").agrees_with(0 - gain(shape, "dfa"))


@claim("The frozen rung is DFA's maximum", source="004, Interpretation", documented="≈0.349")
@both_shapes
def test_dfa_peaks_when_frozen(document, shape):
    assert document(LADDERS[shape]["dfa"]).peaks_at(0)
    assert document("≈0.349").agrees_with(LADDERS[shape]["dfa"][0])


@claim(
    "BP's returns diminish: every block adds less than the one before",
    source=ours,
    documented=", ".join(LADDERS["d256"]["bp"]),
    kind="question",
)
def test_table_has_diminishing_returns_for_bp(document):
    gained = [points(low, high) for low, high in pairwise(LADDERS["d256"]["bp"])]
    assert document(gained).falls()


@claim(
    "From one trained block on, DFA rises with each",
    source=ours,
    documented=", ".join(LADDERS["d256"]["dfa"][1:]),
    kind="question",
)
def test_table_rises_for_dfa_after_one_block(document):
    assert document(LADDERS["d256"]["dfa"][1:]).climbs()


@claim("FA dips at k=2", source="004, Interpretation", documented="{documented}")
@both(lambda table: ", ".join(table["fa"]))
def test_table_dips_for_fa(document, shape, documented):
    assert document(LADDERS[shape]["fa"][2]) < LADDERS[shape]["fa"][1]


@claim("FA at d=512: 0.361 ≈ frozen 0.359", source="004, Interpretation", documented="no net gain")
def test_fa_gains_nothing_at_d512(document):
    assert document("0.361").agrees_with("0.359", within=A_POINT)


@claim(
    "FA can use no depth at d=512",
    source="004, Interpretation",
    documented="its table: 0.412 with one trained block, 0.359 frozen",
)
def test_table_peaks_for_fa_at_d512(document):
    assert document(LADDERS["d512"]["fa"]).peaks_at(0)


@claim(
    "FA is the intermediate: below BP, above DFA",
    source="004, Interpretation",
    documented="{documented}",
)
@both(lambda table: ", ".join(accuracies[-1] for accuracies in table.values()))
def test_fa_is_the_intermediate(document, shape, documented):
    assert document([LADDERS[shape][rule][-1] for rule in ("bp", "fa", "dfa")]).falls()


@claim(
    "FA full is ≈ frozen or slightly above it: by no more than its ≈ of frozen rungs, 4 points",
    source="004, Caveats",
    documented="its Interpretation: +4.7 pp at d=256",
)
def test_fa_is_slightly_above_frozen(document):
    frozen, *_, full = LADDERS["d256"]["fa"]
    assert document(full).agrees_with(frozen, within="0.040")


@claim(
    "Frozen k=0 ≈ 0.349 across methods",
    source="004, Cross-checks",
    documented="≈ 0.349; its table: {frozen}",
)
@each_frozen
def test_tables_start_alike(document, shape, rule, frozen):
    assert document("≈ 0.349").agrees_with(frozen, within=A_POINT)


@claim(
    "The ladder reproduces the full audit",
    source="004, Cross-checks",
    documented="{audit}",
)
@pytest.mark.parametrize(
    ("rule", "trained", "audit"),
    [
        ("bp", 4, "0.615"),
        ("dfa", 4, "0.301"),
        ("dfa", 4, "0.306"),
        ("fa", 4, "0.401"),
        ("dfa", 0, "0.349"),
    ],
)
def test_table_agrees_with_audit(document, rule, trained, audit):
    assert document(LADDERS["d256"][rule][trained]).agrees_with(audit, within=A_POINT)


@claim(
    "Frozen accuracy is well above the 10% chance level: twice that at least",
    source="004, Footnote",
    documented="{frozen}",
)
@each_frozen
def test_frozen_is_above_chance(document, shape, rule, frozen):
    assert document(frozen) > exact(2) / 10


@claim("72 runs", source="004, Reproduce", documented="72")
def test_number_of_runs(document):
    methods, seeds = 3, 3
    assert document(72).agrees_with(exact(methods) * 5 * seeds + exact(methods) * 3 * seeds)


@claim(
    "Deviation and cosine of the frozen stack go together: no vector so turned is nearer than sine",
    source="004, Footnote",
    documented="0.196 and 0.981",
)
def test_stack_deviation_is_at_least_its_sine(document):
    cosine = printed("0.981")
    assert document("0.196") > root(1 - cosine * cosine)


@claim(
    "Cosine of the frozen stack, were its branches at right angles to the stream",
    source=ours,
    documented="0.196 and 0.981",
    kind="question",
)
def test_stack_cosine_of_branches_at_right_angles(document):
    deviation = printed("0.196")
    assert document("0.981").agrees_with(1 / root(1 + deviation * deviation))


@claim(
    "Deviation of four frozen blocks, were each at right angles to the others",
    source=ours,
    documented="≈ 0.10 a block, 0.196 for four",
    kind="question",
)
def test_stack_deviation_of_blocks_at_right_angles(document):
    assert document("0.196").agrees_with(root(4) * printed("≈ 0.10"))
