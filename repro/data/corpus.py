"""WikiText-2 as one long stream of tokens: words, or byte pairs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from repro.data.bpe import load_tokenizer, tokenizer_hash
from repro.data.files import content_hash, hash_of_all, read_file
from repro.data.prepared import Arrays, prepared
from repro.data.ragged import Tokens

END_OF_LINE = "<eos>"

_FILES = {
    "train": "wiki.train.tokens",
    "validation": "wiki.valid.tokens",
    "test": "wiki.test.tokens",
}


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
    return _corpus(name, _prepare_words(name))


def load_byte_pairs(name: str, *, tokenizer: str) -> Corpus:
    """Load the unchanged text of `wikitext-2` or its twin as tokens of a byte-pair vocabulary.

    >>> load_byte_pairs("wikitext-2-twin", tokenizer="gpt2-bpe-twin").vocabulary
    1024
    """
    return _corpus(name, _prepare_byte_pairs(name, tokenizer))


def corpus_hash(name: str, *, tokenizer: str) -> str:
    """Return the hash of the text and the tokenizer behind these tokens.

    >>> len(corpus_hash("wikitext-2", tokenizer="gpt2-bpe"))
    64
    """
    content = content_hash(name, tuple(_FILES.values()))
    return hash_of_all(content, tokenizer_hash(tokenizer))


def load_paragraphs(name: str, *, tokenizer: str) -> Corpus:
    """Load the paragraphs of `wikitext-2` or its twin as tokens, with ends of text between them.

    >>> int(load_paragraphs("wikitext-2-twin", tokenizer="gpt2-bpe-twin").train[0])
    1023
    """
    return _corpus(name, _prepare_paragraphs(name, tokenizer))


def _corpus(name: str, arrays: Arrays) -> Corpus:
    vocabulary = arrays.pop("vocabulary")
    return Corpus(name, int(vocabulary[0]), **arrays)


@prepared
def _prepare_byte_pairs(name: str, tokenizer: str) -> Arrays:
    vocabulary = load_tokenizer(tokenizer)
    streams = _read(name, lambda text: np.array(vocabulary.encode(text), dtype=np.uint16))
    return {**streams, "vocabulary": np.array([len(vocabulary)])}


@prepared
def _prepare_paragraphs(name: str, tokenizer: str) -> Arrays:
    vocabulary = load_tokenizer(tokenizer)

    def numbers(text: str) -> Tokens:
        paragraphs = filter(None, map(str.strip, text.split("\n")))
        tokens = [vocabulary.end_of_text]
        for paragraph in paragraphs:
            tokens += [*vocabulary.encode(paragraph), vocabulary.end_of_text]
        return np.array(tokens, dtype=np.uint16)

    return {**_read(name, numbers), "vocabulary": np.array([len(vocabulary)])}


def _read(name: str, numbers: Callable[[str], Tokens]) -> Arrays:
    return {part: numbers(read_file(name, file).decode("utf-8")) for part, file in _FILES.items()}


@prepared
def _prepare_words(name: str) -> Arrays:
    known: dict[str, int] = {}

    def numbers(text: str) -> Tokens:
        lines = text.removesuffix("\n").split("\n")
        words = (word for line in lines for word in (*line.split(), END_OF_LINE))
        return np.array([known.setdefault(word, len(known)) for word in words], dtype=np.uint16)

    streams = _read(name, numbers)
    return {**streams, "vocabulary": np.array([len(known)])}
