"""Spam classifiers without a network: by the length, the first token, or the words of a message."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from repro.arm import Run
from repro.core.study import Measures
from repro.data.bpe import load_tokenizer
from repro.data.messages import Messages, load_messages
from repro.studies.finetuning.arms import BaselineArm

Answers = NDArray[np.bool_]


def by_length(train: Messages, unseen: Messages, tokens: int) -> Answers:
    """Answer spam from the number of tokens that best separates the training messages."""
    lengths = train.tokens.lengths
    right = [((lengths >= n) == train.is_spam).mean() for n in range(lengths.max() + 2)]
    is_long: Answers = unseen.tokens.lengths >= int(np.argmax(right))
    return is_long


def by_first_token(train: Messages, unseen: Messages, tokens: int) -> Answers:
    """Answer like the majority of training messages with the same first token.

    Without such messages, or with a tie, answer like the majority of all training messages.
    """
    votes = np.zeros(tokens)
    for message, is_spam in zip(train.tokens, train.is_spam, strict=True):
        votes[message[0]] += 1 if is_spam else -1
    usual = np.sign(2 * train.is_spam.mean() - 1)
    votes_of_each = np.array([votes[message[0]] or usual for message in unseen.tokens])
    return votes_of_each > 0


def by_words(train: Messages, unseen: Messages, tokens: int) -> Answers:
    """Answer by naive Bayes on the counts of tokens in messages, one added to each count."""
    counts = np.ones((2, tokens))
    for message, is_spam in zip(train.tokens, train.is_spam, strict=True):
        np.add.at(counts[is_spam], message, 1)
    logs = np.log(counts / counts.sum(1, keepdims=True))
    lean = logs[1] - logs[0]
    prior = np.log(train.is_spam.mean() / (1 - train.is_spam.mean()))
    return np.array([prior + lean[message].sum() > 0 for message in unseen.tokens])


RULES = {"length": by_length, "first token": by_first_token, "bag of words": by_words}


class Baselines:
    """The study of classifiers that are fitted in closed form; seeds do not matter."""

    def train_outside(self, run: Run[BaselineArm]) -> Measures:
        messages = load_messages(run.arm.data, tokenizer=run.arm.tokenizer)
        tokens = len(load_tokenizer(run.arm.tokenizer))
        measures: Measures = {}
        for name, unseen in (("test", messages.test), ("validation", messages.validation)):
            answers = RULES[run.arm.rule](messages.train, unseen, tokens)
            right = (answers == unseen.is_spam).astype(float)
            measures[f"{name}_accuracy"] = float(right.mean())
            measures[f"{name}_right"] = right.tolist()
        return measures


STUDY = Baselines()
