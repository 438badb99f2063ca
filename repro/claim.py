"""The decorator that makes a test a claim."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Test = TypeVar("Test", bound=Callable[..., None])


def claim(
    sentence: str, *, source: str, documented: str = "", only_at: str | None = None
) -> Callable[[Test], Test]:
    """Mark a test as the claim of a source.

    `documented` is what the source says came out. `only_at` names the one profile at which the
    sentence can be judged, such as `paper` for a number that belongs to the documented size.

    >>> @claim("BP climbs with every trained block", source="004", documented="0.389 → 0.617")
    ... def test_bp_climbs(trials):
    ...     assert trials(D256_L4.ladder()).accuracy.climbs()
    """
    import pytest  # here, so that training code can import repro without it

    mark: Callable[[Test], Test] = pytest.mark.claim(
        sentence, source=source, documented=documented, only_at=only_at
    )
    return mark
