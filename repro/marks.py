"""The decorators that make a test a claim, or a figure, of a source."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

if TYPE_CHECKING:
    from repro.ledger import Kind

Test = TypeVar("Test", bound=Callable[..., None])

Looks: TypeAlias = tuple[int, ...] | Mapping[str, tuple[int, ...]]
"""Growing numbers of seeds, for every profile or by the profile's name."""


def claim(
    sentence: str,
    *,
    source: str,
    documented: str = "",
    kind: Kind = "source",
    only_at: str | None = None,
    looks: Looks | None = None,
    after: int = 0,
    level: float | None = None,
) -> Callable[[Test], Test]:
    """Mark a test as the claim of a source.

    `source` is the name of the source, maybe with its year, and then the place in it: `"Smith,
    2023, Table 2"`. The name of the source and the name of the test make the claim's name.

    `documented` is the result that the source reports; it may contain parameters of the test, as in
    `"{perplexity:.2f}"`. `kind` is `"source"` for a claim of the source, `"repository"` for one
    that only its repository makes, `"question"` for a question of ours, or `"control"`. `only_at`
    names the only profile at which the sentence can be judged, such as `paper` for a number that
    belongs to the documented size.

    `looks` are the numbers of seeds for this claim, for a small effect, or a source with few seeds:
    `(5, 12, 40)`, or by profile `{"ci": (5, 12, 40), "paper": (3, 5)}`. Choose them before you
    train: looks that change later do not keep the level. `after=20` judges the claim on new seeds:
    it leaves out the first 20 seeds of each arm, for a claim that was chosen by their results.

    `level` is the allowed chance of a false verdict in one direction, from 0.0001 to 0.05, also
    chosen before. Without it, it is that of `--level`, 0.005.

    >>> @claim("Accuracy climbs with depth", source="Ours, Table 2", documented="0.70 → 0.82")
    ... def test_depth_helps(trials):
    ...     assert trials([SHALLOW, MEDIUM, DEEP]).accuracy.climbs()
    """
    import pytest  # here, so that training code can import repro without it

    def decorated(test: Test) -> Test:
        mark: Callable[[Test], Test] = pytest.mark.claim(
            sentence,
            source=source,
            documented=documented,
            kind=kind,
            only_at=only_at,
            looks=looks,
            after=after,
            level=level,
            hides=_hidden_by(test, sys._getframe(1).f_locals),
        )
        return mark(test)

    return decorated


def _hidden_by(test: Callable[..., None], names: Mapping[str, object]) -> int:
    """Return the line of another claim of a test's name, above it in its file; 0 without one.

    Python keeps the second of two tests of one name alone, as where a merge keeps both.
    """
    earlier: Any = names.get(getattr(test, "__name__", ""))
    if not any(mark.name == "claim" for mark in getattr(earlier, "pytestmark", ())):
        return 0
    above, own = (getattr(inspect.unwrap(each), "__code__", None) for each in (earlier, test))
    if above is None or own is None or above.co_filename != own.co_filename:
        return 0
    line: int = above.co_firstlineno
    return line if line != own.co_firstlineno else 0


def figure(title: str, *, source: str, x: str, y: str) -> Callable[[Test], Test]:
    """Mark a test as a figure of a source, drawn from the store.

    It runs only with `--report`, and trains nothing. `x` is the label of the horizontal axis, and
    `y` is the metric.

    >>> @figure("Accuracy by depth", source="Ours", x="blocks", y="accuracy")
    ... def test_figure(plot):
    ...     plot.panel("all data").line("depth", [SHALLOW, MEDIUM, DEEP], at=[1, 2, 4])
    """
    import pytest

    mark: Callable[[Test], Test] = pytest.mark.figure(title, source=source, x=x, y=y)
    return mark
