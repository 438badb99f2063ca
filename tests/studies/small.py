"""Small arms of the studies, which train on twins in a fraction of a second."""

import torch

from repro.recipe import Moment, Recipe
from repro.studies.context_vector.arms import ContextArm
from repro.studies.depth_ladder.arms import LadderArm
from repro.studies.depth_ladder.variants import LinearArm
from repro.studies.finetuning.shape import SHAPES
from repro.studies.parameter_sharing.arms import BASELINE, SharingArm
from repro.studies.parameter_sharing.partial import PartialArm

LADDER = LadderArm(
    width=16, depth=2, rule="bp", trained=2, data="cifar10-twin", pixels=8, images=320, shift=1,
    weight_std=0.1, embedding_std=0.1, recipe=Recipe(epochs=1, batch=32, lr=1e-3),
)  # fmt: skip

CONTEXT = ContextArm(
    layers=3, context=16, width=32, embedding=16, vocabulary=64, length=7, sequences=48,
    validation_sequences=12, epochs_a_pass=2, weight_std=0.2, data="wikitext-2-twin",
    recipe=Recipe(epochs=4, batch=8, lr=1e-2, optimiser="adam", clip=0.5),
)  # fmt: skip

SHARING_SETTINGS = {
    "data": "wikitext-2-twin", "pairs": "blimp-twin", "passages": "lambada-twin",
    "tokenizer": "gpt2-bpe-twin", "vocabulary": 300, "width": 16, "head": 8, "layers": 3,
    "sets": 2, "context": 48, "pairs_a_paradigm": 3, "last_words": 5,
}  # fmt: skip
SHARING = SharingArm(**SHARING_SETTINGS, recipe=BASELINE.recipe.but(epochs=1, batch=2, warmup=0))

PARTIAL = PartialArm(
    **SHARING_SETTINGS | {"layers": 4, "sets": 4},
    part="feed-forward", among="first half", recipe=SHARING.recipe,
)  # fmt: skip

LINEAR = LinearArm(
    data="cifar10-twin", pixels=8, images=320, shift=0, recipe=LADDER.recipe.but(batch=16)
)

GPT = SHAPES["tiny"]
"""The shape of the network of all arms that `finetuning` returns."""

FINETUNING_DATA = {
    "data": "sms-spam-twin",
    "tokenizer": "gpt2-bpe-twin",
    "corpus": "wikitext-2-twin",
}


def finetuning(arm, **changes):
    """Return an arm of finetuning at its `ci` size on twins, with some settings changed."""
    return arm.at("ci").but(**FINETUNING_DATA, **changes)


def stepped(program, data, count=3):
    """Take some steps of the first epoch; return their losses [steps, R]."""
    size = program.runs[0].arm.recipe.batch
    lines = torch.stack([data.epoch(run.seed, 0) for run in program.runs])
    losses = []
    for step in range(count):
        batch = data.batch(lines[:, step * size : (step + 1) * size])
        losses.append(program.advance(batch, Moment(step=step, per_epoch=count, total=count)))
    return torch.stack(losses)


def copied(state):
    """A state as it is now, whatever its program does next."""
    return {name: x.clone() for name, x in state.items()}


def assert_same(state, other):
    """Assert that another state has all tensors of a state, to the bit."""
    assert state.keys() <= other.keys()
    assert [name for name, x in state.items() if not torch.equal(x, other[name])] == []
