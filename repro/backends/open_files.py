"""The number of runs that a process may hold: a lock is an open file, and others need some."""

from __future__ import annotations

import resource
from contextlib import suppress


def locks_allowed() -> int:
    """Return how many runs may be held at once, with as many open files as the system allows."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2
