"""A small vocabulary for a small model: frequent tokens, and one number for all others."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from repro.data.bpe import load_tokenizer
from repro.data.corpus import load_byte_pairs
from repro.data.messages import load_messages

Numbers = NDArray[np.int64]

TWICE = 2
"""Tokens that occur this often in the training messages are always kept."""


@cache
def renumbered(*, corpus: str, messages: str, tokenizer: str, size: int) -> Numbers:
    """Return the new number of each token of the tokenizer, in a vocabulary of at most `size`.

    It keeps the end of text, the tokens that occur more than once in the training messages, and
    then the most frequent tokens of the corpus. All others share the last number.
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
