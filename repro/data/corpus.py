"""WikiText-2 as one long stream of tokens: words, or byte pairs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from repro.data.bpe import load_tokenizer, tokenizer_hash
from repro.data.files import content_hash, read_file
from repro.data.prepared import identity, prepared
from repro.data.ragged import Tokens

END_OF_LINE = "<eos>"

_FILES = {
    "train": "wiki.train.tokens",
    "validation": "wiki.valid.tokens",
    "test": "wiki.test.tokens",
}
_VERSION = 1


@dataclass(frozen=True, eq=False)
class Corpus:
    """Three streams of token numbers below `vocabulary`."""

    name: str
    vocabulary: int
    train: Tokens
    validation: Tokens
    test: Tokens


def load_words(name: str) -> Corpus:
    """Load the words of `wikitext-2` or its twin; every line ends in one `<eos>`.

    Words are numbered in the order of their first appearance in the three files.

    >>> load_words("wikitext-2-twin").name
    'wikitext-2-twin'
    """
    return _corpus(name, prepared(words_identity(name), lambda: _prepare_words(name)))


def words_identity(name: str) -> str:
    """Return the content hash of these words.

    >>> words_identity("wikitext-2") == words_identity("wikitext-2-twin")
    False
    """
    return identity("words", _VERSION, content_hash(name, tuple(_FILES.values())))


def load_byte_pairs(name: str, *, tokenizer: str) -> Corpus:
    """Load the unchanged text of `wikitext-2` or its twin as tokens of a byte-pair vocabulary.

    >>> load_byte_pairs("wikitext-2-twin", tokenizer="gpt2-bpe-twin").vocabulary
    1024
    """
    address = byte_pairs_identity(name, tokenizer=tokenizer)
    return _corpus(name, prepared(address, lambda: _prepare_byte_pairs(name, tokenizer)))


def byte_pairs_identity(name: str, *, tokenizer: str) -> str:
    """Return the content hash of these tokens.

    >>> len(byte_pairs_identity("wikitext-2", tokenizer="gpt2-bpe"))
    64
    """
    content = content_hash(name, tuple(_FILES.values()))
    return identity("byte pairs", _VERSION, content, tokenizer_hash(tokenizer))


def load_paragraphs(name: str, *, tokenizer: str) -> Corpus:
    """Load the paragraphs of `wikitext-2` or its twin as tokens, with ends of text between them.

    >>> int(load_paragraphs("wikitext-2-twin", tokenizer="gpt2-bpe-twin").train[0])
    1023
    """
    address = paragraphs_identity(name, tokenizer=tokenizer)
    return _corpus(name, prepared(address, lambda: _prepare_paragraphs(name, tokenizer)))


def paragraphs_identity(name: str, *, tokenizer: str) -> str:
    """Return the content hash of these paragraphs.

    >>> len(paragraphs_identity("wikitext-2", tokenizer="gpt2-bpe"))
    64
    """
    return identity("paragraphs", _VERSION, byte_pairs_identity(name, tokenizer=tokenizer))


def _corpus(name: str, arrays: dict[str, Any]) -> Corpus:
    vocabulary = arrays.pop("vocabulary")
    return Corpus(name, int(vocabulary[0]), **arrays)


def _prepare_byte_pairs(name: str, tokenizer: str) -> dict[str, NDArray[np.generic]]:
    vocabulary = load_tokenizer(tokenizer)
    streams = _read(name, lambda text: np.array(vocabulary.encode(text), dtype=np.uint16))
    return {**streams, "vocabulary": np.array([len(vocabulary)])}


def _prepare_paragraphs(name: str, tokenizer: str) -> dict[str, NDArray[np.generic]]:
    vocabulary = load_tokenizer(tokenizer)

    def numbers(text: str) -> Tokens:
        paragraphs = filter(None, map(str.strip, text.split("\n")))
        tokens = [vocabulary.end_of_text]
        for paragraph in paragraphs:
            tokens += [*vocabulary.encode(paragraph), vocabulary.end_of_text]
        return np.array(tokens, dtype=np.uint16)

    return {**_read(name, numbers), "vocabulary": np.array([len(vocabulary)])}


def _read(name: str, numbers: Callable[[str], Tokens]) -> dict[str, NDArray[np.generic]]:
    return {part: numbers(read_file(name, file).decode("utf-8")) for part, file in _FILES.items()}


def _prepare_words(name: str) -> dict[str, NDArray[np.generic]]:
    known: dict[str, int] = {}

    def numbers(text: str) -> Tokens:
        lines = text.removesuffix("\n").split("\n")
        words = (word for line in lines for word in (*line.split(), END_OF_LINE))
        return np.array([known.setdefault(word, len(known)) for word in words], dtype=np.uint16)

    streams = _read(name, numbers)
    return {**streams, "vocabulary": np.array([len(known)])}
