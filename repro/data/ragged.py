"""Sequences of different lengths in two flat arrays, which can be mapped into memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

Tokens = NDArray[np.uint16]


@dataclass(frozen=True, eq=False)
class Ragged:
    """Token sequences, one after the other in a flat array.

    >>> Ragged.of([[1, 2], [3]])[0].tolist()
    [1, 2]
    """

    tokens: Tokens
    ends: NDArray[np.int64]
    """The end of each sequence in `tokens`."""

    @classmethod
    def of(cls, sequences: Iterable[Sequence[int]]) -> Ragged:
        """Make a `Ragged` from sequences of token numbers below 65,536.

        >>> len(Ragged.of([[5], [], [6, 7]]))
        3
        """
        kept = list(sequences)
        ends = np.fromiter(accumulate(len(s) for s in kept), dtype=np.int64, count=len(kept))
        flat = [token for sequence in kept for token in sequence]
        if flat and max(flat) > np.iinfo(np.uint16).max:
            raise ValueError(f"Token {max(flat)} does not fit into 16 bits.")
        return cls(np.array(flat, dtype=np.uint16), ends)

    def __len__(self) -> int:
        return len(self.ends)

    def __iter__(self) -> Iterator[Tokens]:
        start = 0
        for end in self.ends.tolist():
            yield self.tokens[start:end]
            start = end

    def __getitem__(self, index: int) -> Tokens:
        index = range(len(self))[index]
        return self.tokens[self.ends[index - 1] if index else 0 : self.ends[index]]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of tokens of each sequence."""
        return np.diff(self.ends, prepend=0)

    def padded(self, length: int, *, fill: int) -> Tokens:
        """Return the sequences as rows [sequences, length], cut or filled at their ends.

        >>> Ragged.of([[1], [2, 3, 4]]).padded(2, fill=0).tolist()
        [[1, 0], [2, 3]]
        """
        rows = np.full((len(self), length), fill, dtype=np.uint16)
        for row, sequence in zip(rows, self, strict=True):
            row[: len(sequence)] = sequence[:length]
        return rows

    def arrays(self, prefix: str) -> dict[str, Any]:
        """Return the two arrays, named with a prefix, to store them beside others.

        >>> sorted(Ragged.of([[1]]).arrays("train"))
        ['train_ends', 'train_tokens']
        """
        return {f"{prefix}_tokens": self.tokens, f"{prefix}_ends": self.ends}

    @classmethod
    def among(cls, arrays: dict[str, Any], prefix: str) -> Ragged:
        """Make a `Ragged` from the two arrays with a prefix, the reverse of `arrays`.

        >>> len(Ragged.among(Ragged.of([[1]]).arrays("train"), "train"))
        1
        """
        return cls(arrays[f"{prefix}_tokens"], arrays[f"{prefix}_ends"])
