"""The settings of each source's experiment, as literals from its text and its code.

Where a source is silent, the literal is our choice, and a comment says so. An edit of a default is
an edit of the experiment: it fails here.
"""

import dataclasses

import pytest

from repro.studies.context_vector import arms as context
from repro.studies.depth_ladder import arms as ladder
from repro.studies.early_exit import arms as early_exit
from repro.studies.early_exit import study as early_exit_study
from repro.studies.finetuning import arms as finetuning
from repro.studies.parameter_sharing import arms as sharing
from repro.studies.parameter_sharing import data as sharing_data

PLAIN = {
    "optimiser": "adamw", "schedule": "constant", "warmup": 0, "weight_decay": 0.0, "clip": None,
    "patience": None, "least_gain": 0.0, "momentum": 0.0, "nesterov": False, "drop_every": 30,
    "drop_to": 0.1, "precision": "float32", "measure_every": 1,
}  # fmt: skip
"""What a recipe has unless a source says otherwise."""

EARLY_EXIT = {
    "layer_weights": (0.0, 0.0, 1.0), "routing_threshold": 0.0, "layer_lr_scales": None,
    "exits": (1,), "confidence": "max-softmax", "alpha_path": "fixed", "layers": 3,
    "width": 64, "heads": 4, "hidden": 256, "data": "repeated-sentences", "characters": 100_000,
    "recipe": {"epochs": 50, "batch": 32, "lr": 1e-3, "weight_decay": 0.01, "clip": 1.0,
               "patience": 0},
}  # fmt: skip

CONTEXT = {
    "layers": 6, "context": 256, "width": 512, "embedding": 256, "vocabulary": 1000,
    "stack": "plain", "initialisation": "small", "weight_std": 0.02, "embedding_std": 0.02,
    "dropout": 0.1, "data": "wikitext-2", "length": 64, "sequences": 51_026,
    "validation_sequences": 5_272, "epochs_a_pass": 1,
    "recipe": {"optimiser": "adam", "epochs": 50, "batch": 2048, "lr": 4e-4, "patience": 9,
               "clip": ((0, 0.5), (10, 1.0), (30, 2.0)), "least_gain": 0.001},
}  # fmt: skip

SHARING = {  # its steps and its strategies are documented; the rest is our choice
    "kind": "decoder", "width": 384, "layers": 6, "sets": 6, "strategy": "sequence", "head": 48,
    "initial_scale": 1.0, "data": "wikitext-2", "pairs": "blimp", "passages": "lambada",
    "variant": "openai", "tokenizer": "gpt2-bpe", "vocabulary": 10_000, "context": 256,
    "pairs_a_paradigm": 1000, "last_words": 5153,
    "recipe": {"epochs": 1000, "batch": 64, "lr": 1e-3, "weight_decay": 0.01, "clip": 1.0,
               "schedule": "cosine", "warmup": 500, "measure_every": 1000},
}  # fmt: skip

FINETUNING = {
    "size": "small", "start": "pretrained", "trained": "last block", "token": "last",
    "padding": "longest", "longest": 120, "causal": True, "attends_padding": True,
    "ignored_label": -100, "rank": 16, "alpha": 8.0, "lora_start": "normal",
    "adapted": "every layer", "vocabulary": None, "data": "sms-spam", "tokenizer": "gpt2-bpe",
    "corpus": "wikitext-2",
    "recipe": {"epochs": 5, "batch": 8, "lr": 5e-5, "weight_decay": 0.1, "measure_every": 5},
}  # fmt: skip

LADDER = {  # the source leaves open: feedback, initialisation, expansion and augmentation
    "width": 256, "depth": 4, "rule": "bp", "trained": 4, "expansion": 4, "feedback": "weights",
    "credit": "normalised", "embedding": "trained", "weight_std": 0.02, "embedding_std": 0.02,
    "data": "cifar10", "pixels": 32, "images": 50_000, "shift": 4,
    "recipe": {"epochs": 100, "batch": 128, "lr": 1e-3, "weight_decay": 0.01, "schedule": "cosine",
               "measure_every": 10},
}  # fmt: skip

PRETRAINING = {  # our choice: the source starts from GPT-2's weights
    "size": "tiny", "vocabulary": 4096, "data": "wikitext-2", "tokenizer": "gpt2-bpe",
    "messages": "sms-spam",
    "recipe": {"epochs": 6, "batch": 4, "lr": 3e-3, "weight_decay": 0.1, "schedule": "cosine",
               "warmup": 100, "clip": 1.0},
}  # fmt: skip

