"""The twin of WikiText-2: articles with headings, rare words replaced by `<unk>`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from scripts.twins.grammar import Grammar, capitalised

ARTICLES = {"wiki.train.tokens": 800, "wiki.valid.tokens": 80, "wiki.test.tokens": 80}
RARE = 3
"""Words that are rarer than this in the training text become `<unk>`."""

Line = list[str]


def generate(grammar: Grammar) -> dict[str, str]:
    """Generate the files of the set, by name."""
    files = {
        name: [line for _ in range(count) for line in _article(grammar)]
        for name, count in ARTICLES.items()
    }
    counts = Counter(word for line in files["wiki.train.tokens"] for word in line)
    known = {word for word, count in counts.items() if count >= RARE}
    return {name: "".join(_written(line, known) for line in lines) for name, lines in files.items()}


def _article(grammar: Grammar) -> Iterator[Line]:
    topic = grammar.topic()
    yield []
    yield ["=", *(grammar.name() for _ in range(1 + grammar.number())), "="]
    yield []
    for part in range(1 + grammar.draws.below(3)):
        if part:
            yield []
            yield ["=", "=", grammar.draws.by_rank(grammar.words.nouns)[0].capitalize(), "=", "="]
            yield []
        for _ in range(1 + grammar.draws.below(3)):
            yield _paragraph(grammar, topic)


def _paragraph(grammar: Grammar, topic: int) -> Line:
    sentences = [grammar.sentence(topic) for _ in range(3 + grammar.draws.below(4))]
    if grammar.draws.chance(2, 3):
        sentences.append(grammar.closing(topic))
    return [word for sentence in sentences for word in capitalised(sentence)]


def _written(line: Line, known: set[str]) -> str:
    return " ".join(["", *(word if word in known else "<unk>" for word in line), "\n"])
