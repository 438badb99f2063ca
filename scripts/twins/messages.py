"""The twin of the SMS Spam Collection: messages of two classes.

In some messages one word tells the class, so a bag of words is enough, and it may stand anywhere.
In the others two words tell it by their order alone, and stand anywhere but at the ends.
"""

from __future__ import annotations

from dataclasses import dataclass

from scripts.twins.grammar import Grammar, Words

HAM, SPAM = 2_000, 747
BY_WORD = 2
"""Number of messages in five whose class a word tells; in the others an order does."""

_MOST_BETWEEN = 3
_ENDS = ("", ".", "!", "...")


@dataclass(frozen=True)
class Message:
    """A message, and the kind of evidence for its class."""

    label: str
    words: Words
    end: str
    evidence: str
    """`word` or `order`."""

    @property
    def text(self) -> str:
        """The text as in the file."""
        joined = " ".join(self.words)
        return joined[0].upper() + joined[1:] + self.end


def generate(grammar: Grammar) -> dict[str, str]:
    """Generate the file of the set, by name."""
    lines = "".join(f"{m.label}\t{m.text}\n" for m in messages(grammar))
    return {"SMSSpamCollection": lines}


def messages(grammar: Grammar) -> list[Message]:
    """Draw all messages, in the order of the file."""
    labels = grammar.draws.shuffled(["ham"] * HAM + ["spam"] * SPAM)
    return [_message(grammar, label) for label in labels]


def _message(grammar: Grammar, label: str) -> Message:
    draws, lexicon = grammar.draws, grammar.words
    words = _chatter(grammar, 6 + draws.below(9))
    end = draws.one_of(_ENDS)
    if draws.chance(BY_WORD, 5):
        cues = lexicon.spam_cues if label == "spam" else lexicon.ham_cues
        place = draws.below(len(words) + 1)
        return Message(label, [*words[:place], draws.one_of(cues), *words[place:]], end, "word")
    first, second = draws.one_of(lexicon.order_cues)[:: 1 if label == "spam" else -1]
    place = 1 + draws.below(len(words) - 1)
    until = min(place + draws.below(_MOST_BETWEEN + 1), len(words) - 1)
    told = [first, *words[place:until], second]
    return Message(label, [*words[:place], *told, *words[until:]], end, "order")


def _chatter(grammar: Grammar, count: int) -> Words:
    words: Words = []
    while len(words) < count:
        words.extend(grammar.sentence(grammar.topic())[:-1])
    return words[:count]
