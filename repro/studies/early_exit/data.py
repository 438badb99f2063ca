"""Adjacent windows of characters, in the same order in every epoch."""

from __future__ import annotations

import torch
from torch import Tensor

from repro.data.characters import batches, load_characters
from repro.studies.early_exit.arms import LENGTH, VALIDATION_BATCH, ExitArm


class ExitData:
    """Windows of 64 characters; the targets are the same windows, one character later."""

    def __init__(self, arm: ExitArm, device: torch.device) -> None:
        text = load_characters(arm.data, training=arm.characters)
        self.alphabet = len(text.alphabet)
        train, validation = (
            torch.from_numpy(batches(part, length=LENGTH, batch=batch).astype("int64")).to(device)
            for part, batch in ((text.train, arm.recipe.batch), (text.validation, VALIDATION_BATCH))
        )
        self.train = train.flatten(0, 1)  # [N, 65]
        self.validation = validation  # [batches, 32, 65]

    def epoch(self, seed: int, number: int) -> Tensor:
        """Return [N, 2]: a window, in the order of the text, and the epoch for dynamic weights."""
        windows = torch.arange(len(self.train))
        return torch.stack([windows, torch.full_like(windows, number)], dim=1)

    def batch(self, lines: Tensor) -> tuple[Tensor, ...]:
        """Turn lines [R, B, 2] into characters [R, B, 64], next characters, and epochs [R, B]."""
        windows = self.train[lines[..., 0]]
        return windows[..., :-1], windows[..., 1:], lines[..., 1]
