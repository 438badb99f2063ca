"""Finds the study that trains an arm."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from repro.arm import Arm

if TYPE_CHECKING:
    from repro.core.study import Study, TrainsOutside


def study_of(arm: Arm) -> Study | TrainsOutside:
    """Import the study of an arm, and with it torch."""
    study: Study | TrainsOutside = import_module(arm.study).STUDY
    return study
