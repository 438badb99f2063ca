"""Settings of studies that cannot be are refused in a sentence, and so is what is not here."""

import pytest

from repro.arm import Needs
from repro.studies.context_vector.arms import ADVANCED
from repro.studies.context_vector.variants import AtTheStart
from repro.studies.depth_ladder.arms import D256_L4
from repro.studies.depth_ladder.variants import LinearArm, at_start, by_local_losses, placed
from repro.studies.early_exit.arms import STANDARD
from repro.studies.find import study_of
from repro.studies.finetuning.arms import FIRST_ROW, ROWS
from repro.studies.parameter_sharing.arms import BASELINE
from repro.studies.parameter_sharing.rows import at
from tests.studies.small import CONTEXT, LADDER, PARTIAL, SHARING, loaded

REFUSED = [
    (LADDER, {"trained": 3}, "trained=3 of 2 blocks cannot be"),
    (CONTEXT, {"layers": 0}, "at least 1"),
    (CONTEXT, {"dropout": 1.0}, "is a share"),
    (CONTEXT, {"length": 65}, "3 to 64 words"),
    (STANDARD, {"layer_weights": (0.0, 0.0)}, "trains nothing"),
    (STANDARD, {"layer_weights": (1.0, -0.1)}, "not negative"),
    (STANDARD, {"layer_lr_scales": (1.0, 0.5)}, "must be 3 numbers"),
    (STANDARD, {"routing_threshold": 1.1}, "compared with a probability"),
    (STANDARD, {"exits": (4,)}, "must name some of the 3 layers"),
    (STANDARD, {"exits": (2, 1)}, "each layer once, the first one first"),
    (FIRST_ROW, {"padding": "none", "token": "first"}, "padding='none' reads the last word"),
    (FIRST_ROW, {"rank": 0}, "must be at least 1"),
    (BASELINE, {"width": 100}, "width=100 is no multiple of head=48"),
    (BASELINE, {"pruned": 1}, "pruned=1 is a share"),
    (BASELINE, {"halting": True}, "sets=6 must be 1"),
    (PARTIAL, {"sets": 2}, "sets=2 share whole layers already"),
]


@pytest.mark.parametrize(("arm", "settings", "sentence"), REFUSED)
def test_settings_that_cannot_mean_anything_are_refused(arm, settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        arm.but(**settings)


@pytest.mark.parametrize(
    ("arm", "sentence"),
    [
        (LADDER.but(images=100_000), "asks for 100000 training images"),
        (CONTEXT.but(sequences=100_000), "asks for 100000 training sequences"),
        (SHARING.but(context=16), r"context=16 cannot hold the longest sentence, of \d+"),
    ],
)
def test_more_than_a_set_has_is_refused(arm, sentence):
    with pytest.raises(ValueError, match=sentence):
        loaded(arm)


def test_a_set_that_is_not_here_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("REPRO_DATA", str(tmp_path))
    for arm, sentence in (
        (D256_L4, "needs CIFAR-10 itself"),
        (AtTheStart(layers=12, context=512, data="wikitext-2"), "needs WikiText-2 itself"),
        (FIRST_ROW, "run `python -m repro data fetch sms-spam`"),
        (BASELINE, "run `python -m repro data fetch gpt2-bpe`"),
    ):
        with pytest.raises(Needs, match=sentence):
            arm.located()
    for name in ("sms-spam", "gpt2-bpe"):
        (tmp_path / name).mkdir()
    with pytest.raises(Needs, match="starts from GPT-2's small weights"):
        FIRST_ROW.located()
    assert ROWS[8].located().start == "random"
    assert BASELINE.at("ci").located().cut_tokenizer == "gpt2-bpe:1024"


def test_what_is_too_large_for_a_profile_names_another():
    for arm in (ROWS[5], at("decoder 25k", "very deep"), at("decoder 25k", "deep")):
        with pytest.raises(Needs, match="needs --profile paper"):
            arm.at("ci")
        assert arm.at("paper") == arm
    with pytest.raises(ValueError, match="has no profile 'quick'"):
        FIRST_ROW.at("quick")


def test_only_what_has_a_stacked_form_says_that_it_stacks():
    ladders = [placed(D256_L4, "input"), by_local_losses(D256_L4), at_start(D256_L4), LinearArm()]
    contexts = [ADVANCED, AtTheStart(layers=12, context=512)]
    for arm in [D256_L4, *ladders, *contexts, STANDARD, FIRST_ROW, ROWS[9], BASELINE]:
        assert hasattr(study_of(arm), "stacked") or not arm.at("ci").stacks_on("cpu")
        assert hasattr(study_of(arm), "stacked") or not arm.stacks_on("cuda")
    assert D256_L4.at("ci").stacks_on("cpu")
    assert ADVANCED.at("ci").stacks_on("cpu")
