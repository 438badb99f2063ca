"""Scores of texts as in the literature: BLiMP's pairs, and the last words of LAMBADA.

A decoder scores a text by the sum of its tokens' log-probabilities, each given the earlier tokens;
before the first token stands the token between texts. An encoder scores it by the
pseudo-log-likelihood (Salazar et al. 2020): the same sum, but each token is masked and all others
are given. Texts of one length are scored together, so that no padding is needed.

Shapes: B texts, T tokens, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Logits = Callable[[Tensor], Tensor]
"""A model as a function of tokens [B, T] that returns logits [B, T, V]."""

TOKENS_AT_ONCE = 4096

CPU = torch.device("cpu")

Texts = Sequence[NDArray[np.uint16]]


@dataclass(frozen=True)
class Reader:
    """A model that scores texts: from left to right, or by masks.

    >>> Reader(model, end=1023).scores([np.array([5, 7], dtype=np.uint16)]).shape
    torch.Size([1])
    """

    logits: Logits
    end: int
    """The token between texts; a decoder reads it before a text, an encoder before and after."""

    mask: int | None = None
    """The token that masks predicted tokens of an encoder; None for a decoder."""

    at_once: int = TOKENS_AT_ONCE

    device: torch.device = CPU
    """The device of the model; only the logits that a score needs are copied from it."""

    @torch.no_grad()
    def scores(self, texts: Texts) -> Tensor:
        """Return the (pseudo-)log-likelihood of each text."""
        totals = torch.zeros(len(texts), dtype=torch.float64)
        score = self._left_to_right if self.mask is None else self._one_by_one
        for rows, tokens in self._by_length(texts, [0] * len(texts)):
            totals[rows] = score(tokens)
        return totals

    @torch.no_grad()
    def last_words(self, contexts: Texts, words: Texts, *, longest: int) -> LastWords:
        """Score the word after each context by all its tokens, each given the earlier ones.

        A decoder reads the context without a token before it. An encoder reads a mask for each
        token of the word. Of a text longer than `longest`, only the end is read.
        """
        score = torch.zeros(len(words), dtype=torch.float64)
        first = torch.zeros(len(words), dtype=torch.bool)
        room = longest + 1 if self.mask is None else longest - 2  # not reading the last, or framed
        cut = [
            np.concatenate([context, word])[-room:]
            for context, word in zip(contexts, words, strict=True)
        ]
        for rows, tokens in self._by_length(cut, [len(word) for word in words]):
            count = len(words[rows[0]])
            targets = tokens[:, -count:]  # [B, n]
            logits = self._of_last(tokens, count)  # [B, n, V]
            score[rows] = log_probability(logits, targets).sum(1)
            first[rows] = (logits.argmax(2) == targets).all(1).cpu()
        return LastWords(score, first)

    def _of_last(self, tokens: Tensor, count: int) -> Tensor:
        """Return logits for the last `count` positions: [B, T] -> [B, n, V]."""
        if self.mask is None:
            return self.logits(tokens[:, :-1])[:, -count:]
        hidden = tokens.clone()
        hidden[:, -count:] = self.mask
        return self.logits(self._framed(hidden))[:, -count - 1 : -1]

    def _left_to_right(self, tokens: Tensor) -> Tensor:  # [B, T] -> [B]
        return log_probability(self.logits(self._framed(tokens)[:, :-1]), tokens).sum(1)

    def _one_by_one(self, tokens: Tensor) -> Tensor:  # [B, T] -> [B]
        assert self.mask is not None
        count = tokens.shape[1]
        position = torch.arange(count, device=self.device).repeat(len(tokens))[:, None]  # [B T, 1]
        hidden = tokens.repeat_interleave(count, 0)  # [B T, T]
        targets = hidden.gather(1, position)
        framed = self._framed(hidden.scatter(1, position, self.mask))
        size = max(1, self.at_once // framed.shape[1])
        scores = [
            log_probability(self.logits(some).take_along_dim(at[:, :, None] + 1, 1), wanted)[:, 0]
            for some, at, wanted in zip(
                *(torch.split(x, size) for x in (framed, position, targets)), strict=True
            )
        ]
        return torch.cat(scores).view(-1, count).sum(1)

    def _framed(self, tokens: Tensor) -> Tensor:
        """Add end-of-text tokens: [B, T] -> [B, T+1] for a decoder, [B, T+2] for an encoder."""
        ends = torch.full_like(tokens[:, :1], self.end)
        return torch.cat([ends, tokens] if self.mask is None else [ends, tokens, ends], dim=1)

    def _by_length(self, texts: Texts, kinds: Sequence[int]) -> Iterator[tuple[list[int], Tensor]]:
        """Yield groups of texts of one length and kind: their indices, and tokens [B, T]."""
        groups: dict[tuple[int, int], list[int]] = {}
        for row, (text, kind) in enumerate(zip(texts, kinds, strict=True)):
            groups.setdefault((len(text), kind), []).append(row)
        for (length, _), rows in sorted(groups.items()):
            size = max(1, self.at_once // (length + 2))
            for at in range(0, len(rows), size):
                some = rows[at : at + size]
                stacked = np.stack([texts[row].astype(np.int64) for row in some])
                yield some, torch.from_numpy(stacked).to(self.device)


def log_probability(logits: Tensor, tokens: Tensor) -> Tensor:
    """Return the log-probability of each token: [..., V], [...] -> [...]."""
    log_p = logits.float().log_softmax(-1)
    return log_p.gather(-1, tokens[..., None]).squeeze(-1).cpu().double()


@dataclass(frozen=True)
class LastWords:
    """A model's predictions of the last words of passages."""

    score: Tensor
    """The log-probability of the whole word: [passages]."""

    is_first: Tensor
    """True where each token of the word is the most likely one at its position: [passages]."""

    @property
    def accuracy(self) -> float:
        """The share of words with all tokens predicted."""
        return float(self.is_first.double().mean())

    @property
    def perplexity(self) -> float:
        """The perplexity per word, with any number of tokens."""
        return float(self.score.neg().mean().exp())


def preferred(good: Tensor, bad: Tensor) -> Tensor:
    """Return for each pair 1 if the good sentence scores higher, and 0.5 if both scores are equal.

    >>> preferred(torch.tensor([-1.0, -2.0]), torch.tensor([-3.0, -2.0])).tolist()
    [1.0, 0.5]
    """
    return (good > bad).double() + 0.5 * (good == bad).double()


def by_paradigm(right: Tensor, paradigm: NDArray[np.int64]) -> list[float]:
    """Return the mean of each paradigm, in their order.

    >>> by_paradigm(torch.tensor([1.0, 0.0, 1.0]), np.array([0, 0, 1]))
    [0.5, 1.0]
    """
    index = torch.from_numpy(paradigm)
    return [float(right[index == n].mean()) for n in range(int(index.max()) + 1)]


@torch.no_grad()
def mutual_information(logits: Tensor) -> float:
    """Return how much a model's answers [answers, V] depend on its input, in nats.

    It is the mutual information of input and answer: the entropy of the mean answer minus the mean
    entropy. A collapsed model, with the same answer to any input, has 0.

    >>> mutual_information(torch.zeros(3, 4))
    0.0
    """
    log_p = logits.double().log_softmax(-1)
    p = log_p.exp()
    mean = p.mean(0)
    of_mean = -(mean * mean.clamp_min(1e-300).log()).sum()
    return float((of_mean - (-(p * log_p).sum(-1)).mean()).clamp_min(0.0))
