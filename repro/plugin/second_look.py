"""The refusal of a second look where a claim on recorded runs had one, at its whole level."""

from __future__ import annotations

import re

from repro.arm import Needs
from repro.judge import Design, OneLook, Outcome
from repro.ledger import Entry
from repro.plugin.gathered import Gathered
from repro.plugin.trials import Trials


def looked_again(entry: Entry | None, gathered: Gathered) -> Needs | None:
    """Return why an open claim is not judged again at more seeds; None where it may be.

    Where it has been judged for good, more seeds can only be held against that.
    """
    if not isinstance(gathered, Trials) or not isinstance(gathered.judge.design, OneLook):
        return None
    if entry is None or entry.verdict != Outcome.INCONCLUSIVE.value or not gathered.findings:
        return None
    then, now = _seeds(entry.measured), _seeds(gathered.findings[-1].measured)
    if not then or sum(now) <= sum(then):
        return None
    first, second = max(then), max(max(now), max(then) + 1)
    design = gathered.judge.design
    later = Design(looks=(first, second), level=design.level).boundary(second)
    both = design.one_sided_level + later
    return Needs(
        f"was open at {first} seeds, in one look that spent its whole level, and now has {second}."
        " A second look raises the chance of a false verdict on each side from"
        f" {design.one_sided_level:.2%} to {both:.2%} at most: say looks=({first}, {second}) in"
        " recorded(…), or claim it on runs that are all new"
    )


def _seeds(measured: str) -> list[int]:
    """Return the numbers of seeds that a measured effect ends with."""
    found = re.search(r"([0-9and ]+) seeds$", measured)
    return [int(number) for number in re.findall(r"\d+", found[1])] if found else []
