"""The measures of a run from its model's answers, for both forms of the model."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from repro.core.study import Measures
from repro.data.word_windows import PAD, UNKNOWN
from repro.studies.context_vector.arms import ContextArm

CHUNK = 128
"""The number of sequences evaluated at once; another number would round sums differently."""


@dataclass(frozen=True)
class Answers:
    """Sums over the words of each sequence without padding, each [..., N]."""

    loss: Tensor
    right: Tensor
    unknown: Tensor
    words: Tensor

    @classmethod
    def of(cls, logits: Tensor, y: Tensor) -> Answers:
        """Return the sums for logits [..., N, T, V] and the true next words, [..., N, T]."""
        counted = y != PAD
        losses = word_losses(logits, y)
        return cls(
            loss=losses.sum(-1),
            right=((logits.argmax(-1) == y) & counted).sum(-1),
            unknown=(y == UNKNOWN).sum(-1),
            words=counted.sum(-1),
        )

    @classmethod
    def joined(cls, parts: list[Answers]) -> Answers:
        return cls(*(torch.cat(part, -1) for part in zip(*map(_fields, parts), strict=True)))

    def row(self, index: int) -> Answers:
        return Answers(*(part[index] for part in _fields(self)))


def word_losses(logits: Tensor, y: Tensor) -> Tensor:
    """Return the loss of each word, 0 for padding: [..., T, V], [..., T] -> [..., T]."""
    losses = F.cross_entropy(logits.flatten(0, -2), y.flatten(), ignore_index=PAD, reduction="none")
    return losses.view(y.shape)


def mean_loss(logits: Tensor, y: Tensor) -> Tensor:
    """Return the mean over a batch's words, without padding: [R, B, T, V], [R, B, T] -> [R]."""
    return word_losses(logits, y).flatten(1).sum(1) / (y != PAD).flatten(1).sum(1)


def measures_of(
    arm: ContextArm,
    *,
    validation: Answers,
    train: Answers,
    logit_spread: float,
    gradient_norms: tuple[float, float],
    parameters: int,
    sequences: list[float],
) -> Measures:
    """Return one run's measures, each the mean of batch means; the last batch may be smaller.

    The source averages in the same way.
    """
    batch = arm.recipe.batch
    loss = _mean_of_means(validation.loss, validation.words, batch)
    accuracy = _mean_of_means(validation.right, validation.words, batch)
    whole, stack = gradient_norms
    return {
        "perplexity": math.exp(loss),
        "accuracy": accuracy,
        "validation_loss": loss,
        "lead_over_unknown": accuracy - _mean_of_means(validation.unknown, validation.words, batch),
        "generalisation_gap": loss - _mean_of_means(train.loss, train.words, batch),
        "gradient_norm": whole,
        "stack_gradient_norm": stack,
        "logit_spread": logit_spread,
        "parameters": parameters,
        "parameters_a_sequence": parameters / arm.sequences,
        "multiplications": arm.products * (arm.length - 1) * arm.epoch_sequences,
        "sequences": sequences,
    }


def spread(logits: Tensor, y: Tensor) -> Tensor:
    """Return how much answers differ between places: [R, N, T, V], [N, T] -> [R]."""
    return logits[:, y != PAD].std(1).mean(-1)


def _mean_of_means(sums: Tensor, counts: Tensor, batch: int) -> float:
    pairs = zip(torch.split(sums.double(), batch), torch.split(counts, batch), strict=True)
    return float(torch.stack([s.sum() / n.sum() for s, n in pairs]).mean())


def _fields(answers: Answers) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    return answers.loss, answers.right, answers.unknown, answers.words
