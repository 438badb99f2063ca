"""A small vocabulary for a small model: the tokens that matter here, and one for all others."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from repro.data.bpe import load_tokenizer
from repro.data.corpus import load_byte_pairs
from repro.data.messages import load_messages

Numbers = NDArray[np.int64]

TWICE = 2
"""The number of times that the training messages must have a token to keep it in any case."""


@cache
def renumbered(*, corpus: str, messages: str, tokenizer: str, size: int) -> Numbers:
    """Return the number of each of the tokenizer's tokens in a vocabulary of at most `size`.

    Kept are the end of a text, the tokens that the training messages have more than once, and then
    the commonest tokens of the corpus. All others share the last number.
    """
    vocabulary = load_tokenizer(tokenizer)
    if len(vocabulary) <= size:
        return np.arange(len(vocabulary))
    in_messages = load_messages(messages, tokenizer=tokenizer).train.tokens.tokens
    in_corpus = load_byte_pairs(corpus, tokenizer=tokenizer).train
    ours, theirs = (np.bincount(x, minlength=len(vocabulary)) for x in (in_messages, in_corpus))
    order = np.lexsort((-theirs, -np.minimum(ours, TWICE) // TWICE))
    kept = [vocabulary.end_of_text, *order[order != vocabulary.end_of_text]][: size - 1]
    numbers = np.full(len(vocabulary), size - 1)
    numbers[kept] = np.arange(size - 1)
    return numbers
