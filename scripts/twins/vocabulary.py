"""A byte-pair vocabulary for the twins, made like GPT-2's by joining the most frequent pairs."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import pairwise

from repro.data.bpe import END_OF_TEXT, byte_symbols, merge, pieces_of

SIZE = 1024


def generate(texts: Iterable[str]) -> dict[str, str]:
    """Generate the files of the vocabulary, by name."""
    merges = _merges(Counter(piece for text in texts for piece in pieces_of(text)))
    symbols = sorted(byte_symbols())  # GPT-2's order: by printed character
    tokens = [*symbols, *(first + second for first, second in merges), END_OF_TEXT]
    return {
        "encoder.json": json.dumps({token: number for number, token in enumerate(tokens)}),
        "vocab.bpe": "\n".join(["#version: 0.2", *map(" ".join, merges), ""]),
    }


def _merges(pieces: Counter[str]) -> list[tuple[str, str]]:
    symbols = byte_symbols()
    words = [[symbols[byte] for byte in piece.encode()] for piece in pieces]
    times = list(pieces.values())
    counts: Counter[tuple[str, str]] = Counter()
    where: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
    for index, word in enumerate(words):
        for pair in pairwise(word):
            counts[pair] += times[index]
            where[pair].add(index)
    merges = []
    for _ in range(SIZE - len(symbols) - 1):
        best = min(counts, key=lambda pair: (-counts[pair], pair))
        merges.append(best)
        for index in where.pop(best):
            for pair in pairwise(words[index]):
                counts[pair] -= times[index]
            words[index] = merge(words[index], *best)
            for pair in pairwise(words[index]):
                counts[pair] += times[index]
                where[pair].add(index)
        del counts[best]
    return merges
