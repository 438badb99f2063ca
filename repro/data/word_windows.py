"""Source 001's windows: 64 words of a small vocabulary, from single lines of WikiText-2.

The source read the raw edition. The word-level edition gives the same lines and counts, if its
literal `<unk>` is read as the unknown word.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from repro.data.files import content_hash, read_file
from repro.data.prepared import Arrays, prepared

PAD, UNKNOWN, BEGIN, END = range(4)
SPECIAL = ("<pad>", "<unk>", "<bos>", "<eos>")

LENGTH, STRIDE, SHORTEST = 64, 32, 5
"""Words of a window, words between two starts of windows, and the least words of a used line."""

_FILES = ("wiki.train.tokens", "wiki.valid.tokens")


@dataclass(frozen=True, eq=False)
class WordWindows:
    """Word numbers [windows, 64], padded with 0 at the end."""

    name: str
    words: tuple[str, ...]
    train: NDArray[np.uint16]
    validation: NDArray[np.uint16]


def load_word_windows(name: str, *, vocabulary: int) -> WordWindows:
    """Load the windows of `wikitext-2` or its twin over its most frequent words.

    >>> load_word_windows("wikitext-2-twin", vocabulary=1000).train.shape[1]
    64
    """
    arrays = _prepare(name, vocabulary)
    words = tuple(arrays["words"].tolist())
    return WordWindows(name, words, arrays["train"], arrays["validation"])


def word_windows_hash(name: str) -> str:
    """Return the hash of the text behind these windows.

    >>> len(word_windows_hash("wikitext-2"))
    64
    """
    return content_hash(name, _FILES)


def lines_of_text(content: str) -> list[list[str]]:
    """Return the words of every line that is not blank, in lower case.

    >>> lines_of_text(" = Title = \\n \\n A b .\\n")
    [['=', 'title', '='], ['a', 'b', '.']]
    """
    return [words for line in content.split("\n") if (words := line.lower().split())]


@prepared
def _prepare(name: str, vocabulary: int) -> Arrays:
    train, validation = (lines_of_text(read_file(name, file).decode("utf-8")) for file in _FILES)
    counts = Counter(word for line in train for word in line)
    del counts[SPECIAL[UNKNOWN]]
    words = [*SPECIAL, *(word for word, _ in counts.most_common(vocabulary - len(SPECIAL)))]
    numbers = {word: number for number, word in enumerate(words)}
    windows = [
        np.array([w for line in lines for w in _windows(line, numbers)], dtype=np.uint16)
        for lines in (train, validation)
    ]
    return {"words": np.array(words), "train": windows[0], "validation": windows[1]}


def _windows(line: Sequence[str], numbers: Mapping[str, int]) -> Iterator[list[int]]:
    if len(line) < SHORTEST:
        return
    ids = [BEGIN, *(numbers.get(word, UNKNOWN) for word in line), END]
    if len(ids) <= LENGTH:
        yield ids + [PAD] * (LENGTH - len(ids))
    for start in range(0, len(ids) - LENGTH + 1, STRIDE) if len(ids) > LENGTH else ():
        yield ids[start : start + LENGTH]
