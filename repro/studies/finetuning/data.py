"""Messages as tokens, or as outputs of the network's frozen part, which are computed once.

Shapes: N messages, T tokens, d width, R runs, B messages of a batch.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from repro.core.streams import stream
from repro.core.weights import Parameters, to_file
from repro.data.bpe import load_tokenizer
from repro.data.corpus import load_byte_pairs
from repro.data.messages import PARTS, Messages, load_messages
from repro.studies.finetuning.arms import FinetuneArm
from repro.studies.finetuning.model import AttentionMask, Gpt

CHUNK = 128
"""The number of messages computed at once; another number would round sums differently."""


@cache
def renumbered(*, corpus: str, messages: str, tokenizer: str, size: int) -> NDArray[np.int64]:
    """Return the new number of each token of the tokenizer, in a vocabulary of at most `size`.

    It keeps the end of text, the tokens that occur in the training messages, and then the most
    frequent tokens of the corpus. All others share the last number.
    """
    vocabulary = load_tokenizer(tokenizer)
    if len(vocabulary) <= size:
        return np.arange(len(vocabulary))
    in_messages = load_messages(messages, tokenizer=tokenizer).train.tokens.tokens
    in_corpus = load_byte_pairs(corpus, tokenizer=tokenizer).train
    ours, theirs = (np.bincount(x, minlength=len(vocabulary)) for x in (in_messages, in_corpus))
    order = np.lexsort((-theirs, ours == 0))
    kept = [vocabulary.end_of_text, *order[order != vocabulary.end_of_text]][: size - 1]
    numbers = np.full(len(vocabulary), size - 1)
    numbers[kept] = np.arange(size - 1)
    return numbers


@dataclass(frozen=True)
class Part:
    """The messages for training, validation or test."""

    x: Tensor  # tokens [N, T], or features [N, T, d]
    read: Tensor  # [N], the position that is read
    words: Tensor | None  # [N, T], where a message has words, if padding is not attended to
    is_spam: Tensor  # [N]

    def rows(self, index: Any) -> tuple[Tensor, ...]:
        """Return x, positions, labels, and, if they matter, words of these messages."""
        given = (self.x, self.read, self.is_spam, self.words)
        return tuple(tensor[index] for tensor in given if tensor is not None)


class FinetuneData:
    """The three parts, and the pretrained parameters of every run, if there are any."""

    def __init__(
        self, arm: FinetuneArm, pretrained: Parameters | None, device: torch.device
    ) -> None:
        self.pretrained = pretrained
        tokenizer = load_tokenizer(arm.tokenizer)
        numbers = torch.arange(len(tokenizer))
        if arm.vocabulary is not None:
            numbers = torch.from_numpy(
                renumbered(
                    corpus=arm.corpus,
                    messages=arm.data,
                    tokenizer=arm.tokenizer,
                    size=arm.vocabulary,
                )
            )
        self.vocabulary = int(numbers.max()) + 1
        all_messages = load_messages(arm.data, tokenizer=arm.tokenizer)
        self.longest = int(all_messages.train.tokens.lengths.max())
        length = arm.length
        if arm.padding != "context":
            length = min(length, self.longest)
        parts: dict[str, Part] = {}
        for name in PARTS:
            messages: Messages = getattr(all_messages, name)
            padded = messages.tokens.padded(length, fill=tokenizer.end_of_text).astype(np.int64)
            parts[name] = _part(arm, messages, numbers[torch.from_numpy(padded)], device)
        if arm.is_frozen_below:
            assert pretrained is not None, "a frozen part must have been pretrained"
            parts = _features(arm, parts, pretrained, device)
        self.train, self.validation, self.test = (parts[name] for name in PARTS)

    def epoch(self, seed: int, number: int) -> Tensor:
        """Return [N, 1]: the number of a message."""
        count = len(self.train.is_spam)
        return torch.randperm(count, generator=stream(seed, f"order/{number}"))[:, None]

    def batch(self, lines: Tensor) -> tuple[Tensor, ...]:
        """Turn lines [R, B, 1] into x [R, B, T, …], positions, labels, and perhaps words."""
        return self.train.rows(lines[..., 0])


def _part(arm: FinetuneArm, messages: Messages, tokens: Tensor, device: torch.device) -> Part:
    length = tokens.shape[1]
    ends = torch.from_numpy(np.minimum(messages.tokens.lengths, length))
    last_word = (ends - 1).clamp(min=0)
    reads_words = arm.token == "last word" or arm.padding == "none"
    read = last_word if reads_words else torch.full_like(ends, length - 1)
    if arm.token == "first":
        read = torch.zeros_like(ends)
        if arm.causal:
            tokens = tokens[:, :1]  # with the causal mask, the first position sees nothing else
    if reads_words and arm.causal and arm.padding == "context":
        tokens = tokens[:, : int(ends.max())]  # nor is padding behind all messages seen
    words = None
    # with the causal mask, the last word sees nothing behind it
    if not arm.attends_padding or (arm.padding == "none" and not arm.causal):
        words = (torch.arange(tokens.shape[1]) <= last_word[:, None]).to(device)
    is_spam = torch.from_numpy(messages.is_spam.astype(np.int64))
    return Part(tokens.to(device), read.to(device), words, is_spam.to(device))


_COMPUTED: dict[tuple[object, ...], dict[str, Tensor]] = {}
"""The last computed features, shared by all seeds, epochs and arms."""

KEPT_BYTES = 400e6
"""The most bytes of kept features; the last features are kept at any size."""


def _kept_bytes() -> int:
    return sum(x.nbytes for parts in _COMPUTED.values() for x in parts.values())


def _features(
    arm: FinetuneArm, parts: dict[str, Part], pretrained: Parameters, device: torch.device
) -> dict[str, Part]:
    """Return the parts with the outputs of the frozen part instead of tokens."""
    what = [to_file(pretrained), *(part.x.cpu().numpy().tobytes() for part in parts.values())]
    if not arm.trained_blocks:  # only the outputs at the position of the answer are kept
        what.append(parts["test"].read.cpu().numpy().tobytes() + arm.token.encode())
    key = (
        hashlib.sha256(b"".join(what)).hexdigest(),
        *(arm.frozen_blocks, arm.causal, arm.attends_padding),
        parts["test"].words is None,
        str(device),
    )
    if key not in _COMPUTED:
        _COMPUTED[key] = {name: computed(arm, part, pretrained) for name, part in parts.items()}
        while _kept_bytes() > KEPT_BYTES and len(_COMPUTED) > 1:
            del _COMPUTED[next(iter(_COMPUTED))]  # the oldest
    return {
        name: Part(_COMPUTED[key][name], part.read, part.words, part.is_spam)
        for name, part in parts.items()
    }


@torch.no_grad()
def computed(arm: FinetuneArm, part: Part, pretrained: Parameters) -> Tensor:
    """Compute the frozen part: [N, T, d], or [N, 1, d] where all blocks are frozen."""
    gpt = Gpt(arm.shape, vocabulary=len(pretrained["tokens.weight"]))
    gpt.load_state_dict(pretrained)
    gpt.to(part.x.device)
    features = []
    for at in range(0, len(part.x), CHUNK):
        rows = slice(at, at + CHUNK)
        h = gpt.embed(part.x[rows])
        mask = AttentionMask(arm.causal, None if part.words is None else part.words[rows])
        for block in gpt.blocks[: arm.frozen_blocks]:
            h = block(h, mask)
        if not arm.trained_blocks:
            h = gpt.norm(h)
            positions = part.read[rows][:, None, None].expand(-1, 1, h.shape[2])
            h = h.mean(1, keepdim=True) if arm.token == "mean" else h.gather(1, positions)
        features.append(h)
    return torch.cat(features)
