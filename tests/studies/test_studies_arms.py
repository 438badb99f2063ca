"""What the arms of all studies say: sets that they read, settings that cannot be, sizes."""

import functools
import gc
import sys
from pathlib import Path

import pytest
import torch

from repro.arm import Needs
from repro.data.files import TWIN
from repro.data.locate import fixtures
from repro.data.registry import data_sets
from repro.studies import study_of
from repro.studies.context_vector.arms import ADVANCED, AtTheStart
from repro.studies.depth_ladder.arms import D256_L4, LinearArm, at_start, by_local_losses, placed
from repro.studies.early_exit.arms import STANDARD
from repro.studies.finetuning.arms import FIRST_ROW, LATER_ROWS, ROWS, FinetuneArm, PretrainArm
from repro.studies.finetuning.baselines import BaselineArm, CostArm
from repro.studies.finetuning.model import Gpt
from repro.studies.parameter_sharing.arms import BASELINE, at
from tests.studies import small

ARMS = {
    "context": ADVANCED,
    "ladder": D256_L4,
    "ladder, first block": placed(D256_L4.but(trained=1), "input"),
    "ladder, local losses": by_local_losses(D256_L4),
    "ladder at its start": at_start(D256_L4),
    "linear classifier": LinearArm(),
    "sentences": STANDARD,
    "early exit": STANDARD.but(data="wikitext-2"),
    "pretraining": PretrainArm(),
    "finetuning": FIRST_ROW,
    "finetuning, adapters": ROWS[9],
    "finetuning, random": ROWS[8],
    "spam by length": BaselineArm(rule="length"),
    "costs": CostArm(of=ROWS[4]),
    "sharing": BASELINE,
    "sharing, encoder": BASELINE.but(kind="encoder"),
}


@pytest.fixture(scope="module")
def opened():
    """The paths of all files that this process opens, while tests of this module run."""
    paths, is_on = [], [True]

    def note(event, arguments):
        if is_on and event == "open" and isinstance(arguments[0], str | Path):
            paths.append(Path(arguments[0]))

    sys.addaudithook(note)  # cannot be taken away again
    yield paths
    is_on.clear()


def forget_data():
    """Empty all caches of repro in this process, so that data is read from its files."""
    gc.unfreeze()  # what a session or a training in this process has frozen is in no list
    for each in gc.get_objects():
        if type(each) is functools._lru_cache_wrapper and each.__module__.startswith("repro."):
            each.cache_clear()


def load(arm):
    """Load the data of an arm as its training does."""
    study = study_of(arm)
    if isinstance(arm, BaselineArm | CostArm):
        study.train(arm, 1)
    elif arm.starts_from is not None:
        gpt = Gpt(arm.shape, vocabulary=arm.vocabulary)
        study.load_from(arm, dict(gpt.named_parameters()), small.CPU)
    else:
        study.load(arm, small.CPU)


