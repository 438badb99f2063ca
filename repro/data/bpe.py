"""GPT-2's byte-pair tokenizer: text to token numbers and back.

The published pattern uses Unicode's classes of letters and numbers, which Python's `re` does not
have. So every character outside ASCII is replaced by an ASCII character of its kind. An ASCII
pattern splits this text, and the pieces are cut from the original. The Unicode tables of the
running Python define letters and numbers; characters that it does not know are neither.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import pairwise

from repro.data.files import content_hash, file_names, read_file
from repro.data.locate import DataError
from repro.data.ragged import Ragged

END_OF_TEXT = "<|endoftext|>"
_BYTES = 256

_PIECES = re.compile(
    r"'s|'t|'re|'ve|'m|'ll|'d| ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+", re.ASCII
)


class _Kinds(dict[int, str]):
    """Maps each character outside ASCII to an ASCII character of its kind, at its first use."""

    def __missing__(self, code: int) -> str:
        if code < 0x80:
            kind = chr(code)
        elif chr(code).isspace():
            kind = "\t"
        else:
            # no contraction begins with "a"; "\x00" is no white space, letter or number
            kind = {"L": "a", "N": "0"}.get(unicodedata.category(chr(code))[0], "\x00")
        self[code] = kind
        return kind


_KINDS = _Kinds()


class Tokenizer:
    """A byte-pair vocabulary, with a cache of encoded pieces of text.

    >>> tokenizer = load_tokenizer("gpt2-bpe-twin")
    >>> tokenizer.decode(tokenizer.encode("any text at all"))
    'any text at all'
    """

    def __init__(self, encoder: Mapping[str, int], merges: Iterable[tuple[str, str]]) -> None:
        self._encoder = dict(encoder)
        self._ranks = {pair: rank for rank, pair in enumerate(merges)}
        self._symbols = byte_symbols()
        to_byte = {symbol: byte for byte, symbol in enumerate(self._symbols)}
        self._bytes = {
            number: token.encode()
            if token == END_OF_TEXT
            else bytes(to_byte[symbol] for symbol in token)
            for token, number in self._encoder.items()
        }
        self._known: dict[str, list[int]] = {}

    def __len__(self) -> int:
        return len(self._encoder)

    @property
    def end_of_text(self) -> int:
        """The token between texts, which no text contains."""
        return self._encoder[END_OF_TEXT]

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text.

        >>> load_tokenizer("gpt2-bpe-twin").encode("")
        []
        """
        known = self._known
        tokens: list[int] = []
        for piece in pieces_of(text):
            piece_tokens = known.get(piece)
            if piece_tokens is None:
                piece_tokens = known[piece] = self._encode_piece(piece)
            tokens += piece_tokens
        return tokens

    def encode_all(self, texts: Iterable[str]) -> Ragged:
        """Return the tokens of many texts.

        >>> len(load_tokenizer("gpt2-bpe-twin").encode_all(["one", "two"]))
        2
        """
        return Ragged.of([self.encode(text) for text in texts])

    def decode(self, tokens: Iterable[int]) -> str:
        """Return the text of tokens; bytes that are no UTF-8 become U+FFFD.

        >>> load_tokenizer("gpt2-bpe-twin").decode([])
        ''
        """
        joined = b"".join(self._bytes[int(token)] for token in tokens)
        return joined.decode("utf-8", errors="replace")

    def _encode_piece(self, piece: str) -> list[int]:
        word = [self._symbols[byte] for byte in piece.encode("utf-8")]
        while len(word) > 1:
            ranked = [(self._ranks[pair], pair) for pair in pairwise(word) if pair in self._ranks]
            if not ranked:
                break
            word = merge(word, *min(ranked)[1])
        return [self._encoder[symbol] for symbol in word]


@cache
def load_tokenizer(name: str) -> Tokenizer:
    """Load the tokenizer of `gpt2-bpe` or its twin from verified files, once in a process.

    `gpt2-bpe:1024` is a smaller vocabulary of 1,024 tokens, made by the first merges only. It can
    still encode every text.

    >>> load_tokenizer("gpt2-bpe-twin").end_of_text
    1023
    >>> load_tokenizer("gpt2-bpe-twin:512").end_of_text
    511
    """
    name, _, size = name.partition(":")
    encoder = json.loads(read_file(name, "encoder.json"))
    lines = read_file(name, "vocab.bpe").decode("utf-8").split("\n")
    merges = [(first, second) for first, second in (x.split(" ") for x in lines[1:] if x)]
    if not size:
        return Tokenizer(encoder, merges)
    kept = int(size) if size.isdigit() else 0
    if not _BYTES < kept <= len(encoder):
        raise DataError(
            f"{name}:{size} is no vocabulary: after the colon stands how many tokens it has, from"
            f" {_BYTES + 1} to {len(encoder)}."
        )
    smaller = {token: number for token, number in encoder.items() if number < kept - 1}
    return Tokenizer({**smaller, END_OF_TEXT: kept - 1}, merges[: kept - 1 - _BYTES])


def tokenizer_hash(name: str) -> str:
    """Return the content hash of a vocabulary.

    >>> tokenizer_hash("gpt2-bpe") == tokenizer_hash("gpt2-bpe-twin")
    False
    """
    name, colon, size = name.partition(":")
    whole = content_hash(name, tuple(file_names(name)))
    return f"{whole}{colon}{size}"


def pieces_of(text: str) -> list[str]:
    """Cut a text into the pieces that are encoded separately.

    >>> pieces_of("It's  1 word")
    ['It', "'s", ' ', ' 1', ' word']
    """
    if text.isascii():
        return _PIECES.findall(text)
    kinds = text.translate(_KINDS)
    return [text[match.start() : match.end()] for match in _PIECES.finditer(kinds)]


def byte_symbols() -> list[str]:
    """Return the printable character that stands for each byte in the vocabulary's files.

    >>> byte_symbols()[ord("a")], byte_symbols()[ord(" ")]
    ('a', 'Ġ')
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    symbols = {byte: chr(byte) for byte in printable}
    symbols |= {byte: chr(256 + index) for index, byte in enumerate(others)}
    return [symbols[byte] for byte in range(256)]


def merge(word: list[str], first: str, second: str) -> list[str]:
    """Join every occurrence of a pair in a word into one symbol, from the left.

    >>> merge(["a", "a", "a"], "a", "a")
    ['aa', 'a']
    """
    merged: list[str] = []
    index = 0
    while index < len(word):
        if word[index] == first and index + 1 < len(word) and word[index + 1] == second:
            merged.append(first + second)
            index += 2
        else:
            merged.append(word[index])
            index += 1
    return merged
