"""Sets environment variables for a while."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager


@contextmanager
def environment_with(settings: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables within the block, and restore them after it.

    >>> with environment_with({"OMP_NUM_THREADS": "1"}):
    ...     subprocess.run(["./train"])
    """
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
