"""A study for each source, and what all of them share."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, TypeVar

from repro.arm import Arm, Needs
from repro.data.files import resolve

if TYPE_CHECKING:
    from repro.core.study import Study
    from repro.own.outside import OutsideStudy

AnyArm = TypeVar("AnyArm", bound=Arm)

FLOATS_PER_LINE = 16
"""The size of a processor's cache line, in `float32`."""


def study_of(arm: Arm) -> Study | OutsideStudy:
    """Import the study of an arm, and with it torch."""
    study: Study | OutsideStudy = import_module(arm.study).STUDY
    return study


def resolved(arm: AnyArm, *settings: str) -> AnyArm:
    """Return an arm in which the sets that these settings name are replaced by twins, if missing.

    >>> resolved(D256_L4, "data").data
    'cifar10-twin'
    """
    return arm.but(**{name: resolve(getattr(arm, name)) for name in settings})


def require_real(arm: Arm, *settings: str) -> None:
    """Raise `Needs` where sets that these settings name are not on this machine.

    >>> require_real(FIRST_ROW, "data", "tokenizer")
    """
    names = [getattr(arm, setting) for setting in settings]
    if missing := [name for name in names if resolve(name) != name]:
        raise Needs(f"needs real data: run `python -m repro data fetch {' '.join(missing)}`")


def fills_lines(*sizes: int) -> bool:
    """Return True if rows of these sizes, in floats, fill whole cache lines.

    Matrix products round differently on rows that start within a line. If every row of every matrix
    fills whole lines, the bits of a run do not depend on its row in a stack.

    >>> fills_lines(32, 48), fills_lines(32, 40)
    (True, False)
    """
    return all(size % FLOATS_PER_LINE == 0 for size in sizes)
