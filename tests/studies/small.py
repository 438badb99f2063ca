"""Small arms of the studies, which train on twins in a fraction of a second, and their steps."""

import functools
from types import SimpleNamespace

import torch
from hypothesis import strategies as st

from repro.arm import Run
from repro.core.initial import as_gpt2
from repro.core.train import train
from repro.core.weights import load_data, to_file
from repro.recipe import Moment, Recipe
from repro.studies import study_of
from repro.studies.context_vector.arms import ContextArm
from repro.studies.depth_ladder.arms import LadderArm, LinearArm
from repro.studies.early_exit.arms import STANDARD, ExitArm
from repro.studies.finetuning.gpt2 import SHAPES
from repro.studies.finetuning.model import Gpt
from repro.studies.parameter_sharing.arms import BASELINE, SharingArm
from tests.run_files import KeptFiles

CPU = torch.device("cpu")

LADDER = LadderArm(
    width=16, depth=2, rule="bp", trained=2, data="cifar10-twin", pixels=8, images=320, shift=1,
    weight_std=0.1, embedding_std=0.1, recipe=Recipe(epochs=1, batch=32, lr=1e-3),
)  # fmt: skip

EXIT = ExitArm(
    layer_weights=(0.5, 0.0, 0.5), width=16, heads=2, hidden=16, data="wikitext-2-twin",
    characters=2_000, recipe=STANDARD.recipe.but(batch=2),
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


FROZEN = [
    {"trained": "last layer", "token": "last word", "attends_padding": False},
    {"trained": "last block", "token": "mean", "causal": False},
    {"trained": "last two blocks", "token": "last"},
]
"""Each depth of finetuning above frozen layers, and each mask, once."""

any_frozen = st.fixed_dictionaries(
    {
        "trained": st.sampled_from([settings["trained"] for settings in FROZEN]),
        "token": st.sampled_from(["last", "first", "last word", "mean"]),
    },
    optional={"causal": st.just(False), "attends_padding": st.just(False)},
)


def finetuning(arm, **changes):
    """Return an arm of finetuning at its `ci` size on twins, with some settings changed."""
    return arm.at("ci").but(**FINETUNING_DATA, **changes)


@functools.cache
def pretrained():
    """Parameters of a GPT that differ from their start, so that nothing in them is zero."""
    gpt, noise = Gpt(GPT, vocabulary=1024), torch.Generator().manual_seed(6)
    as_gpt2(gpt, 5, layers=GPT.layers)
    return {
        name: p.detach() + 0.02 * torch.randn(p.shape, generator=noise)
        for name, p in gpt.named_parameters()
    }


def base():
    """The files of what arms start from: a run of pretraining."""
    return KeptFiles(lambda run: to_file(pretrained()))


def loaded(arm, device=CPU):
    """The data of an arm, with the weights that it starts from, if any."""
    return load_data(study_of(arm), arm, device, base())


def model(arm, seed=1):
    """The plain model of one run, which has its data."""
    return study_of(arm).reference(Run(arm, seed), loaded(arm), CPU)


def first_batch(data, seed=1, size=None):
    """The first examples of a run's first epoch."""
    return tuple(part[0] for part in data.batch(data.epoch(seed, 0)[None, :size]))


def started(program, runs):
    """A program of some runs, and its data."""
    data = loaded(runs[0].arm)
    return program(study_of(runs[0].arm), runs, data, CPU), data


def trained(arm, seed=1):
    """The values of a run that the plain loop trained."""
    [(_, values)] = train(study_of(arm), [Run(arm, seed)], engine="loop", device=CPU, files=base())
    return values


def changed(study, **parts):
    """A study with some of its parts changed."""
    names = ("monitor", "load", "reference", "stacked")
    return SimpleNamespace(**{name: getattr(study, name) for name in names} | parts)


@st.composite
def ladders(draw, rule=None, feedback=None):
    """Small ladders with all that can differ between two programs."""
    depth = draw(st.integers(1, 3))
    return LADDER.but(
        width=draw(st.sampled_from([16, 32])),
        depth=depth,
        rule=rule or draw(st.sampled_from(["bp", "fa", "dfa"])),
        trained=draw(st.integers(0, depth)),
        expansion=draw(st.sampled_from([1, 2, 4])),
        feedback=feedback or draw(st.sampled_from(["weights", "blocks"])),
        credit=draw(st.sampled_from(["normalised", "raw"])),
        embedding=draw(st.sampled_from(["trained", "frozen"])),
        images=64,
        shift=draw(st.sampled_from([0, 1])),
        recipe=Recipe(epochs=1, batch=16, lr=1e-3, weight_decay=0.01, schedule="cosine"),
    )


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


def of_torchs_own_layers(p, tokens, blocks, *, query_key_value, activation, causal):
    """The logits of a transformer that is 16 wide and has two heads, by its parameters."""
    layer = torch.nn.TransformerEncoderLayer(
        16, 2, 64, dropout=0.0, activation=activation, batch_first=True, norm_first=True
    )
    names = {
        "self_attn.in_proj_": query_key_value, "self_attn.out_proj.": ["attention.out."],
        "linear1.": ["up."], "linear2.": ["down."],
        "norm1.": ["norm_attention."], "norm2.": ["norm_feed_forward."],
    }  # fmt: skip
    length = tokens.shape[1]
    mask = torch.nn.Transformer.generate_square_subsequent_mask(length) if causal else None
    h = p["tokens.weight"][tokens] + p["positions.weight"][:length]
    for block in blocks:
        for theirs, ours in names.items():
            for part in ("weight", "bias"):
                joined = torch.cat([p[f"{block}.{name}{part}"] for name in ours])
                layer.load_state_dict({f"{theirs}{part}": joined}, strict=False)
        h = layer(h, mask, is_causal=causal)
    h = torch.nn.functional.layer_norm(h, (16,), p["norm.weight"], p["norm.bias"])
    return h @ p["tokens.weight"].T


def of_noise(module):
    """Parameters for a module, drawn anew, which it has from now on."""
    noise = torch.Generator().manual_seed(1)
    drawn = {n: torch.randn(p.shape, generator=noise) / 3 for n, p in module.named_parameters()}
    module.load_state_dict(drawn)
    return drawn
