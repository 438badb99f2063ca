"""The libraries that the code of a user's arm imports, by their versions.

They are no part of a run's key: a library's patch release would train everything again. They are
recorded beside the result, and it is said where another version is here now.
"""

from __future__ import annotations

from functools import cache
from importlib import metadata

from repro.arm import Arm
from repro.own.arm import OwnArm
from repro.runs.identity import libraries_of


def packages_of(arm: Arm) -> dict[str, str]:
    """Return the versions of the libraries that a user's own study imports, by their names.

    >>> packages_of(Digits())
    {'scikit-learn': '1.5.1'}
    """
    if not isinstance(arm, OwnArm):
        return {}
    imported = libraries_of(arm)
    named = sorted({name for top in imported for name in _distributions().get(top, ())})
    return {name: metadata.version(name) for name in named}


@cache
def _distributions() -> dict[str, list[str]]:
    return dict(metadata.packages_distributions())
