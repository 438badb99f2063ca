"""Arrays that are prepared once in a process, and cannot be changed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import Any, ParamSpec

Arrays = dict[str, Any]
"""Arrays by name."""

P = ParamSpec("P")


def prepared(make: Callable[P, Arrays]) -> Callable[P, Arrays]:
    """Decorate a function that prepares arrays from its arguments.

    They are not kept on disk: what is prepared by other code than today's is no longer the same.

    >>> squares = prepared(lambda count: {"squares": np.arange(count) ** 2})
    >>> squares(4)["squares"].tolist()
    [0, 1, 4, 9]
    """

    @cache
    @wraps(make)
    def once(*args: Any, **named: Any) -> Arrays:
        arrays = make(*args, **named)
        for array in arrays.values():
            array.setflags(write=False)
        return arrays

    def arrays_of(*args: P.args, **named: P.kwargs) -> Arrays:
        return dict(once(*args, **named))  # type: ignore[arg-type]

    arrays_of.forget = once.cache_clear  # type: ignore[attr-defined]
    return arrays_of
