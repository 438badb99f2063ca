"""The arms of source 003: the finetuned GPT, its trained part, and the token of the answer.

`at_ci` has all differences between the `ci` profile and the documented experiment.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, Self

from repro.arm import Arm, Metric, Needs, Run
from repro.data.corpus import corpus_hash
from repro.data.files import hash_of_all
from repro.data.messages import messages_hash
from repro.recipe import Recipe
from repro.studies import require_real, resolved
from repro.studies.finetuning.gpt2 import SHAPES, Shape, require_weights, weights_hash

Size = Literal["tiny", "mini", "small", "medium", "large", "xl"]

TRAINING_MESSAGES = 1045
NARROWER = SHAPES["small"].width // SHAPES["tiny"].width
OWN_SIZES = ("tiny", "mini")
"""The sizes of models that repro itself pretrains; other sizes have GPT-2's weights."""

DOCUMENTED_RECIPE = Recipe(epochs=5, batch=8, lr=5e-5, weight_decay=0.1, measure_every=5)
PRETRAINING = Recipe(
    epochs=6, batch=4, lr=3e-3, weight_decay=0.1, schedule="cosine", warmup=100, clip=1.0
)
PRETRAININGS = {
    "tiny": PRETRAINING,
    "mini": PRETRAINING.but(epochs=72, lr=1e-3),  # six times through the corpus, about two hours
}
WINDOWS_AN_EPOCH = 400

ACCURACIES = {
    "test_accuracy": Metric("identity", sampled="test_right"),
    "validation_accuracy": Metric("identity", sampled="validation_right"),
}
"""Accuracies; comparisons count the error of having only these messages."""


