"""Arms that need no training: spam classifiers without a network, and the cost of an update.

Both are computed without torch, in closed form, and no seed changes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from repro.arm import Metric
from repro.data.bpe import load_tokenizer
from repro.data.messages import Messages, load_messages, messages_hash
from repro.own.arm import OutsideArm
from repro.own.outside import OutsideStudy
from repro.studies import resolved
from repro.studies.finetuning.arms import ACCURACIES, FinetuneArm

if TYPE_CHECKING:
    from repro.core.study import Measures

Answers = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class BaselineArm(OutsideArm):
    """A classifier without a network, fitted on the training messages without randomness."""

    study: ClassVar[str] = "repro.studies.finetuning.baselines"
    documented_seeds: ClassVar[tuple[int, ...]] = FinetuneArm.documented_seeds
    metrics: ClassVar[dict[str, Metric]] = ACCURACIES
    deterministic: ClassVar[bool] = True

    rule: Literal["length", "first token", "bag of words"]
    data: str = "sms-spam"
    tokenizer: str = "gpt2-bpe"

    @property
    def data_sets(self) -> tuple[str, ...]:
        return (self.data, self.tokenizer)

    def located(self) -> Self:
        return resolved(self, "data", "tokenizer")

    def content(self) -> str:
        return messages_hash(self.data, tokenizer=self.tokenizer)

    @property
    def label(self) -> str:
        return f"{self.rule} alone"


@dataclass(frozen=True, kw_only=True)
class CostArm(OutsideArm):
    """The cost of an arm at its documented size, which no seed changes.

    >>> CostArm(of=FinetuneArm(size="xl"))
    """

    study: ClassVar[str] = "repro.studies.finetuning.baselines"
    documented_seeds: ClassVar[tuple[int, ...]] = FinetuneArm.documented_seeds
    metrics: ClassVar[dict[str, Metric]] = {"multiplications": Metric("log", exact=True)}

    of: FinetuneArm
    data: str = "arithmetic"

    @property
    def data_sets(self) -> tuple[str, ...]:
        return ()

    @property
    def label(self) -> str:
        return f"{self.of.size}, {self.of.label}"


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


def computed(arm: BaselineArm | CostArm, seed: int) -> Measures:
    """Return the measures of an arm, the same for every seed."""
    if isinstance(arm, CostArm):
        return {"multiplications": arm.of.multiplications}
    messages = load_messages(arm.data, tokenizer=arm.tokenizer)
    tokens = len(load_tokenizer(arm.tokenizer))
    measures: Measures = {}
    for name, unseen in (("test", messages.test), ("validation", messages.validation)):
        answers = RULES[arm.rule](messages.train, unseen, tokens)
        right = (answers == unseen.is_spam).astype(float)
        measures[f"{name}_accuracy"] = float(right.mean())
        measures[f"{name}_right"] = right.tolist()
    return measures


STUDY = OutsideStudy(computed)