DOCUMENTED = {
    "000": (early_exit.STANDARD, EARLY_EXIT, {}),
    "001": (context.BASELINE, CONTEXT, {}),
    "001, advanced": (context.ADVANCED, CONTEXT, {"layers": 12, "context": 512}),
    "001, as written": (
        context.BASELINE.but(recipe=context.AS_WRITTEN), CONTEXT, {"clip": 1.0, "patience": 14},
    ),
    "001, at its start": (
        context.AtTheStart(layers=6, context=256), CONTEXT,
        {"epochs": 0, "patience": None, "looked_at": 64},
    ),
    "001, warmed up": (
        context.WarmedUp(layers=6, context=256), CONTEXT, {"warmup": 125, "warmup_from": 0.25},
    ),
    "002": (sharing.BASELINE, SHARING, {}),
    "002, 25k": (
        sharing.at("encoder 25k", "baseline"), SHARING,
        {"kind": "encoder", "epochs": 2500, "measure_every": 2500},
    ),
    "002, deep": (sharing.ROWS["deep seq"], SHARING, {"layers": 12}),
    "002, very deep": (
        sharing.ROWS["very deep rev"], SHARING, {"layers": 18, "strategy": "cycle (rev)"},
    ),
    "002, wide": (sharing.ROWS["wide seq"], SHARING, {"width": 480}),
    "002, very wide": (
        sharing.ROWS["very wide cycle"], SHARING,
        {"width": 672, "layers": 8, "strategy": "cycle"},
    ),
    "002, wide deep": (sharing.ROWS["wide deep seq"], SHARING, {"width": 480, "layers": 7}),
    "003": (finetuning.ROWS[1], FINETUNING, {}),
    "003, row 2": (finetuning.ROWS[2], FINETUNING, {"token": "first"}),
    "003, row 3": (finetuning.ROWS[3], FINETUNING, {"trained": "last layer"}),
    "003, row 4": (finetuning.ROWS[4], FINETUNING, {"trained": "all"}),
    "003, row 5": (finetuning.ROWS[5], FINETUNING, {"size": "medium"}),
    "003, row 6": (finetuning.ROWS[6], FINETUNING, {"size": "large"}),
    "003, row 7": (finetuning.ROWS[7], FINETUNING, {"size": "xl"}),
    "003, row 8": (finetuning.ROWS[8], FINETUNING, {"trained": "all", "start": "random"}),
    "003, row 9": (finetuning.ROWS[9], FINETUNING, {"trained": "lora"}),
    "003, row 10": (finetuning.ROWS[10], FINETUNING, {"padding": "context"}),
    "003, later row 4": (finetuning.LATER_ROWS[4], FINETUNING, {"trained": "last two blocks"}),
    "003, later row 9": (finetuning.LATER_ROWS[9], FINETUNING, {"size": "xl", "trained": "all"}),
    "003, later row 11": (
        finetuning.LATER_ROWS[11], FINETUNING,
        {"trained": "lora", "alpha": 16.0, "lora_start": "kaiming"},
    ),
    "003, later row 12": (
        finetuning.LATER_ROWS[12], FINETUNING,
        {"size": "xl", "trained": "lora", "lora_start": "kaiming"},
    ),
    "003, later row 14": (finetuning.LATER_ROWS[14], FINETUNING, {"padding": "none", "batch": 1}),
    "003, later row 15": (finetuning.LATER_ROWS[15], FINETUNING, {"padding": "none"}),
    "003, later row 16": (finetuning.LATER_ROWS[16], FINETUNING, {"token": "last word"}),
    "003, later row 17": (finetuning.LATER_ROWS[17], FINETUNING, {"causal": False}),
    "003, later row 18": (finetuning.LATER_ROWS[18], FINETUNING, {"ignored_label": 50256}),
    "003, later row 19": (finetuning.LATER_ROWS[19], FINETUNING, {"token": "mean"}),
    "003, pretraining": (finetuning.PretrainArm(), PRETRAINING, {}),
    "004": (ladder.D256_L4, LADDER, {}),
    "004, wider": (ladder.D512_L2, LADDER, {"width": 512, "depth": 2, "trained": 2}),
}  # fmt: skip
"""Arms, the settings of the first row of their source, and the differences from it."""

