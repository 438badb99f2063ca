"""The formulas by which one printed number follows from others.

Anything else is written with + - * / on `printed` and exact numbers.
"""

from __future__ import annotations

from decimal import Context, Decimal

from repro.document.number import Applied, Number, Value, number


def percent_change(before: Value, after: Value) -> Number:
    """The rise in per cent of what was there before; for falls, say `percent_drop`.

    >>> print(percent_change("22.95", "32.07").text)
    (32.07 - 22.95) / 22.95
    """
    start = number(before)
    return (number(after) - start) / start


def percent_drop(before: Value, after: Value) -> Number:
    """The fall in per cent of what was there before: sources print improvements without a sign.

    >>> low, high = percent_drop("34.86", "18.52").interval()
    >>> print(f"{float(low):.3%} to {float(high):.3%}")
    46.851% to 46.895%
    """
    start = number(before)
    return (start - number(after)) / start


def points(before: Value, after: Value) -> Number:
    """The difference of two shares, to hold against percentage points ("+22.8 pp").

    >>> print(points("0.389", "0.617").text)
    0.617 - 0.389
    """
    return number(after) - number(before)


def perplexity(loss: Value) -> Number:
    """The perplexity of a mean cross-entropy in nats.

    >>> low, high = perplexity("3.7119").interval()
    >>> print(f"{float(low):.3f} to {float(high):.3f}")
    40.929 to 40.934
    """
    return Applied("exp", Decimal.exp, number(loss))


def root(value: Value) -> Number:
    """The square root.

    >>> print(float(root(9).interval().low))
    3.0
    """
    return Applied("sqrt", _root, number(value))


def compute_share(exited: Value, *, after: int, of: int) -> Number:
    """The share of a stack's compute, where some tokens leave it after some of its layers.

    >>> print(compute_share("52.3%", after=1, of=3).text)
    1 - 52.3% * 2 / 3
    """
    return 1 - number(exited) * (of - after) / of


def linear(inputs: int, outputs: int, *, bias: bool = True) -> Number:
    """The parameters of a linear layer.

    >>> print(linear(768, 2).text, linear(64, 64, bias=False).text)
    (768 + 1) * 2 64 * 64
    """
    per_output = number(inputs) + 1 if bias else number(inputs)
    return per_output * outputs


def _root(value: Decimal, digits: Context) -> Decimal:
    return value.sqrt(digits)
