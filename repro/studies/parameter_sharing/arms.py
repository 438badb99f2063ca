"""The arms of source 002: models whose layers share a smaller number of sets of parameters.

The source gives neither sizes nor data. These were chosen:

- Six sets in every family: the first of the sharing sizes in its plan (6, 8, 12), and the size in a
  name of its text (`shared_6_cycle_reverse`).
- Numbers of layers that explain which of its rows are equal. `wide` has at most six, so that
  nothing is shared and the three strategies are one model. The source's notes change only the
  width, so it has six like the baseline. `wide deep` has seven, the only number for which SEQUENCE
  and CYCLE (REV) are equal and CYCLE is not. `very wide` has eight, the smallest number for which
  all three differ, like its decoders. `deep` and `very deep` use the six sets two and three times.
- `deep` and `very deep` have as many parameters in the layers as the baseline. The wide families
  have more (1.6, 1.6 and 3 times as many), since wider layers with six sets have more.
- Width 384, vocabulary 10,000, batch 64 and learning rate 0.001, as is usual for small models in
  teaching. The text is WikiText-2, read many times.

`at_ci` has all differences between the `ci` profile and the documented size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

from repro.arm import Arm, Metric, Needs
from repro.data.corpus import corpus_hash
from repro.data.files import TWIN, hash_of_all
from repro.data.pairs import pairs_hash
from repro.data.passages import Variant, passages_hash
from repro.recipe import Recipe
from repro.studies import resolved

Strategy = Literal["sequence", "cycle", "cycle (rev)"]

Order = tuple[int, ...]
"""The set of each layer, from the input to the output."""

NARROWER = 12
"""The documented width, divided by that at `ci`."""

FEWER_FEATURES = 6
"""The documented number of features of a head, divided by that at `ci`."""

SHORTER = 100
"""The documented number of steps, divided by that at `ci`."""

MOST = 2000
"""The most layers times steps of an arm at `ci`: the eight layers of `very wide`, trained long."""

HEAD = 48
STEPS_AN_EPOCH = 10

LONG = Recipe(
    epochs=2500,
    batch=64,
    lr=1e-3,
    weight_decay=0.01,
    schedule="cosine",
    warmup=500,
    clip=1.0,
    measure_every=2500,
)
"""The recipe of 25,000 steps."""

SHORT = LONG.but(epochs=1000, measure_every=1000)
"""The recipe of 10,000 steps."""


def sequence(layers: int, sets: int) -> Order:
    """Assign each set to neighbouring layers.

    The paper starts a new set after every `layers // sets` layers. If the division has a remainder,
    this makes too many sets (12 for 12 layers and 8 sets); here it stays at the last set instead.

    >>> sequence(6, 3)
    (0, 0, 1, 1, 2, 2)
    """
    each = max(1, layers // sets)
    return tuple(min(layer // each, sets - 1) for layer in range(layers))


def cycle(layers: int, sets: int) -> Order:
    """Assign all sets in turn, repeatedly.

    >>> cycle(6, 3)
    (0, 1, 2, 0, 1, 2)
    """
    return tuple(layer % sets for layer in range(layers))


def cycle_reversed(layers: int, sets: int) -> Order:
    """Assign all sets in turn, the last time backwards.

    >>> cycle_reversed(6, 3)
    (0, 1, 2, 2, 1, 0)
    """
    forwards = max(sets, sets * (-(-layers // sets) - 1))
    return tuple(
        layer % sets if layer < forwards else sets - 1 - layer % sets for layer in range(layers)
    )


STRATEGIES: dict[Strategy, Callable[[int, int], Order]] = {
    "sequence": sequence,
    "cycle": cycle,
    "cycle (rev)": cycle_reversed,
}


def assigned(strategy: Strategy, *, layers: int, sets: int) -> Order:
    """Return the set of each layer.

    >>> assigned("cycle (rev)", layers=3, sets=3) == assigned("sequence", layers=3, sets=3)
    True
    """
    if layers < 1 or sets < 1:
        raise ValueError(f"layers={layers} and sets={sets} must be at least 1.")
    return STRATEGIES[strategy](layers, sets)


@dataclass(frozen=True, kw_only=True)
class SharingArm(Arm):
    """A language model whose layers share parameters.

    >>> SharingArm(kind="decoder", width=384, layers=12, sets=6, strategy="cycle")
    """

    study: ClassVar[str] = "repro.studies.parameter_sharing.study"
    metrics: ClassVar[dict[str, Metric]] = {
        "blimp": Metric("identity", sampled="paradigms"),
        "paradigms": Metric("log-odds", examples=1000, listed=True),
        "lambada_accuracy": Metric("log-odds", examples=5153),
        "lambada_perplexity": Metric("log"),
        "perplexity": Metric("log"),
        "mutual_information": Metric("identity"),
        "parameters": Metric("log", exact=True),
        "parameters_in_layers": Metric("log", exact=True),
        "multiplications": Metric("log", exact=True),
    }

    kind: Literal["decoder", "encoder"] = "decoder"
    width: int = 384
    layers: int = 6
    sets: int = 6
    strategy: Strategy = "sequence"
    head: int = HEAD
    """The number of features of an attention head."""

    initial_scale: float = 1.0
    """The standard deviation of initial weights, divided by GPT-2's."""

    data: str = "wikitext-2"
    pairs: str = "blimp"
    passages: str = "lambada"
    variant: Variant = "openai"
    tokenizer: str = "gpt2-bpe"
    vocabulary: int = 10_000
    """The number of tokens; the tokenizer's first merges make them."""

    context: int = 256
    pairs_a_paradigm: int = 1000
    last_words: int = 5153
    recipe: Recipe = SHORT

    def __post_init__(self) -> None:
        if self.width % self.head:
            raise ValueError(f"width={self.width} is no multiple of head={self.head} features.")

    def at_ci(self) -> Self:
        """Return the same experiment with a twelfth of the width and a hundredth of the steps.

        It takes 100 steps instead of 10,000, and 250 instead of 25,000, on 4 windows of 64 tokens,
        with a vocabulary of 1,024. BLiMP has 20 pairs per paradigm (2 for encoders, which read a
        sentence once per token), LAMBADA 100 last words. The size was chosen so that all claims
        take some ten minutes of one core, and that the baseline (no other arm was tried) learns
        more than the frequencies of tokens. As a decoder it does: its perplexity on WikiText-2,
        a mean over seeds, is 275, and 162 after 250 steps; frequencies give 337. As an encoder it
        does not. Arms with more than `MOST` layers times steps are left to `paper`.

        A step of Adam changes a layer's output by the rate times the width, and initial weights by
        the root of the width. So as the width shrinks, the rate grows by half of that factor (small
        batches are noisy), and the initial weights by its root. Layers, sets and sharing stay.
        There are half as many heads, with a sixth of the features.
        """
        recipe = self.recipe
        epochs = recipe.epochs // SHORTER
        if self.layers * epochs * STEPS_AN_EPOCH > MOST:
            raise Needs(
                f"has an arm that is too large for ci ({self.label}): needs --profile paper"
            )
        return self.but(
            width=self.width // NARROWER,
            head=self.head // FEWER_FEATURES,
            initial_scale=self.initial_scale * NARROWER**0.5,
            vocabulary=1024,
            context=self.context // 4,
            pairs_a_paradigm=min(self.pairs_a_paradigm, 20 if self.kind == "decoder" else 2),
            last_words=min(self.last_words, 100),
            recipe=recipe.but(
                epochs=epochs,
                measure_every=max(1, epochs),
                batch=recipe.batch // 16,
                lr=recipe.lr * NARROWER / 2,
                warmup=recipe.warmup // SHORTER,
            ),
        )

    def located(self) -> Self:
        here = resolved(self, "data", "pairs", "passages", "tokenizer")
        if here.tokenizer.endswith(TWIN) and self.vocabulary > 1024:
            raise Needs(
                "is judged at the documented size on GPT-2's own vocabulary: run `python -m repro"
                " data fetch gpt2-bpe`"
            )
        return here

    @property
    def data_sets(self) -> tuple[str, ...]:
        return (self.data, self.pairs, self.passages, self.tokenizer)

    def content(self) -> str:
        cut = self.cut_tokenizer
        return hash_of_all(
            corpus_hash(self.data, tokenizer=cut),
            pairs_hash(self.pairs, tokenizer=cut),
            passages_hash(self.passages, self.variant, tokenizer=cut),
        )

    @property
    def cut_tokenizer(self) -> str:
        """The name of the vocabulary in `repro.data.bpe`."""
        return f"{self.tokenizer}:{self.vocabulary}"

    @property
    def order(self) -> Order:
        """The set of each layer."""
        return assigned(self.strategy, layers=self.layers, sets=self.sets)

    @property
    def steps(self) -> int:
        return self.recipe.epochs * STEPS_AN_EPOCH

    @property
    def products(self) -> float:
        """The number of multiplications of a forward pass for one token."""
        layer = 12 * self.width**2 + 2 * self.context * self.width
        return self.layers * layer + self.width * self.vocabulary

    @property
    def effort(self) -> float:
        return 3.0 * self.context * self.products

    @property
    def label(self) -> str:
        parts = [f"{self.kind} of {self.layers} layers, {self.width} wide"]
        if self.sets < self.layers:
            parts.append(f"{self.sets} sets by {self.strategy}")
        return ", ".join([*parts, f"{self.steps:,} steps"])


