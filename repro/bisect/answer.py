"""The answer of a search, in words."""

from __future__ import annotations

from collections.abc import Sequence

from repro.bisect.history import Commit
from repro.bisect.search import Found, Measurement
from repro.text import shown


def answer(claim: str, commits: Sequence[Commit], found: Found) -> list[str]:
    """Return the lines that say what was found."""
    lines = []
    if not found.suspects:
        lines.append(f"no commit between changes {shown(claim)}")
        if found.bad.is_same(found.good):
            lines.append("all its runs are the same to the last bit at both ends")
        else:
            lines += ["what differs is no more than chance:", *_both(found.good, found.bad)]
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


def _both(before: Measurement, after: Measurement) -> list[str]:
    return [
        f"{word} {shown(text)}"
        for word, measured in (("before:", before), ("after: ", after))
        for text in measured.told or ("no finite value",)
    ]
