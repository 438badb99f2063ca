"""Text as single characters: the training text of source 000, and the text that it names.

The source names WikiText-2. But its loader silently fell back to two repeated sentences, and all of
its numbers come from these. Both texts are here, each with its own name.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from repro.data.files import content_hash, read_file
from repro.data.prepared import Arrays, prepared
from repro.data.windows import windows

SENTENCES = "repeated-sentences"
"""The name of the text behind source 000's numbers."""

TRAINING, VALIDATION = 100_000, 10_000
"""Numbers of characters as documented: the first of the training and validation files."""

_PANGRAM = "The quick brown fox jumps over the lazy dog. "
_OTHER = "A quick brown dog runs in the park. "
_FILES = ("wiki.train.tokens", "wiki.valid.tokens")


@dataclass(frozen=True, eq=False)
class Characters:
    """Two texts; each character is a number, its place in their common sorted alphabet."""

    name: str
    alphabet: str
    train: NDArray[np.uint16]
    validation: NDArray[np.uint16]


def load_characters(name: str, *, training: int = TRAINING) -> Characters:
    """Load the characters of `repeated-sentences`, of `wikitext-2`, or of its twin.

    The training text has `training` characters.

    >>> len(load_characters("repeated-sentences").alphabet)
    30
    """
    arrays = _prepare(name, training)
    alphabet = "".join(map(chr, arrays["alphabet"].tolist()))
    return Characters(name, alphabet, arrays["train"], arrays["validation"])


def characters_hash(name: str) -> str:
    """Return the hash of the text behind these characters.

    >>> characters_hash("repeated-sentences")
    'repeated-sentences'
    """
    return name if name == SENTENCES else content_hash(name, _FILES)


def batches(text: NDArray[np.uint16], *, length: int, batch: int) -> NDArray[np.uint16]:
    """Cut a text into batches [batches, batch, length + 1] of windows side by side.

    Each window ends with the next window's first character. Windows that do not fill a batch are
    left out, as in source 000.

    >>> batches(np.arange(10, dtype=np.uint16), length=2, batch=2).tolist()
    [[[0, 1, 2], [2, 3, 4]], [[4, 5, 6], [6, 7, 8]]]
    """
    rows = windows(text, length=length)
    count = len(rows) // batch
    return rows[: count * batch].reshape(count, batch, length + 1)


@prepared
def _prepare(name: str, training: int) -> Arrays:
    if name == SENTENCES:
        train = _PANGRAM * (training // len(_PANGRAM) + 1)
        validation = _OTHER * (VALIDATION // len(_OTHER) + 1)
    else:
        train, validation = (read_file(name, file).decode("utf-8") for file in _FILES)
    codes = [_codes(text) for text in (train[:training], validation[:VALIDATION])]
    alphabet = np.unique(np.concatenate(codes))
    ids = [np.searchsorted(alphabet, text).astype(np.uint16) for text in codes]
    return {"alphabet": alphabet, "train": ids[0], "validation": ids[1]}


def _codes(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
