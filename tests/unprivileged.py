"""Acts as a user without rights, for tests of permissions that run as root."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

NOBODY = 65_534


@contextmanager
def unprivileged() -> Iterator[None]:
    """Give up root's rights for a while; another user has none to give up."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(user)
