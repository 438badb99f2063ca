"""Arms with the data sets on this machine."""

from __future__ import annotations

from typing import TypeVar

from repro.arm import Arm
from repro.data.files import resolve

AnyArm = TypeVar("AnyArm", bound=Arm)


def resolved(arm: AnyArm, *settings: str) -> AnyArm:
    """Return an arm in which the sets that these settings name are replaced by twins, if missing.

    >>> resolved(D256_L4, "data").data
    'cifar10-twin'
    """
    return arm.but(**{name: resolve(getattr(arm, name)) for name in settings})
