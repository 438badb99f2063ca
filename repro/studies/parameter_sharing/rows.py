"""The rows and columns of source 002's tables, as arms."""

from __future__ import annotations

from repro.studies.parameter_sharing.arms import BASELINE, FAMILIES, LONG, SharingArm, sharing
from repro.studies.parameter_sharing.assignment import Strategy

SHORT_NAMES: dict[Strategy, str] = {"sequence": "seq", "cycle": "cycle", "cycle (rev)": "rev"}
ROWS = {
    f"{family} {short}": sharing(family, strategy)
    for family in FAMILIES
    for strategy, short in SHORT_NAMES.items()
}
MODELS = tuple(
    name
    for place, (name, arm) in enumerate(ROWS.items())
    if list(ROWS.values()).index(arm) == place
)
"""The first row of each model."""

COLUMNS = ("decoder 10k", "encoder 10k", "decoder 25k", "encoder 25k")


def at(column: str, name: str) -> SharingArm:
    """Return the arm of a row; for a family with CYCLE (REV), the only one trained for 25k.

    >>> at("encoder 25k", "very wide").strategy
    'cycle (rev)'
    """
    kind, steps = column.split()
    arm = BASELINE if name == "baseline" else ROWS[f"{name} rev" if name in FAMILIES else name]
    return arm.but(kind=kind, recipe=LONG if steps == "25k" else arm.recipe)


def by_strategy(family: str, kind: str = "decoder") -> list[SharingArm]:
    """Return a family with each strategy, for 10k steps."""
    return [at(f"{kind} 10k", f"{family} {short}") for short in SHORT_NAMES.values()]
