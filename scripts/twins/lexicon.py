"""The words of the twins' language: made of syllables, in classes, some of them of a topic."""

from __future__ import annotations

from scripts.twins.draws import Draws

Forms = tuple[str, str]
"""A word in the singular and in the plural."""

TOPICS = 24
_ONSETS = ("b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z", "br", "st", "tr")
_VOWELS = ("a", "e", "i", "o", "u")
_CODAS = ("", "", "n", "r", "s", "l")
_IRREGULAR = 8
"""One noun in so many has a plural of its own."""


class Lexicon:
    """Words by class, the frequent ones first; topics have nouns and verbs of their own.

    >>> len(Lexicon(Draws(0)).endings)
    24
    """

    def __init__(self, draws: Draws) -> None:
        self._draws = draws
        self._taken: set[str] = set()
        self.the, self.no, self.that = (self._word(1) for _ in range(3))
        self.called = self._word(1)  # stands before a topic's ending and nowhere else
        self.ever, self.often = self._word(2), self._word(2)  # after a verb, with and without `no`
        self.this, self.some, self.themselves = (self._two(n) for n in (1, 1, 2))
        self.prepositions = [self._word(1) for _ in range(8)]
        self.adjectives = [self._word(2) for _ in range(100)]
        self.adverbs = [self._word(2) for _ in range(40)]
        self.names = [self._word(2 + rank % 2).capitalize() for rank in range(600)]
        self.nouns = [self._noun() for _ in range(120)]
        self.verbs = [self._verb() for _ in range(60)]
        self.topic_nouns = [[self._noun() for _ in range(15)] for _ in range(TOPICS)]
        self.topic_verbs = [[self._verb() for _ in range(5)] for _ in range(TOPICS)]
        self.endings = [self._word(2) for _ in range(TOPICS)]  # of each topic's passages
        self.ham_cues = [self._word(2) for _ in range(12)]
        self.spam_cues = [self._word(2) for _ in range(12)]
        # Pairs whose order tells the class of a message, and whose presence does not.
        self.order_cues = [self._two(2) for _ in range(4)]

    def _word(self, syllables: int) -> str:
        while True:
            made = "".join(
                self._draws.one_of(part)
                for _ in range(syllables)
                for part in (_ONSETS, _VOWELS, _CODAS)
            )
            if made not in self._taken:
                self._taken.add(made)
                return made

    def _two(self, syllables: int) -> Forms:
        return self._word(syllables), self._word(syllables)

    def _noun(self) -> Forms:
        stem = self._word(2)
        if self._draws.chance(1, _IRREGULAR):
            return stem, self._word(2)
        return stem, self._claim(f"{stem}im")

    def _verb(self) -> Forms:
        stem = self._word(2)
        return self._claim(f"{stem}ata"), self._claim(f"{stem}oko")

    def _claim(self, word: str) -> str:
        self._taken.add(word)
        return word
