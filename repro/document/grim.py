"""The GRIM test: a share of so many examples can only be one of so many values.

Brown and Heathers (2017), "The GRIM test: a simple technique detects numerous anomalies in the
reporting of results in psychology".
"""

from __future__ import annotations

import math
from fractions import Fraction

from repro.document.check import Check
from repro.document.decimals import stands_for, to_decimal
from repro.document.number import Printed
from repro.document.printed import printed


def grim(share: str, *, of: int) -> Check:
    """Check whether a printed accuracy can be a count out of that many examples.

    >>> print(grim("96.63%", of=1040).measured)
    96.63% of 1040 printed; 1005 / 1040 = 96.635%: possible
    >>> print(grim("99.81%", of=149).measured)
    99.81% of 149 printed; nearest are 148 / 149 = 99.329% and 149 / 149 = 100.000%: impossible
    """
    claimed = printed(share)
    if of < 1:
        raise ValueError(f"of={of} leaves nothing to count: give the number of examples.")
    low, high = claimed.interval()
    if high < 0 or low > 1:
        raise ValueError(f"{share!r} is no share: write it as a fraction of 1, or with a %.")
    least, most = max(0, math.ceil(low * of)), min(of, math.floor(high * of))
    possible = least <= most
    counts = (least, most) if possible else (math.floor(low * of), math.ceil(high * of))
    shown = [f"{count} / {of} = {_share(count, of, claimed)}" for count in dict.fromkeys(counts)]
    lines = [f"{claimed.text} stands for {stands_for(claimed)}"]
    if (high - low) * of >= 1:
        lines.append(f"any share printed so coarsely is possible of {of}: this says nothing")
    if not possible and claimed.is_truncation_of(Fraction(counts[1], of)):
        lines.append(f"{claimed.text} is what is left of {shown[1]} where digits are cut off")
    nearest = " to ".join(shown) if possible else f"nearest are {' and '.join(shown)}"
    verdict = "possible" if possible else "impossible"
    return Check(possible, f"{claimed.text} of {of} printed; {nearest}: {verdict}", tuple(lines))


def _share(count: int, of: int, claimed: Printed) -> str:
    return to_decimal(Fraction(count, of), claimed.places + 1, claimed.unit)