@dataclass(frozen=True, kw_only=True)
class PretrainArm(Arm):
    """A small GPT that repro pretrains on the corpus, instead of GPT-2's weights."""

    study: ClassVar[str] = "repro.studies.finetuning.pretraining"
    metrics: ClassVar[dict[str, Metric]] = {"perplexity": Metric("log")}
    keeps_weights: ClassVar[bool] = True

    data: str = "wikitext-2"
    tokenizer: str = "gpt2-bpe"
    messages: str = "sms-spam"
    """The messages for finetuning; its vocabulary contains their tokens, too."""

    vocabulary: int = 4096
    size: Size = "tiny"
    recipe: Recipe = PRETRAINING

    def at_ci(self) -> Self:
        """Return the arm itself, which is the model of `ci` instead of GPT-2."""
        return self

    @property
    def data_sets(self) -> tuple[str, ...]:
        return (self.data, self.tokenizer, self.messages)

    def located(self) -> Self:
        return resolved(self, "data", "tokenizer", "messages")

    def content(self) -> str:
        return hash_of_all(
            corpus_hash(self.data, tokenizer=self.tokenizer),
            messages_hash(self.messages, tokenizer=self.tokenizer),
        )

    @property
    def shape(self) -> Shape:
        """The shape of the network."""
        return SHAPES[self.size]

    @property
    def steps(self) -> int:
        return self.recipe.epochs * (WINDOWS_AN_EPOCH // self.recipe.batch)

    @property
    def effort(self) -> float:
        shape = self.shape
        head = shape.width * self.vocabulary
        return 3.0 * shape.context * (shape.layers * shape.products(shape.context) + head)

    @property
    def label(self) -> str:
        return f"a GPT of {self.data}"


@dataclass(frozen=True, kw_only=True)
class FinetuneArm(Arm):
    """A GPT with a new head of two answers, ham or spam.

    >>> FinetuneArm(trained="all", start="random")
    """

    study: ClassVar[str] = "repro.studies.finetuning.study"
    documented_seeds: ClassVar[tuple[int, ...]] = (123,)
    metrics: ClassVar[dict[str, Metric]] = {
        **ACCURACIES,
        "train_accuracy": Metric("log-odds", examples=TRAINING_MESSAGES),
        "train_over_test": Metric("identity", sampled="test_right"),
        "train_over_validation": Metric("identity", sampled="validation_right"),
        "longest": Metric("identity", exact=True),
        "parameters": Metric("log", exact=True),
        "multiplications": Metric("log", exact=True),
    }

    size: Size = "small"
    start: Literal["pretrained", "random"] = "pretrained"
    trained: Literal["last layer", "last block", "last two blocks", "all", "lora"] = "last block"
    """The trained part: `last layer` is only the new head.

    `last block` is the head, the last block and the final norm. `lora` adapts every linear layer,
    and trains the head."""

    token: Literal["last", "first", "last word", "mean"] = "last"
    """The position of the answer; the `last` token is usually padding.

    `last word` is the last position without padding, `mean` the mean over all positions."""

    padding: Literal["longest", "context", "none"] = "longest"
    """The length of padded messages: that of the longest training message, or the whole context.

    With `none` each message has its own length, and the last token is its last word."""

    longest: int = 120
    """The most tokens of a message; longer messages are cut."""

    causal: bool = True
    attends_padding: bool = True
    ignored_label: int = -100
    """A label that the loss ignores.

    The source gives the padding token, which is not the label of any message."""

    rank: int = 16
    alpha: float = 8.0
    lora_start: Literal["normal", "kaiming"] = "normal"
    """The distribution of the adapters' first matrices; the source used both."""

    adapted: Literal["every layer", "attention", "head"] = "every layer"
    """The linear layers with an adapter."""

    vocabulary: int | None = None
    """The number of tokens that the model knows; None for all tokens of the tokenizer."""

    data: str = "sms-spam"
    tokenizer: str = "gpt2-bpe"
    corpus: str = "wikitext-2"
    """The text for pretraining repro's own small models."""

    recipe: Recipe = DOCUMENTED_RECIPE

    def __post_init__(self) -> None:
        if self.longest < 1 or self.rank < 1:
            raise ValueError(f"longest={self.longest} and rank={self.rank} must be at least 1.")
        if self.padding == "none" and self.token in ("first", "mean"):
            raise ValueError(
                f"padding='none' reads the last word; token={self.token!r} has no such variant."
            )

    def at_ci(self) -> Self:
        """Return the same experiment with a small GPT, which repro pretrains itself.

        It has 4 blocks and is 48 wide, or 6 and 192 with `size="mini"`.

        GPT-2's weights are usually missing, and too large for a CPU. Messages have up to 64 tokens
        (like 99 of 100 real ones), and the context has 512, so that padding to the context is eight
        times the usual length, as documented. The vocabulary is 4,096. These properties are kept:

        - Five epochs of batches of 8, 650 updates: Adam's progress depends on this number.
        - The learning rate grows as the width shrinks: a step of Adam changes a layer's output by
          the rate times the width.
        - The adapters' rank shrinks with the width. So they are as large a part of the model, and
          change it as fast: by rate, rank, and the root of width over rank.
        """
        if self.size not in ("small", "mini"):
            raise Needs(
                f"is about GPT-2's {self.size} model: needs --profile paper (ci has small models"
                " of its own)"
            )
        size: Size = "tiny" if self.size == "small" else "mini"
        narrower = SHAPES["small"].width // SHAPES[size].width
        return self.but(
            size=size,
            longest=64,
            vocabulary=4096,
            rank=max(1, self.rank // narrower),
            recipe=self.recipe.but(lr=self.recipe.lr * narrower),
        )

    def located(self) -> Self:
        corpora = ("corpus",) if self.size in OWN_SIZES else ()
        require_real(self, "data", "tokenizer", *corpora)
        if self.starts_from_gpt2:
            require_weights(self.size)
        return self

    @property
    def data_sets(self) -> tuple[str, ...]:
        names = [self.data, self.tokenizer]
        if self.vocabulary is not None:
            names.append(self.corpus)
        if self.starts_from_gpt2:
            names.append(f"gpt2-{self.size}")
        return tuple(names)

    def content(self) -> str:
        parts = [messages_hash(self.data, tokenizer=self.tokenizer)]
        if self.vocabulary is not None:
            parts.append(corpus_hash(self.corpus, tokenizer=self.tokenizer))
        if self.starts_from_gpt2:
            parts.append(weights_hash(self.size))
        return hash_of_all(*parts)

    @property
    def starts_from_gpt2(self) -> bool:
        """True if its runs start from GPT-2's published weights."""
        return self.start == "pretrained" and self.size not in OWN_SIZES

    @property
    def starts_from(self) -> Run[PretrainArm] | None:
        if self.start == "random" or self.size not in OWN_SIZES:
            return None
        assert self.vocabulary is not None
        arm = PretrainArm(
            data=self.corpus,
            tokenizer=self.tokenizer,
            messages=self.data,
            vocabulary=self.vocabulary,
            size=self.size,
            recipe=PRETRAININGS[self.size],
        )
        return Run(arm, 1)  # one model for all seeds, as GPT-2 is one

    @property
    def shape(self) -> Shape:
        """The shape of the network."""
        return SHAPES[self.size]

    @property
    def trained_blocks(self) -> int:
        """The number of blocks that training changes, counted from the output."""
        blocks = {"last layer": 0, "last block": 1, "last two blocks": 2}
        return blocks.get(self.trained, self.shape.layers)

    @property
    def frozen_blocks(self) -> int:
        """The number of blocks that training does not change, counted from the input."""
        return self.shape.layers - self.trained_blocks

    @property
    def is_frozen_below(self) -> bool:
        """True if training changes only last blocks, so that the part below is computed once."""
        return self.trained not in ("all", "lora")

    def stacks_on(self, device: str) -> bool:
        return self.is_frozen_below and self.size == "tiny"

    @property
    def steps(self) -> int:
        return self.recipe.epochs * (TRAINING_MESSAGES // self.recipe.batch)

    @property
    def length(self) -> int:
        """The largest number of tokens of a padded message."""
        return self.shape.context if self.padding == "context" else self.longest

    @property
    def effort(self) -> float:
        each = self.shape.products(self.length)
        if self.token == "first" and self.causal:
            return 3.0 * each
        return 3.0 * self.length * max(self.trained_blocks, 0.5) * each

    @property
    def multiplications(self) -> float:
        """The multiplications of one update as in the source, which always runs frozen blocks.

        They are: forwards through every block, and backwards through trained blocks, once for their
        inputs and once for their weights. Adapters need no backward pass for the weights. If only
        the head is adapted, blocks need no backward pass at all.
        """
        shape, blocks = self.shape, self.trained_blocks
        block = shape.products(self.length)
        total = block * (shape.layers + 2 * blocks)
        if self.trained == "lora":
            beside = {"every layer": shape.linears, "attention": shape.linears[:4], "head": []}
            adapters = 3 * self.rank * sum(map(sum, beside[self.adapted]))
            total = shape.layers * (block * (2 if adapters else 1) + adapters)
        return self.recipe.batch * self.length * total

    @property
    def label(self) -> str:
        """The trained part, the position of the answer, and all differences from the first row."""
        usual = FinetuneArm()
        what = f"LoRA rank {self.rank} α {self.alpha:g}" if self.trained == "lora" else self.trained
        positions = {"mean": "mean of all tokens", "last word": "last word"}
        variants = [
            text
            for text, other in (
                (self.size, self.size not in ("small", "tiny")),
                ("random weights", self.start == "random"),
                ("padded to the context", self.padding == "context"),
                ("no padding", self.padding == "none"),
                (f"batch {self.recipe.batch}", self.recipe.batch != usual.recipe.batch),
                ("no causal mask", not self.causal),
                ("padding not attended", not self.attends_padding),
                (f"label {self.ignored_label} ignored", self.ignored_label != -100),
                (f"{self.lora_start} start", self.lora_start != usual.lora_start),
                (f"{self.adapted} adapted", self.adapted != usual.adapted),
            )
            if other
        ]
        return ", ".join([what, positions.get(self.token, f"{self.token} token"), *variants])


FIRST_ROW = FinetuneArm()

BY_ONE = FIRST_ROW.but(padding="none", recipe=DOCUMENTED_RECIPE.but(batch=1))

ROWS = {
    1: FIRST_ROW,
    2: FIRST_ROW.but(token="first"),
    3: FIRST_ROW.but(trained="last layer"),
    4: FIRST_ROW.but(trained="all"),
    5: FIRST_ROW.but(size="medium"),
    6: FIRST_ROW.but(size="large"),
    7: FIRST_ROW.but(size="xl"),
    8: FIRST_ROW.but(trained="all", start="random"),
    9: FIRST_ROW.but(trained="lora"),
    10: FIRST_ROW.but(padding="context"),
}
"""The rows of the source's table by their numbers."""

LATER_ROWS = {
    4: FIRST_ROW.but(trained="last two blocks"),
    9: FIRST_ROW.but(size="xl", trained="all"),
    11: ROWS[9].but(alpha=16.0, lora_start="kaiming"),
    12: ROWS[9].but(size="xl", lora_start="kaiming"),
    14: BY_ONE,
    15: FIRST_ROW.but(padding="none"),  # gradients accumulated over eight messages: a batch of 8
    16: FIRST_ROW.but(token="last word"),
    17: FIRST_ROW.but(causal=False),
    18: FIRST_ROW.but(ignored_label=50256),
    19: FIRST_ROW.but(token="mean"),
}
"""The rows that the source's later table adds, by their numbers there."""
