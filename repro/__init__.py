"""Claims of machine-learning write-ups as tests: trained over seeds, judged with stated errors."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from repro.marks import claim, figure

if TYPE_CHECKING:
    from repro.arm import Arm, Metric, Needs
    from repro.own.arm import ModuleArm, OutsideArm
    from repro.own.command import CommandStudy, TimingStudy
    from repro.own.module import ModuleStudy
    from repro.own.outside import OutsideStudy
    from repro.own.trainers import LightningStudy, TrainerStudy
    from repro.recipe import Recipe

__all__ = [
    "Arm",
    "CommandStudy",
    "LightningStudy",
    "Metric",
    "ModuleArm",
    "ModuleStudy",
    "Needs",
    "OutsideArm",
    "OutsideStudy",
    "Recipe",
    "TimingStudy",
    "TrainerStudy",
    "claim",
    "figure",
]
__version__ = "0.1.0"

_PLACES = {
    "Arm": "arm",
    "CommandStudy": "own.command",
    "LightningStudy": "own.trainers",
    "Metric": "arm",
    "ModuleArm": "own.arm",
    "ModuleStudy": "own.module",
    "Needs": "arm",
    "OutsideArm": "own.arm",
    "OutsideStudy": "own.outside",
    "Recipe": "recipe",
    "TimingStudy": "own.command",
    "TrainerStudy": "own.trainers",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that a claim file does not import torch."""
    if name == "judge":  # a package that can be called
        return import_module("repro.judge")
    if name not in _PLACES:
        raise AttributeError(f"module 'repro' has no attribute {name!r}")
    return getattr(import_module(f"repro.{_PLACES[name]}"), name)
