"""Holm's correction, which bounds the error over all claims of a session together.

The rule: of all verdicts that were judged, those stand whose Holm-adjusted p is at most 5 %. The
chance that any false verdict stands is then at most 5 %, however many claims there are.

The family is every verdict that was judged, the inconclusive ones with p = 1: to count only the
settled ones would choose the family by its results, and one false verdict in a hundred would stand
more easily the fewer of its neighbours settled. Claims that were not run, and those about documents
alone, where nothing is random, are no members. Exact verdicts (p = 0) cost the others nothing.

The claims of a suite share runs, so their p depend on each other in ways nobody knows. Holm does
not mind: it rejects step by step what Bonferroni would, and Bonferroni only adds probabilities,
which is right for any dependence. (Rules for false discovery rates assume more.)

Holm rather than Bonferroni because it is never weaker; 5 % rather than each claim's 1 % because it
is a promise about all of them at once. A verdict that does not stand keeps its outcome: it was
reached at its own level, at which one in a hundred is expected to be wrong.
"""

from __future__ import annotations

from collections.abc import Sequence

SUITE_LEVEL = 0.05
"""The chance that any false verdict stands, over all that were judged in one session."""


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust each p for all the others: those that are then at most `SUITE_LEVEL` stand.

    >>> holm([0.01, 0.04, 0.001])
    [0.02, 0.04, 0.003]
    """
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, (len(p_values) - rank) * p_values[place])
        adjusted[place] = min(1.0, largest)
    return adjusted
