"""The arms of source 001: a language model that passes a context vector from word to word.

The source trained by one set of rules and described another. `AS_RUN` are the rules of its code,
which gave its numbers; `AS_WRITTEN` are the rules of its text. `at_ci` has all differences between
the `ci` profile and the documented experiment.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

from repro.arm import Arm, Metric, Needs
from repro.data.word_windows import LENGTH, word_windows_hash
from repro.recipe import Recipe
from repro.studies import fills_lines, resolved

NARROWER = 16
"""Width of the documented layers, divided by that at `ci`."""

SMALLER_BATCH = 128
"""Sequences of a documented batch, divided by those at `ci`."""

AS_RUN = Recipe(
    epochs=50,
    batch=2048,
    lr=4e-4,
    optimiser="adam",
    clip=((0, 0.5), (10, 1.0), (30, 2.0)),
    patience=9,  # it stops at the tenth epoch without a gain
    least_gain=0.001,
)
"""The rules in the source's trainer, which ignores its settings."""

AS_WRITTEN = AS_RUN.but(clip=1.0, patience=14)


@dataclass(frozen=True, kw_only=True)
class ContextArm(Arm):
    """A stack of layers that reads a word and the context so far, and predicts the next word.

    >>> ContextArm(layers=6, context=256)
    """

    study: ClassVar[str] = "repro.studies.context_vector.study"
    per_run: ClassVar[frozenset[str]] = frozenset({"initialisation", "weight_std"})
    metrics: ClassVar[dict[str, Metric]] = {
        "perplexity": Metric("log"),
        "accuracy": Metric("log-odds"),
        "validation_loss": Metric("identity"),
        "lead_over_unknown": Metric("identity"),
        "generalisation_gap": Metric("identity"),
        "gradient_norm": Metric("log"),
        "stack_gradient_norm": Metric("log"),
        "logit_spread": Metric("log"),
        "parameters": Metric("log", exact=True),
        "parameters_a_sequence": Metric("log", exact=True),
        "multiplications": Metric("log", exact=True),
        "sequences": Metric("identity", listed=True, exact=True),
    }

    layers: int
    context: int
    width: int = 512
    embedding: int = 256
    vocabulary: int = 1000

    stack: Literal["plain", "residual", "normalised"] = "plain"
    """The kind of stack: `plain` is the source's; the others have no further parameters.

    `residual` adds each layer but the first to its input, `normalised` normalises each layer before
    its ReLU."""

    initialisation: Literal["small", "he"] = "small"
    """The initialisation of weights: `small` is the source's single standard deviation.

    `he` scales the weights of the stack so that a layer of ReLUs keeps the size of its input."""

    weight_std: float = 0.02
    embedding_std: float = 0.02
    dropout: float = 0.1

    data: str = "wikitext-2"
    length: int = LENGTH
    """Words of a sequence; the model reads all except the last."""
    sequences: int = 51_026
    """The number of training sequences, the first of the set."""
    validation_sequences: int = 5_272
    epochs_a_pass: int = 1
    """The number of epochs that one pass over the training sequences is split into."""

    recipe: Recipe = AS_RUN

    def __post_init__(self) -> None:
        for name in ("layers", "context", "epochs_a_pass"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; give at least 1.")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout={self.dropout} is a share; give 0 to less than 1.")
        if not 3 <= self.length <= LENGTH:
            raise ValueError(f"length={self.length} cannot be; sequences have 3 to {LENGTH} words.")

    def at_ci(self) -> Self:
        """Return the same experiment with a 16th of every width, and batches of a 128th.

        The depths stay. It reads the first 8 words of 2,000 sequences, with a vocabulary of 128.
        More words and longer sequences would only cost time; on the generated text 30 % of the
        words are unknown, as documented. These properties are kept:

        - The standard deviation of the weights grows by the root of what the widths shrink by, so
          that every layer shrinks its signal at the start as it does at the documented size.
        - An epoch keeps 25 updates and a run 50 epochs, since Adam's progress depends on the number
          of updates. For this a pass over the data is split into five epochs. So stages, patience
          and warm-up keep their epochs.
        - The learning rate grows by 16: a step of Adam changes a layer's output by the rate times
          the width. One factor changes all rates, and one all batches, so the relations between
          arms, and between their rates and batches, are as documented.
        """
        return self.but(
            width=self.width // NARROWER,
            embedding=self.embedding // NARROWER,
            context=self.context // NARROWER,
            weight_std=self.weight_std * math.sqrt(NARROWER),
            vocabulary=128,
            length=8,
            sequences=2_000,
            validation_sequences=128,
            epochs_a_pass=5,
            recipe=self.recipe.but(
                batch=self.recipe.batch // SMALLER_BATCH, lr=self.recipe.lr * NARROWER
            ),
        )

    def located(self) -> Self:
        here = resolved(self, "data")
        if here != self and self.length == LENGTH:
            raise Needs(
                f"{self.label} at its documented size needs WikiText-2 itself, whose twin is"
                " smaller: run `python -m repro data fetch wikitext-2`."
            )
        return here

    def content(self) -> str:
        return word_windows_hash(self.data)

    @property
    def epoch_sequences(self) -> int:
        """The number of sequences of an epoch, without the filling of the last batch."""
        return self.sequences // self.epochs_a_pass

    @property
    def steps(self) -> int:
        return self.recipe.epochs * -(-self.epoch_sequences // self.recipe.batch)

    def stacks_on(self, device: str) -> bool:
        fills = fills_lines(self.width, self.embedding, self.context, self.vocabulary)
        pays = device != "cpu" or (fills and self.recipe.batch % 8 == 0)
        return pays and self.recipe.precision == "float32"

    @property
    def products(self) -> int:
        """The number of multiplications of the forward pass for one word."""
        stack = (self.embedding + self.context) * self.width + (self.layers - 1) * self.width**2
        return stack + self.width * (self.vocabulary + 3 * self.context)

    @property
    def effort(self) -> float:
        return 3.0 * (self.length - 1) * self.products

    @property
    def label(self) -> str:
        recipe, usual = self.recipe, AS_RUN
        scale = SMALLER_BATCH if self.length != LENGTH else 1
        rate = recipe.lr / (NARROWER if self.length != LENGTH else 1)
        shape = f"{self.layers} layers, context {self.context}"
        variants = [
            name
            for name, other in (
                (f"lr {rate:g}", not math.isclose(rate, usual.lr)),
                (f"batch {recipe.batch * scale}", recipe.batch * scale != usual.batch),
                (f"{recipe.epochs} epochs", recipe.epochs != usual.epochs),
                (f"clip {recipe.clip}", recipe.clip != usual.clip),
                ("warm-up", recipe.warmup > 0),
                (recipe.precision, recipe.precision != usual.precision),
                (self.stack, self.stack != "plain"),
                ("He initialisation", self.initialisation == "he"),
            )
            if other
        ]
        return ", ".join([shape, *variants])


BASELINE = ContextArm(layers=6, context=256)
ADVANCED = ContextArm(layers=12, context=512)
"""The two models of the source, which differ both in depth and in context."""

DEEPER = ContextArm(layers=12, context=256)
WIDER = ContextArm(layers=6, context=512)
"""The baseline with one of the two changes."""

UPDATES_AN_EPOCH = 25
"""Updates of an epoch with batches of 2048, to convert warm-ups that are given in epochs."""


@dataclass(frozen=True, kw_only=True)
class AtTheStart(ContextArm):
    """A network before its first step, which can be measured at the documented size on a CPU.

    >>> AtTheStart(layers=12, context=512)
    """

    metrics: ClassVar[dict[str, Metric]] = {
        **{
            name: ContextArm.metrics[name]
            for name in ("parameters", "parameters_a_sequence", "sequences", "logit_spread")
        },
        "first_layer_gradient_norm": Metric("log"),
    }

    looked_at: int = 64
    """Gradients and spread are measured on this number of sequences, the first of the set."""

    recipe: Recipe = AS_RUN.but(epochs=0, patience=None)

    def at_ci(self) -> Self:
        """Return the documented size, which takes only a few seconds without training."""
        return self

    def stacks_on(self, device: str) -> bool:
        return False

    @property
    def label(self) -> str:
        return f"{super().label.removesuffix(', 0 epochs')}, untrained"


@dataclass(frozen=True, kw_only=True)
class WarmUp(Recipe):
    """A recipe whose learning rate rises from a share of itself, not from zero."""

    warmup_from: float
    """The share of the learning rate at the first step."""

    def lr_factor(self, step: int, total: int) -> float:
        if step < self.warmup:
            return self.warmup_from + (1 - self.warmup_from) * step / self.warmup
        return super().lr_factor(step, total)


WARMED_UP = WarmUp(**vars(AS_RUN) | {"warmup": 5 * UPDATES_AN_EPOCH}, warmup_from=0.25)
"""From 0.0001 to 0.0004 in five epochs, as the source proposes."""


@dataclass(frozen=True, kw_only=True)
class WarmedUp(ContextArm):
    """A model with the warm-up that the source proposes for large models."""

    recipe: Recipe = WARMED_UP
