"""Sequences of words in each run's order, with keys for dropout."""

from __future__ import annotations

import torch
from torch import Tensor

from repro.core.streams import stream
from repro.data.word_windows import PAD, load_word_windows
from repro.studies.context_vector.arms import ContextArm


class ContextData:
    """The first words of each window; the last row of `train` is only padding."""

    def __init__(self, arm: ContextArm, device: torch.device) -> None:
        windows = load_word_windows(arm.data, vocabulary=arm.vocabulary)
        for part, wanted, lines in (
            ("training", arm.sequences, windows.train),
            ("validation", arm.validation_sequences, windows.validation),
        ):
            if wanted > len(lines):
                raise ValueError(
                    f"The arm asks for {wanted} {part} sequences and {windows.name} has"
                    f" {len(lines)}; give it at most that many."
                )
        train, validation = (
            torch.from_numpy(part[:count, : arm.length].astype("int64")).to(device)
            for part, count in (
                (windows.train, arm.sequences),
                (windows.validation, arm.validation_sequences),
            )
        )
        self.train = torch.cat([train, torch.full_like(train[:1], PAD)])  # [S+1, T+1]
        self.validation = validation  # [N, T+1]
        self.available = [float(len(part)) for part in (windows.train, windows.validation)]
        self.arm = arm

    def epoch(self, seed: int, number: int) -> Tensor:
        """Return [n, 2]: the number of a sequence (-1 for padding), and the key of its dropout.

        Sequences of padding, which do not count, fill the last batch. So it has the weight of any
        other batch, as in the source.
        """
        arm = self.arm
        whole, part = divmod(number, arm.epochs_a_pass)
        order = torch.randperm(arm.sequences, generator=stream(seed, f"order/{whole}"))
        order = order[part * arm.epoch_sequences : (part + 1) * arm.epoch_sequences]
        missing = -len(order) % arm.recipe.batch
        order = torch.cat([order, order.new_full((missing,), -1)])
        keys = torch.empty_like(order)
        keys.random_(generator=stream(seed, f"dropout/{number}"))
        return torch.stack([order, keys], dim=1)

    def batch(self, lines: Tensor) -> tuple[Tensor, ...]:
        """Turn lines [R, B, 2] into words [R, B, T], the next words, and keys [R, B]."""
        words = self.train[lines[..., 0]]
        return words[..., :-1], words[..., 1:], lines[..., 1]
