"""The twin of LAMBADA: passages whose last word cannot be told from the last sentence alone."""

from __future__ import annotations

import json

from scripts.twins.grammar import Grammar, Words, written
from scripts.twins.lexicon import TOPICS

PASSAGES = 400


def generate(grammar: Grammar) -> dict[str, str]:
    """Generate the files by name: both versions of the test set, and a development set."""
    test, development = ([_passage(grammar, n) for n in range(PASSAGES)] for _ in range(2))
    return {
        "lambada_test.jsonl": "".join(json.dumps({"text": _cased(p)}) + "\n" for p in test),
        "lambada_test_plain_text.txt": "".join(f"{_plain(p)}\n" for p in test),
        "lambada_development_plain_text.txt": "".join(f"{_plain(p)}\n" for p in development),
    }


def _passage(grammar: Grammar, number: int) -> list[Words]:
    topic = number % TOPICS
    said = [grammar.sentence(topic) for _ in range(4 + grammar.draws.below(3))]
    return [*said, grammar.closing(topic)[:-1]]


def _cased(passage: list[Words]) -> str:
    return " ".join(map(written, passage))


def _plain(passage: list[Words]) -> str:
    return " ".join(word.lower() for sentence in passage for word in sentence)
