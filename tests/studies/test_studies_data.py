"""What training reads: the sets that an arm names, its order in an epoch, and what it is asked."""

import sys
from pathlib import Path

import pytest
import torch

from repro.arm import Run
from repro.data.bpe import load_tokenizer
from repro.data.files import TWIN
from repro.data.locate import fixtures
from repro.data.registry import data_sets
from repro.studies.context_vector.arms import ADVANCED
from repro.studies.depth_ladder.arms import D256_L4
from repro.studies.depth_ladder.variants import LinearArm, at_start, by_local_losses, placed
from repro.studies.early_exit.arms import STANDARD
from repro.studies.find import study_of
from repro.studies.finetuning.arms import (
    FIRST_ROW,
    LATER_ROWS,
    ROWS,
    BaselineArm,
    FinetuneArm,
    PretrainArm,
)
from repro.studies.finetuning.costs import CostArm
from repro.studies.finetuning.gpt import Gpt
from repro.studies.finetuning.vocabulary import renumbered
from repro.studies.parameter_sharing.arms import BASELINE
from repro.studies.parameter_sharing.partial import PartialArm
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
    "sharing, a part": PartialArm(part="block", among="all"),
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


def load(arm):
    """Load the data of an arm as its training does."""
    study = study_of(arm)
    if isinstance(arm, BaselineArm | CostArm):
        study.train_outside(Run(arm, 1))
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
    load_tokenizer.cache_clear()
    renumbered.cache_clear()
    here = arm.at("ci").located()
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


@pytest.mark.parametrize("arm", [small.EXIT, small.CONTEXT, PRETRAINING, small.SHARING])
def test_a_text_is_asked_for_what_follows(arm):
    x, y, *_ = small.first_batch(small.loaded(arm), size=2)
    assert torch.equal(x[:, 1:], y[:, :-1])
    assert not torch.equal(x, y)
