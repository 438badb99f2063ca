"""Arms on the data sets that are here."""

from __future__ import annotations

from typing import TypeVar

from repro.arm import Arm
from repro.data.files import resolve

AnyArm = TypeVar("AnyArm", bound=Arm)


def resolved(arm: AnyArm, *settings: str) -> AnyArm:
    """Return an arm with the sets that these settings name, each as its twin if it is not here.

    >>> resolved(D256_L4, "data").data
    'cifar10-twin'
    """
    return arm.but(**{name: resolve(getattr(arm, name)) for name in settings})
