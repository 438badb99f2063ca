"""The verdicts that stand when all claims of a session are counted together.

Each claim is judged at its own level, so of many settled verdicts a few are false. Two rules say
which ones stand, for two questions.

- `false_shares`, the default: of those that stand, at most 5 % are false, on average over sessions
  (the false discovery rate, by Benjamini and Yekutieli). A reader of a table wants to know that.
- `holm`: the chance that any verdict that stands is false is at most 5 %. That is for who builds on
  every single one. It takes clearer evidence, so a session can be asked to go on to the last look
  until a finding has it (`--family-wise`).

The claims of a suite share runs, so their p depend on each other in ways nobody knows. Both rules
hold for any dependence. (Benjamini and Hochberg's sharper one does not: it needs p that rise
together, and claims that share an arm on opposite sides have p that do not.)

The family is every verdict that was judged, the inconclusive ones with p = 1: to count only the
settled ones would choose the family by its results. Claims that were not run, and those about
documents alone, where nothing is random, are no members. A verdict that does not stand keeps its
outcome: it was reached at its own level.
"""

from __future__ import annotations

from collections.abc import Sequence

SUITE_LEVEL = 0.05
"""The share of false verdicts among those that stand, or the chance that any of them is."""


def false_shares(p_values: Sequence[float]) -> list[float]:
    """Return for each p the share of false verdicts among it and all that are smaller, at most.

    Those where it is at most `SUITE_LEVEL` stand.

    >>> [round(share, 4) for share in false_shares([0.01, 0.04, 0.001])]
    [0.0275, 0.0733, 0.0055]
    """
    count = len(p_values)
    dependence = sum(1 / rank for rank in range(1, count + 1))
    shares = [0.0] * count
    least = 1.0
    for rank, place in reversed(list(enumerate(sorted(range(count), key=p_values.__getitem__), 1))):
        least = min(least, p_values[place] * count * dependence / rank)
        shares[place] = least
    return shares


def holm(p_values: Sequence[float]) -> list[float]:
    """Return each p adjusted for all the others: those that are then at most `SUITE_LEVEL` stand.

    >>> holm([0.01, 0.04, 0.001])
    [0.02, 0.04, 0.003]
    """
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, (len(p_values) - rank) * p_values[place])
        adjusted[place] = min(1.0, largest)
    return adjusted
