"""BLiMP's minimal pairs of a good and a bad sentence, which differ as little as possible."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from repro.data.bpe import load_tokenizer, tokenizer_hash
from repro.data.files import content_hash, file_names, hash_of_all, read_file
from repro.data.prepared import Arrays, prepared
from repro.data.ragged import Ragged


@dataclass(frozen=True, eq=False)
class MinimalPairs:
    """The pairs of all paradigms, one paradigm after the other."""

    name: str
    paradigms: tuple[str, ...]
    paradigm: NDArray[np.int64]
    """The index of each pair's paradigm in `paradigms`."""

    good: Ragged
    bad: Ragged


def load_pairs(name: str, *, tokenizer: str) -> MinimalPairs:
    """Load the pairs of `blimp` or its twin as tokens of a byte-pair vocabulary.

    >>> load_pairs("blimp-twin", tokenizer="gpt2-bpe-twin").paradigms[0]
    'agreement_across_clause'
    """
    arrays = _prepare(name, tokenizer)
    return MinimalPairs(
        name,
        tuple(arrays["paradigms"].tolist()),
        arrays["paradigm"],
        Ragged.among(arrays, "good"),
        Ragged.among(arrays, "bad"),
    )


def pairs_hash(name: str, *, tokenizer: str) -> str:
    """Return the hash of the pairs and the tokenizer.

    >>> len(pairs_hash("blimp", tokenizer="gpt2-bpe"))
    64
    """
    content = content_hash(name, tuple(file_names(name)))
    return hash_of_all(content, tokenizer_hash(tokenizer))


def read_pairs(name: str) -> dict[str, list[tuple[str, str]]]:
    """Read the good and the bad sentences, by paradigm.

    >>> len(read_pairs("blimp-twin"))
    6
    """
    by_paradigm = {}
    for file in file_names(name):
        records = [json.loads(line) for line in read_file(name, file).splitlines()]
        pairs = [(record["sentence_good"], record["sentence_bad"]) for record in records]
        by_paradigm[file.removesuffix(".jsonl")] = pairs
    return by_paradigm


@prepared
def _prepare(name: str, tokenizer: str) -> Arrays:
    vocabulary = load_tokenizer(tokenizer)
    by_paradigm = read_pairs(name)
    counts = [len(pairs) for pairs in by_paradigm.values()]
    pairs = [pair for paradigm in by_paradigm.values() for pair in paradigm]
    return {
        "paradigms": np.array(list(by_paradigm)),
        "paradigm": np.repeat(np.arange(len(counts)), counts),
        **vocabulary.encode_all(good for good, _ in pairs).arrays("good"),
        **vocabulary.encode_all(bad for _, bad in pairs).arrays("bad"),
    }
