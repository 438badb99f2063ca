"""The arms of source 001: a language model that passes a context vector from word to word.

The source trained by one set of rules and wrote down another. `AS_RUN` are the rules of its code,
which its numbers come from; `AS_WRITTEN` are those of its text. Everything that makes the `ci`
profile smaller than the documented experiment stands in `at_ci`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

from repro.arm import Arm, Metric, Needs
from repro.data.word_windows import LENGTH, word_windows_identity
from repro.recipe import Recipe
from repro.studies.cache_lines import fills_lines
from repro.studies.resolved import resolved

NARROWER = 16
"""Width of the documented layers over that of the `ci` ones."""

SMALLER_BATCH = 128
"""Sequences of a documented batch over those of a `ci` one."""

AS_RUN = Recipe(
    epochs=50,
    batch=2048,
    lr=4e-4,
    optimiser="adam",
    clip=((0, 0.5), (10, 1.0), (30, 2.0)),
    patience=9,  # it stops at the tenth epoch without a gain
    least_gain=0.001,
)
"""The rules in the trainer of the source, which does not read the settings that it is given."""

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
    """The kind of stack: `plain` is the source's; the others have no parameter more.

    `residual` adds each layer after the first to its input, `normalised` normalises each layer
    before its ReLU."""

    initialisation: Literal["small", "he"] = "small"
    """The initialisation of weights: `small` has one standard deviation for all, as in the source.

    `he` draws those of the stack so that a layer of ReLUs keeps the size of its input."""

    weight_std: float = 0.02
    embedding_std: float = 0.02
    dropout: float = 0.1

    data: str = "wikitext-2"
    length: int = LENGTH
    """Words of a sequence; the model reads all but the last."""
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
        """Return the same experiment with a sixteenth of every width and batches smaller by 128.

        The depths stay. It reads the first 8 words of 2,000 sequences, in a vocabulary of 128 (a
        larger one and longer sequences would only cost time; on the generated text 30 % of the
        words are then unknown, as documented). What is kept, and why:

        - The standard deviation of the weights grows by the root of what the widths shrink by, so
          that every layer shrinks its signal at the start as it does at the documented size.
        - An epoch stays 25 updates and a run 50 epochs, since updates are what Adam's progress is
          counted in; a pass over the data is split into five epochs for it. Stages, patience and
          warm-up so keep their epochs.
        - The learning rate grows by 16: a step of Adam changes what a layer computes by the rate
          times the width. All rates and all batches are changed by one factor each, so that what
          arms have in common and how their rates stand to their batches is as documented.
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
        return word_windows_identity(self.data, vocabulary=self.vocabulary)

    @property
    def epoch_sequences(self) -> int:
        """The number of sequences of an epoch, before the last batch is filled up."""
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
"""The two models of the source, which differ in depth and in context at once."""

DEEPER = ContextArm(layers=12, context=256)
WIDER = ContextArm(layers=6, context=512)
"""The baseline with one of the two changes each."""

UPDATES_AN_EPOCH = 25
"""The number of updates of an epoch in batches of 2048, to convert warm-ups given in epochs."""
