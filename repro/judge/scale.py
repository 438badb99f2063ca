"""The scales on which two measurements are compared.

Differences of perplexities, or of accuracies near 1, are not normally distributed. Differences of
their logs or log-odds nearly are.

A scale maps the natural values of a metric to the axis on which they are subtracted. A claimed
amount is in natural units: it is added to the value before the scale maps the sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
ScaleName: TypeAlias = Literal["identity", "log", "log-odds", "share"]

_DOMAIN = {
    "identity": (-np.inf, np.inf, "the finite numbers"),
    "log": (0.0, np.inf, "the positive numbers, where logs are defined"),
    "share": (-np.inf, np.inf, "0 and 1, the outcomes of a run that fails or succeeds"),
    "log-odds": (0.0, 1.0, "the open interval (0, 1), where log-odds are defined"),
}


class ScaleError(ValueError):
    """A value lies where the declared comparison scale is not defined."""


@dataclass(frozen=True)
class Scale:
    """The comparison scale of a metric: `identity`, `log`, `log-odds` or `share`.

    A share of `count` examples can be exactly 0 or 1, where log-odds are infinite; with `count`
    such a value is moved inside by half an example. A share also moves in steps of one example, so
    even equal shares may hide a difference of half an example.

    >>> float(Scale("log").of(np.array([1.0]), "perplexity of bp")[0])
    0.0
    >>> round(float(Scale("log-odds", count=100).of(np.array([1.0]), "accuracy of bp")[0]), 3)
    5.293
    """

    name: ScaleName = "identity"
    count: int | None = None

    def __post_init__(self) -> None:
        if self.name not in _DOMAIN:
            raise ValueError(f"unknown scale {self.name!r}: choose one of {', '.join(_DOMAIN)}")
        if self.count is not None and (self.name in ("log", "share") or self.count < 1):
            raise ValueError(
                f"count={self.count!r} is the number of examples behind a share: give a positive "
                "number, and not with the scales log and share"
            )

    def of(self, values: Array, what: str) -> Array:
        """The values on this scale; `what` names them in an error message."""
        if self.name == "identity" and self.count is None and np.isfinite(values).all():
            return values
        if self.name == "share":
            return self._outcomes(values, what)
        low, high, domain = _DOMAIN[self.name]
        inside = self.kept_inside(values)
        outside = (inside <= low) | (inside >= high)
        if self.count is not None:
            outside = (values < low) | (values > high)
        if outside.any():
            raise ScaleError(
                f"{what} is {values[outside].flat[0]:.6g}, outside {domain}: "
                f"{self._remedy(values[outside])}"
            )
        if self.name == "identity":
            return inside
        logs: Array = np.log(inside)
        return logs if self.name == "log" else logs - np.log1p(-inside)

    def _outcomes(self, values: Array, what: str) -> Array:
        if (outside := values[~np.isin(values, (0.0, 1.0))]).size:
            raise ScaleError(
                f"{what} is {outside.flat[0]:.6g}, and not {_DOMAIN['share'][2]}: declare shares of"
                " examples on log-odds"
            )
        return values

    def has(self, values: Array) -> NDArray[np.bool_]:
        """Return for each value whether it lies inside the domain of the scale, without its ends.

        >>> Scale("log-odds").has(np.array([0.0, 0.5, 1.02])).tolist()
        [False, True, False]
        """
        low, high, _ = _DOMAIN[self.name]
        return (values > low) & (values < high)

    def kept_inside(self, values: Array) -> Array:
        """The values; shares on log-odds are kept half an example away from 0 and 1."""
        if self.count is None or self.name != "log-odds":
            return values
        inside: Array = np.clip(values, 0.5 / self.count, 1 - 0.5 / self.count)
        return inside

    def is_beyond(self, values: Array, *, above: bool) -> Any:
        """Return True where all values lie above the domain of the scale, or all below it."""
        low, high, _ = _DOMAIN[self.name]
        return np.all(values >= high if above else values <= low, axis=0)

    def half_example(self, values: Array) -> Any:
        """Return half an example on this scale, at the mean of scaled values; 0 without a count."""
        if self.count is None:
            return 0.0
        half = 0.5 / self.count
        if self.name == "identity":
            return half
        share = self.back(values.mean(axis=0))
        return half / (share * (1 - share))

    def back(self, scaled: Any) -> Any:
        """The natural value at a point of this scale, the inverse of `of`."""
        if self.name in ("identity", "share"):
            return scaled
        if self.name == "log":
            return np.exp(scaled)
        return 1 / (1 + np.exp(-np.asarray(scaled)))

    def _remedy(self, outside: Array) -> str:
        if self.name == "log-odds" and self.count is None and np.all(np.isin(outside, (0.0, 1.0))):
            return "say how many examples the share is counted on, Scale('log-odds', count=...)"
        return "ask for a smaller amount, or declare the metric on another scale"
