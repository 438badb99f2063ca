"""The language model of source 001, word by word, as described in its text, and its measures.

Shapes: B sequences, T words, E embedding, H width, C context, V vocabulary.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from repro.core.streams import normal
from repro.core.study import Measures
from repro.data.word_windows import PAD, UNKNOWN
from repro.studies.context_vector.arms import ContextArm

CONTEXT_LIMIT = 10.0

CHUNK = 128
"""The number of sequences evaluated at once; another number would round sums differently."""

GATES = ("delta", "forget", "admit")
"""The layers of the context's update: the new part, the share of the old, the share of the new."""

LEVELS = 1 << 16
UNITS_A_DRAW = 4

_GOLDEN, _FIRST, _SECOND = (
    x - (1 << 64) for x in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)


class ContextLanguageModel(nn.Module):
    """A network that reads a word and the context, predicts the next word, updates the context."""

    def __init__(self, arm: ContextArm) -> None:
        super().__init__()
        self.arm = arm
        self.embedding = nn.Embedding(arm.vocabulary, arm.embedding)
        self.layers = nn.ModuleList(
            nn.Linear(arm.width if layer else arm.embedding + arm.context, arm.width)
            for layer in range(arm.layers)
        )
        self.head = nn.Linear(arm.width, arm.vocabulary)
        self.delta, self.forget, self.admit = (nn.Linear(arm.width, arm.context) for _ in range(3))
        self.norm = nn.LayerNorm(arm.context)

    def forward(
        self, words: Tensor, *, context: Tensor | None = None, keys: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Turn words [B, T] into logits [B, T, V] and the context after them, [B, C].

        A given context continues earlier words; keys [B] determine dropout.

        >>> logits, context = model(words[:, :10])
        >>> rest, _ = model(words[:, 10:], context=context)
        """
        arm = self.arm
        if context is None:
            context = torch.zeros(len(words), arm.context, device=words.device)
        steps = words.shape[1]
        factors = (
            dropout_factors(keys, share=arm.dropout, steps=steps, units=arm.layers * arm.width)
            if keys is not None and arm.dropout
            else None
        )  # [T, B, L*H]
        logits = []
        for step in range(steps):
            masks = factors[step].chunk(arm.layers, dim=-1) if factors is not None else None
            h = self._stack(torch.cat([self.embedding(words[:, step]), context], dim=-1), masks)
            logits.append(self.head(h))
            stays, enters = self.forget(h).sigmoid(), self.admit(h).sigmoid()
            context = self.norm(stays * context + enters * self.delta(h))
            context = context.clamp(-CONTEXT_LIMIT, CONTEXT_LIMIT)
        return torch.stack(logits, dim=1), context

    def _stack(self, h: Tensor, masks: tuple[Tensor, ...] | None) -> Tensor:
        """Apply the layers: [B, E+C] -> [B, H]."""
        for index, layer in enumerate(self.layers):
            u = layer(h)
            if self.arm.stack == "normalised":
                u = F.layer_norm(u, [self.arm.width])
            out = u.relu() if masks is None else u.relu() * masks[index]
            h = h + out if self.arm.stack == "residual" and index else out
        return h


def initial_parameters(arm: ContextArm, seed: int) -> dict[str, Tensor]:
    """Draw every parameter of a run, from the input to the output, each from its own stream."""

    def linear(name: str, rows: int, columns: int, std: float) -> dict[str, Tensor]:
        weight = normal(seed, f"initial/{name}", (rows, columns), std=std)
        return {f"{name}.weight": weight, f"{name}.bias": torch.zeros(rows)}

    shape = (arm.vocabulary, arm.embedding)
    tensors = {
        "embedding.weight": normal(seed, "initial/embedding", shape, std=arm.embedding_std),
    }
    for layer in range(arm.layers):
        reads = arm.width if layer else arm.embedding + arm.context
        he = math.sqrt(2 / reads)
        std = he if arm.initialisation == "he" else arm.weight_std
        tensors |= linear(f"layers.{layer}", arm.width, reads, std)
    tensors |= linear("head", arm.vocabulary, arm.width, arm.weight_std)
    for gate in GATES:
        tensors |= linear(gate, arm.context, arm.width, arm.weight_std)
    return tensors | {"norm.weight": torch.ones(arm.context), "norm.bias": torch.zeros(arm.context)}


def dropout_factors(keys: Tensor, *, share: float, steps: int, units: int) -> Tensor:
    """Return the factors of units, zero or above 1: [..., B] keys to [..., steps, B, units].

    `share` of the units (rounded to a 65536th) is dropped; the others grow to keep the mean. Which
    ones is a function of a sequence's key, the step and the unit: so both forms of the model
    drop the same units, with any other runs and on any device, where torch's own dropout depends on
    the order and the device of its calls. The function is SplitMix64 (Steele, Lea and Flood 2014),
    each of whose outputs decides four units, by sixteen bits each.

    >>> dropout_factors(torch.tensor([7]), share=0.5, steps=1, units=4).shape
    torch.Size([1, 1, 4])
    """
    draws = -(-units // UNITS_A_DRAW)
    counter = torch.arange(1, steps * draws + 1, device=keys.device).view(steps, 1, draws)
    bits = _mixed(keys[..., None, :, None] + counter * _GOLDEN)
    levels = bits.view(torch.int16)[..., :units]
    return (levels >= round(share * LEVELS) - LEVELS // 2) * dropout_scale(share)


def dropout_scale(share: float) -> float:
    """Return the factor of the units that are kept.

    >>> dropout_scale(0.5)
    2.0
    """
    return LEVELS / (LEVELS - round(share * LEVELS))


def _mixed(x: Tensor) -> Tensor:
    """Finalise like SplitMix64; shifts of signed numbers copy the sign, so they are masked."""
    x = (x ^ ((x >> 30) & ((1 << 34) - 1))) * _FIRST
    x = (x ^ ((x >> 27) & ((1 << 37) - 1))) * _SECOND
    return x ^ ((x >> 31) & ((1 << 33) - 1))


class Answers(NamedTuple):
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
        return cls(*(torch.cat(part, -1) for part in zip(*parts, strict=True)))

    def row(self, index: int) -> Answers:
        return Answers(*(part[index] for part in self))


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
    """Return how much answers differ between words: [R, N, T, V], [N, T] -> [R]."""
    return logits[:, y != PAD].std(1).mean(-1)


def _mean_of_means(sums: Tensor, counts: Tensor, batch: int) -> float:
    pairs = zip(torch.split(sums.double(), batch), torch.split(counts, batch), strict=True)
    return float(torch.stack([s.sum() / n.sum() for s, n in pairs]).mean())
