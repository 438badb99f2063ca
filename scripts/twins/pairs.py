"""The twin of BLiMP: pairs of a right sentence and one in which one word breaks a rule.

Every pair has a counterpart with the same words where the other form is right, for every number of
the nouns between. So a model's preference for a word by itself, or after its neighbour, cancels
out, except where the word has to agree with that neighbour.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import product

from scripts.twins.grammar import Grammar, Words, written

GROUPS = 200
"""Number of pairs of each paradigm, with all counterparts."""

Pair = tuple[Words, Words]
"""A good and a bad sentence."""

BOTH = (0, 1)


def generate(grammar: Grammar) -> dict[str, str]:
    """Generate the files of the set, by name."""
    return {f"{uid}.jsonl": _file(grammar, uid, term) for uid, term in _TERMS.items()}


def _file(grammar: Grammar, uid: str, term: str) -> str:
    pairs: list[Pair] = []
    while len(pairs) < GROUPS:
        pairs.extend(_PARADIGMS[uid](grammar))
    return "".join(_record(uid, term, number, pair) for number, pair in enumerate(pairs))


def _record(uid: str, term: str, number: int, pair: Pair) -> str:
    good, bad = (written([*sentence, "."]) for sentence in pair)
    record = {
        "sentence_good": good,
        "sentence_bad": bad,
        "field": "syntax" if term != "npi_licensing" else "semantics",
        "linguistics_term": term,
        "UID": uid,
        "simple_LM_method": True,
        "one_prefix_method": True,
        "two_prefix_method": False,
        "lexically_identical": False,
        "pairID": str(number),
    }
    return json.dumps(record) + "\n"


def _adjacent(grammar: Grammar) -> Iterator[Pair]:
    topic, the = grammar.topic(), grammar.words.the
    noun, verb, tail = grammar.noun(topic), grammar.verb(topic), grammar.tail(topic)
    for number in BOTH:
        good, bad = ([the, noun[number], verb[n], *tail] for n in (number, 1 - number))
        yield good, bad


def _across_phrase(grammar: Grammar) -> Iterator[Pair]:
    topic, the = grammar.topic(), grammar.words.the
    noun, other, verb = grammar.noun(topic), grammar.noun(topic), grammar.verb(topic)
    preposition, tail = grammar.preposition(), grammar.tail(topic)
    for number, between in product(BOTH, BOTH):
        start = [the, noun[number], preposition, the, other[between]]
        good, bad = ([*start, verb[n], *tail] for n in (number, 1 - number))
        yield good, bad


def _across_clause(grammar: Grammar) -> Iterator[Pair]:
    topic, the, that = grammar.topic(), grammar.words.the, grammar.words.that
    noun, other, verb = grammar.noun(topic), grammar.noun(topic), grammar.verb(topic)
    inner, tail = grammar.verb(topic), grammar.tail(topic)
    for number, between in product(BOTH, BOTH):
        start = [the, noun[number], that, the, other[between], inner[between]]
        good, bad = ([*start, verb[n], *tail] for n in (number, 1 - number))
        yield good, bad


def _determiner(grammar: Grammar) -> Iterator[Pair]:
    topic, this = grammar.topic(), grammar.words.this
    start, noun = [grammar.name(), grammar.verb(topic)[0]], grammar.noun(topic)
    for number in BOTH:
        good, bad = ([*start, this[number], noun[n]] for n in (number, 1 - number))
        yield good, bad


def _anaphor(grammar: Grammar) -> Iterator[Pair]:
    topic, words = grammar.topic(), grammar.words
    noun, other, verb = grammar.noun(topic), grammar.noun(topic), grammar.verb(topic)
    preposition = grammar.preposition()
    for number, between in product(BOTH, BOTH):
        start = [words.the, noun[number], verb[number], preposition, words.the, other[between]]
        good, bad = ([*start, words.themselves[n]] for n in (number, 1 - number))
        yield good, bad


def _polarity(grammar: Grammar) -> Iterator[Pair]:
    topic, words, number = grammar.topic(), grammar.words, grammar.number()
    noun, verb, tail = grammar.noun(topic), grammar.verb(topic), grammar.tail(topic)
    for determiner, right, wrong in (
        (words.no, words.ever, words.often),
        (words.the, words.often, words.ever),
    ):
        start = [determiner, noun[number], verb[number]]
        yield [*start, right, *tail], [*start, wrong, *tail]


_PARADIGMS: dict[str, Callable[[Grammar], Iterator[Pair]]] = {
    "agreement_across_clause": _across_clause,
    "agreement_across_phrase": _across_phrase,
    "agreement_adjacent": _adjacent,
    "anaphor_agreement": _anaphor,
    "determiner_noun_agreement": _determiner,
    "polarity_licensing": _polarity,
}
_TERMS = {
    "agreement_across_clause": "subject_verb_agreement",
    "agreement_across_phrase": "subject_verb_agreement",
    "agreement_adjacent": "subject_verb_agreement",
    "anaphor_agreement": "anaphor_agreement",
    "determiner_noun_agreement": "determiner_noun_agreement",
    "polarity_licensing": "npi_licensing",
}
