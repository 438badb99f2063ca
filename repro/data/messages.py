"""The messages of source 003: the SMS Spam Collection, balanced and split like its author did.

The author used pandas, which reads 5,572 rows from the file's 5,574 lines. It treats a double quote
at the start of a message as the start of a quoted field, which continues over tabs and line ends to
the next quote. Python's `csv` reader does the same. So two lines are lost, and the quotes around
whole messages. `DataFrame.sample(n, random_state=s)` takes the rows of
`numpy.random.RandomState(s).choice(rows, n, replace=False)`.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from repro.data.bpe import load_tokenizer, tokenizer_hash
from repro.data.files import content_hash, hash_of_all, read_file
from repro.data.prepared import Arrays, prepared
from repro.data.ragged import Ragged

Row = tuple[str, str]
"""A label, `ham` or `spam`, and a message."""

PARTS = ("train", "validation", "test")
_SEED = 123
_FILE = "SMSSpamCollection"


@dataclass(frozen=True, eq=False)
class Messages:
    """The messages of one part as tokens, and their labels."""

    tokens: Ragged
    is_spam: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class MessageSet:
    """The balanced messages in three parts."""

    name: str
    train: Messages
    validation: Messages
    test: Messages


def load_messages(name: str, *, tokenizer: str) -> MessageSet:
    """Load the messages of `sms-spam` or its twin as tokens of a byte-pair vocabulary.

    >>> len(load_messages("sms-spam-twin", tokenizer="gpt2-bpe-twin").train.is_spam)
    1045
    """
    arrays = _prepare(name, tokenizer)
    parts = {p: Messages(Ragged.among(arrays, p), arrays[f"{p}_is_spam"]) for p in PARTS}
    return MessageSet(name, **parts)


def messages_hash(name: str, *, tokenizer: str) -> str:
    """Return the hash of the messages and the tokenizer.

    >>> len(messages_hash("sms-spam", tokenizer="gpt2-bpe"))
    64
    """
    return hash_of_all(content_hash(name, (_FILE,)), tokenizer_hash(tokenizer))


def read_rows(name: str) -> list[Row]:
    """Read all rows of the file as pandas does.

    >>> len(read_rows("sms-spam-twin"))
    2747
    """
    text = read_file(name, _FILE).decode("utf-8")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter="\t")
    return [(row[0], row[1]) for row in reader]


def balance(rows: list[Row]) -> list[Row]:
    """Draw as many ham messages as there are spam messages, and append all spam.

    >>> balance([("ham", "a"), ("ham", "b"), ("spam", "c")])
    [('ham', 'b'), ('spam', 'c')]
    """
    ham, spam = ([row for row in rows if row[0] == label] for label in ("ham", "spam"))
    return _sample(ham, len(spam)) + spam


def split(rows: list[Row]) -> dict[str, list[Row]]:
    """Shuffle the rows twice, as the source does, and cut them at 70% and 80%.

    >>> [len(part) for part in split([("ham", "a")] * 10).values()]
    [7, 1, 2]
    """
    shuffled = _sample(_sample(rows, len(rows)), len(rows))
    train = int(len(rows) * 0.7)
    validation = train + int(len(rows) * 0.1)
    cut = (shuffled[:train], shuffled[train:validation], shuffled[validation:])
    return dict(zip(PARTS, cut, strict=True))


def _sample(rows: list[Row], count: int) -> list[Row]:
    chosen = np.random.RandomState(_SEED).choice(len(rows), size=count, replace=False)
    return [rows[index] for index in chosen]


@prepared
def _prepare(name: str, tokenizer: str) -> Arrays:
    vocabulary = load_tokenizer(tokenizer)
    arrays: dict[str, NDArray[np.generic]] = {}
    for part, rows in split(balance(read_rows(name))).items():
        arrays |= vocabulary.encode_all(text for _, text in rows).arrays(part)
        arrays[f"{part}_is_spam"] = np.array([label == "spam" for label, _ in rows], dtype=np.int64)
    return arrays