FAMILIES = {
    "deep": SharingArm(layers=12),
    "very deep": SharingArm(layers=18),
    "wide": SharingArm(width=480),
    "very wide": SharingArm(width=672, layers=8),
    "wide deep": SharingArm(width=480, layers=7),
}
BASELINE = SharingArm()


def sharing(family: str, strategy: Strategy) -> SharingArm:
    """Return a family with a strategy, or with the first strategy that assigns the same sets."""
    arm = FAMILIES[family].but(strategy=strategy)
    same = (arm.but(strategy=other) for other in STRATEGIES)
    return next(other for other in same if other.order == arm.order)


SHORT_NAMES: dict[Strategy, str] = {"sequence": "seq", "cycle": "cycle", "cycle (rev)": "rev"}
ROWS = {
    f"{family} {short}": sharing(family, strategy)
    for family in FAMILIES
    for strategy, short in SHORT_NAMES.items()
}
MODELS = tuple(
    name
    for index, (name, arm) in enumerate(ROWS.items())
    if list(ROWS.values()).index(arm) == index
)
"""The first row of each model."""


def at(column: str, name: str) -> SharingArm:
    """Return the arm of a row; for a family with CYCLE (REV), as each was trained for 25k.

    >>> at("encoder 25k", "very wide").strategy
    'cycle (rev)'
    """
    kind, steps = column.split()
    arm = BASELINE if name == "baseline" else ROWS[f"{name} rev" if name in FAMILIES else name]
    return arm.but(kind=kind, recipe=LONG if steps == "25k" else arm.recipe)