@pytest.mark.parametrize("arm", ARMS.values(), ids=ARMS)
def test_an_arm_names_the_sets_that_it_reads(arm, opened, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("REPRO_DATA", raising=False)
    forget_data()
    here = arm.at("ci")
    if arm == ARMS["early exit"]:  # its claims are judged on the real text alone
        here = here.but(data="wikitext-2-twin")
    if isinstance(arm, FinetuneArm):  # and its claims on the real messages
        here = here.but(**small.FINETUNING_DATA)
    here = here.located()
    if isinstance(arm, FinetuneArm | PretrainArm):
        here = here.but(vocabulary=512)  # fewer than the twin's, so that they have to be chosen
    opened.clear()
    load(here)
    twins = [path.relative_to(fixtures()) for path in opened if path.is_relative_to(fixtures())]
    read = {path.parts[0] + TWIN for path in twins}
    assert read == {name for name in here.data_sets if name.endswith(TWIN)}


def test_the_documented_sizes_name_the_published_weights():
    assert FIRST_ROW.data_sets == ("sms-spam", "gpt2-bpe", "gpt2-small")
    assert ROWS[7].data_sets[2:] == ("gpt2-xl",)
    assert ROWS[8].data_sets[2:] == ()
    rows = [*ROWS.values(), *LATER_ROWS.values()]
    for arm in [*rows, *(arm for name, arm in ARMS.items() if name != "sentences")]:
        assert set(arm.data_sets) <= set(data_sets())


PRETRAINING = PretrainArm(
    data="wikitext-2-twin", messages="sms-spam-twin", tokenizer="gpt2-bpe-twin"
)


@pytest.mark.parametrize(
    ("arm", "examples"),
    [
        (small.LADDER, 320),
        (small.finetuning(FIRST_ROW, trained="all"), 1045),
        (small.CONTEXT.but(sequences=20), 20),
        (PRETRAINING, None),
        (small.SHARING.but(recipe=small.SHARING.recipe.but(batch=200)), None),
    ],
)
def test_a_pass_shows_each_example_once_and_each_seed_and_pass_has_its_own_order(arm, examples):
    data = small.loaded(arm)
    count = examples or len(data.train)
    orders = []
    for seed in (1, 2):
        epochs = torch.cat([data.epoch(seed, number)[:, 0] for number in range(10)])
        read = epochs[epochs >= 0].tolist()  # without what fills up a batch
        orders += [tuple(read[:count]), tuple(read[count : 2 * count])]
    assert [sorted(order) for order in orders] == [list(range(count))] * 4
    assert len(set(orders)) == 4
    assert torch.equal(data.epoch(1, 0), small.loaded(arm).epoch(1, 0))


@pytest.mark.parametrize("arm", [small.CONTEXT, small.SHARING.but(kind="encoder")])
def test_each_example_of_each_epoch_and_seed_has_a_dropout_or_a_mask_of_its_own(arm):
    data = small.loaded(arm)
    keys = [data.epoch(seed, number)[:, 1] for seed in (1, 2) for number in range(4)]
    assert len(set(torch.cat(keys).tolist())) == sum(map(len, keys))
    assert torch.equal(keys[0], small.loaded(arm).epoch(1, 0)[:, 1])


@pytest.mark.parametrize("arm", [small.EXIT, small.CONTEXT, PRETRAINING, small.SHARING])
def test_a_text_is_asked_for_what_follows(arm):
    x, y, *_ = small.first_batch(small.loaded(arm), size=2)
    assert torch.equal(x[:, 1:], y[:, :-1])
    assert not torch.equal(x, y)


REFUSED = [
    (small.LADDER, {"trained": 3}, "trained=3 of 2 blocks cannot be"),
    (small.CONTEXT, {"layers": 0}, "at least 1"),
    (small.CONTEXT, {"dropout": 1.0}, "is a share"),
    (small.CONTEXT, {"length": 65}, "3 to 64 words"),
    (STANDARD, {"layer_weights": (0.0, 0.0)}, "trains nothing"),
    (STANDARD, {"layer_weights": (1.0, -0.1)}, "not negative"),
    (STANDARD, {"layer_lr_scales": (1.0, 0.5)}, "must be 3 numbers"),
    (STANDARD, {"routing_threshold": 1.1}, "compared with a probability"),
    (STANDARD, {"exits": (4,)}, "must name some of the 3 layers"),
    (STANDARD, {"exits": (2, 1)}, "each layer once, the first one first"),
    (FIRST_ROW, {"padding": "none", "token": "first"}, "padding='none' reads the last word"),
    (FIRST_ROW, {"rank": 0}, "must be at least 1"),
    (BASELINE, {"width": 100}, "width=100 is no multiple of head=48"),
]


@pytest.mark.parametrize(("arm", "settings", "sentence"), REFUSED)
def test_settings_that_cannot_mean_anything_are_refused(arm, settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        arm.but(**settings)


@pytest.mark.parametrize(
    ("arm", "sentence"),
    [
        (small.LADDER.but(images=100_000), "asks for 100000 training images"),
        (small.CONTEXT.but(sequences=100_000), "asks for 100000 training sequences"),
        (small.SHARING.but(context=16), r"context=16 cannot hold the longest sentence, of \d+"),
    ],
)
def test_more_than_a_set_has_is_refused(arm, sentence):
    with pytest.raises(ValueError, match=sentence):
        small.loaded(arm)


def test_a_set_that_is_not_here_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("REPRO_DATA", str(tmp_path))
    for arm, sentence in (
        (D256_L4, "needs CIFAR-10 itself"),
        (AtTheStart(layers=12, context=512, data="wikitext-2"), "needs WikiText-2 itself"),
        (FIRST_ROW, "run `python -m repro data fetch sms-spam gpt2-bpe`"),
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