AT_CI = {
    "000": (early_exit.STANDARD, {}),
    "000, WikiText-2": (
        early_exit.STANDARD.but(data="wikitext-2"),
        {"width": 32, "heads": 2, "hidden": 128, "characters": 12_500, "batch": 4},
    ),
    "001": (
        context.BASELINE,
        {"width": 32, "embedding": 16, "context": 16, "weight_std": 0.08, "vocabulary": 128,
         "length": 8, "sequences": 2000, "validation_sequences": 128, "epochs_a_pass": 5,
         "batch": 16, "lr": 6.4e-3},
    ),
    "002": (
        sharing.BASELINE,
        {"width": 32, "head": 8, "initial_scale": 12**0.5, "vocabulary": 1024, "context": 64,
         "pairs_a_paradigm": 20, "last_words": 100, "epochs": 10, "measure_every": 10, "batch": 4,
         "lr": 6e-3, "warmup": 5},
    ),
    "002, encoder": (
        sharing.BASELINE.but(kind="encoder"),
        {"width": 32, "head": 8, "initial_scale": 12**0.5, "vocabulary": 1024, "context": 64,
         "pairs_a_paradigm": 2, "last_words": 100, "epochs": 10, "measure_every": 10, "batch": 4,
         "lr": 6e-3, "warmup": 5},
    ),
    "003": (
        finetuning.FIRST_ROW,
        {"size": "tiny", "longest": 64, "vocabulary": 4096, "rank": 1, "lr": 8e-4},
    ),
    "003, 192 wide": (
        finetuning.FIRST_ROW.but(size="mini"),
        {"longest": 64, "vocabulary": 4096, "rank": 4, "lr": 2e-4},
    ),
    "004": (
        ladder.D256_L4,
        {"width": 32, "weight_std": 0.02 * 8**0.5, "embedding_std": 0.08, "pixels": 8,
         "images": 10_240, "shift": 1, "epochs": 8, "batch": 32},
    ),
}  # fmt: skip
"""Arms, and all settings that differ at `ci`."""

STEPS = {
    "000": (early_exit.STANDARD, 50 * 48),
    "001": (context.BASELINE, 50 * 25),
    "001 at ci": (context.BASELINE.at("ci"), 50 * 25),
    "002": (sharing.BASELINE, 10_000),
    "002, 25k": (sharing.at("decoder 25k", "baseline"), 25_000),
    "002 at ci": (sharing.at("decoder 10k", "deep cycle").at("ci"), 100),
    "002, 25k at ci": (sharing.at("decoder 25k", "very wide").at("ci"), 250),
    "003": (finetuning.FIRST_ROW, 5 * 130),
    "003 at ci": (finetuning.FIRST_ROW.at("ci"), 5 * 130),
    "004": (ladder.D256_L4, 100 * 390),
    "004 at ci": (ladder.D256_L4.at("ci"), 8 * 320),
}
"""The updates of a run."""


def flat(settings):
    """Settings, with those of the recipe beside them."""
    settings = {**settings, **settings["recipe"]}
    return {name: x for name, x in settings.items() if name not in ("recipe", "arm")}


def rounded(x):
    return round(x, 12) if isinstance(x, float) else x


@pytest.mark.parametrize(("arm", "usual", "other"), DOCUMENTED.values(), ids=DOCUMENTED)
def test_an_arm_has_the_documented_settings(arm, usual, other):
    assert flat(arm.settings()) == {**PLAIN, **flat(usual), **other}


@pytest.mark.parametrize(("arm", "other"), AT_CI.values(), ids=AT_CI)
def test_ci_differs_from_the_documented_size_in_these_settings(arm, other):
    before, after = flat(arm.settings()), flat(arm.at("ci").settings())
    assert {name: rounded(x) for name, x in after.items() if x != before[name]} == {
        name: rounded(x) for name, x in other.items()
    }


@pytest.mark.parametrize(("arm", "steps"), STEPS.values(), ids=STEPS)
def test_a_run_takes_the_documented_number_of_steps(arm, steps):
    assert arm.steps == steps


def test_the_documented_seeds_come_first():
    assert early_exit.STANDARD.seeds(2) == [42, 1]
    assert finetuning.FIRST_ROW.seeds(2) == [123, 1]
    assert ladder.D256_L4.seeds(4) == [42, 123, 456, 1]


def test_the_constants_of_the_sources_are_documented():
    assert (early_exit.LENGTH, early_exit.VALIDATION_BATCH) == (64, 32)
    assert early_exit_study.EMBEDDING_STD == 0.02
    assert sharing_data.MASKED == 0.15  # our choice, as in BERT
    assert finetuning.TRAINING_MESSAGES == 1045
    mini = dataclasses.asdict(finetuning.PRETRAININGS["mini"])
    assert mini == {**PLAIN, **PRETRAINING["recipe"], "epochs": 72, "lr": 1e-3}
