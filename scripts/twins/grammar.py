"""The sentences of the twins' language, as lists of words.

A verb agrees in number with its subject, also over words between them; so does an object that is
the subject itself; `often` turns into `ever` under `no`. Nouns and verbs lean to a topic, and the
closing sentence of a topic ends in the topic's own last word.
"""

from __future__ import annotations

from dataclasses import dataclass

from scripts.twins.draws import Draws
from scripts.twins.lexicon import TOPICS, Forms, Lexicon

Words = list[str]


@dataclass(frozen=True)
class Grammar:
    """Random sentences over a lexicon."""

    words: Lexicon
    draws: Draws

    def sentence(self, topic: int) -> Words:
        """Draw a sentence, with its full stop."""
        if self.draws.chance(1, 6):
            return [self.name(), *self.predicate(topic, 0), "."]
        number = self.number()
        negated = self.draws.chance(1, 3)
        determiner = self.words.no if negated else self.determiner(number)
        between = self.between(topic, number)
        subject = [determiner, *self.described(topic, number), *between]
        return [*subject, *self.predicate(topic, number, negated=negated), "."]

    def closing(self, topic: int) -> Words:
        """Draw a sentence that shows its topic by the last word only, the topic's ending."""
        number = self.number()
        subject = [self.determiner(number), self.draws.by_rank(self.words.nouns)[number]]
        verb = self.draws.by_rank(self.words.verbs)[number]
        return [*subject, verb, self.words.called, self.words.endings[topic], "."]

    def between(self, topic: int, number: int) -> Words:
        """Draw the words between a subject and its verb: none, a phrase, or a clause."""
        kind = self.draws.below(10)
        if kind < 6:
            return []
        if kind < 8:
            return self.phrase(topic, self.number())
        return self.clause(topic, self.number())

    def phrase(self, topic: int, number: int) -> Words:
        """Draw a preposition with a noun of that number."""
        return [self.preposition(), self.words.the, self.noun(topic)[number]]

    def clause(self, topic: int, number: int) -> Words:
        """Draw a relative clause; its verb agrees with its own subject, of that number."""
        words = self.words
        return [words.that, words.the, self.noun(topic)[number], self.verb(topic)[number]]

    def predicate(self, topic: int, number: int, *, negated: bool = False) -> Words:
        """Draw a verb of that number, and the words after it."""
        verb = self.verb(topic)[number]
        kind = self.draws.below(10)
        if kind < 2:
            return [verb, self.words.ever if negated else self.words.often, *self.tail(topic)]
        if kind < 4:
            return [verb, self.words.themselves[number]]
        if kind < 5:
            return [verb, *self.phrase(topic, self.number()), self.words.themselves[number]]
        return [verb, *self.tail(topic)]

    def tail(self, topic: int) -> Words:
        """Draw an object, an adverb, or both."""
        number = self.number()
        object_ = [self.determiner(number), *self.described(topic, number)]
        kind = self.draws.below(4)
        if kind == 0:
            return [self.adverb()]
        return [*object_, self.adverb()] if kind == 1 else object_

    def described(self, topic: int, number: int) -> Words:
        """Draw a noun, one time in four with an adjective."""
        noun = self.noun(topic)[number]
        if self.draws.chance(1, 4):
            return [self.draws.by_rank(self.words.adjectives), noun]
        return [noun]

    def determiner(self, number: int) -> str:
        """Draw a determiner; the most frequent one goes with both numbers."""
        kind = self.draws.below(4)
        return (self.words.the, self.words.the, self.words.some[number], self.words.this[number])[
            kind
        ]

    def noun(self, topic: int) -> Forms:
        """Draw a noun, two times in three one of the topic."""
        nouns = self.words.topic_nouns[topic] if self.draws.chance(2, 3) else self.words.nouns
        return self.draws.by_rank(nouns)

    def verb(self, topic: int) -> Forms:
        """Draw a verb, one time in two one of the topic."""
        verbs = self.words.topic_verbs[topic] if self.draws.chance(1, 2) else self.words.verbs
        return self.draws.by_rank(verbs)

    def number(self) -> int:
        """Draw a number: 0 for singular, 1 for plural."""
        return self.draws.below(2)

    def topic(self) -> int:
        """Draw a topic."""
        return self.draws.below(TOPICS)

    def name(self) -> str:
        """Draw a name, which is singular."""
        return self.draws.by_rank(self.words.names)

    def adverb(self) -> str:
        """Draw an adverb."""
        return self.draws.by_rank(self.words.adverbs)

    def preposition(self) -> str:
        """Draw a preposition."""
        return self.draws.by_rank(self.words.prepositions)


def capitalised(sentence: Words) -> Words:
    """Return the sentence with a capital letter.

    >>> capitalised(["da", "ku", "."])
    ['Da', 'ku', '.']
    """
    return [sentence[0][0].upper() + sentence[0][1:], *sentence[1:]]


def written(sentence: Words) -> str:
    """Return the sentence as a line of text.

    >>> written(["da", "ku", "."])
    'Da ku.'
    """
    return " ".join(capitalised(sentence)).replace(" .", ".")
