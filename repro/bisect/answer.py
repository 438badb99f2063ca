"""The answer of a search, in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from repro.bisect.history import Commit
from repro.bisect.search import ENDS_DIFFER, Difference, Found, Measurement
from repro.judge import Excess, chance_of_less
from repro.text import shown


def answer(claim: str, commits: Sequence[Commit], found: Found) -> list[str]:
    """Return the lines that say what was found."""
    if found.unclear is not None:
        return _open(claim, found, found.unclear)
    lines = []
    if not found.suspects:
        lines.append(f"no commit between changes {shown(claim)}")
        lines.append("all its runs are the same to the last bit at both ends")
        return lines
    suspects = [commits[place] for place in found.suspects]
    if len(suspects) == 1:
        lines.append(f"{shown(str(suspects[0]))}")
        lines.append(f"is the first commit that changes {shown(claim)}")
        if len(suspects[0].parents) > 1:
            inside = f"{suspects[0].short}^..{suspects[0].short}^2"
            lines.append(f"it is a merge: look inside with bisect {inside}")
    else:
        lines.append(f"one of these {len(suspects)} commits changes {shown(claim)}:")
        lines += [f"  {shown(str(commit))}" for commit in suspects]
        for place in found.suspects:
            if place in found.left_out:
                lines.append(f"{commits[place].short} was left out: {shown(found.left_out[place])}")
    assert found.before is not None
    assert found.after is not None
    lines += _both(found.before, found.after)
    if found.difference is not None:
        lines.append(f"the ends differ with p = {found.difference.chance:.2g}")
    return lines


def _open(claim: str, found: Found, unclear: Difference) -> list[str]:
    """Return the lines about ends that are not told apart."""
    lines = [
        f"the ends cannot be told apart by {shown(claim)}: no commit is named",
        *_both(found.good, found.bad),
        f"they differ with p = {unclear.chance:.2g} over {found.bad.seeds} seeds;"
        f" {ENDS_DIFFER:g} is asked for",
    ]
    ratio = _clear_ratio(found.good.excesses[unclear.place], found.bad.excesses[unclear.place])
    if ratio is not None:
        lines.append(f"the runs spread {ratio:.2g} times as widely over seeds at the bad end")
    return lines


def _clear_ratio(good: Excess, bad: Excess) -> float | None:
    """Return the spread of the bad end over that of the good one, if they clearly differ."""
    if not good.spread or not bad.spread:
        return None
    # of a spread, the distance to a bound has a test of its own
    of_spreads = [Excess(-np.log(each.spread), None, each.seeds) for each in (good, bad)]
    wider, narrower = chance_of_less(*of_spreads), chance_of_less(*reversed(of_spreads))
    return bad.spread / good.spread if 2 * min(wider, narrower) < ENDS_DIFFER else None


def _both(before: Measurement, after: Measurement) -> list[str]:
    return [
        f"{word} {shown(text)}"
        for word, measured in (("before:", before), ("after: ", after))
        for text in measured.told or ("no finite value",)
    ]
