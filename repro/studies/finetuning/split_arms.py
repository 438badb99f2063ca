"""Arms of source 003 whose seeds differ in their messages, too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from repro.arm import Metric
from repro.studies.finetuning.arms import TRAINING_MESSAGES, FinetuneArm


@dataclass(frozen=True, kw_only=True)
class SplitArm(FinetuneArm):
    """A finetuned GPT with a split of the messages of its own for each seed.

    The source has one split. Its 300 test messages limit what any number of seeds can say; here
    seeds average over messages.

    >>> SplitArm(trained="lora")
    """

    study: ClassVar[str] = "repro.studies.finetuning.splits"
    metrics: ClassVar[dict[str, Metric]] = {
        "test_accuracy": Metric("identity"),
        "validation_accuracy": Metric("identity"),
        "train_accuracy": Metric("log-odds", examples=TRAINING_MESSAGES),
        "train_over_test": Metric("identity"),
        "train_over_validation": Metric("identity"),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.is_frozen_below:
            raise ValueError(
                f"trained={self.trained!r} computes its frozen part once for all seeds, and a"
                " SplitArm has other messages in each: train 'all' or 'lora'."
            )

    @property
    def label(self) -> str:
        """The usual label, with what a comparison of rates varies."""
        recipe = self.recipe
        return f"{super().label}, split by seed, rate {recipe.lr:g}, {recipe.epochs} epochs"
