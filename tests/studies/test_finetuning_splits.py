"""Finetuning on messages that differ by seed: the parts, and what is trained and measured."""

import runpy
from pathlib import Path

import pytest
import torch

from repro.arm import Run
from repro.evidence.reader import EvidenceResults
from repro.studies.finetuning.split_arms import SplitArm
from tests.studies.small import finetuning, loaded, model

ARM = finetuning(SplitArm(trained="lora"), longest=20)


@pytest.fixture(scope="module")
def data():
    return loaded(ARM)


def test_each_seed_has_parts_of_the_documented_sizes_of_all_messages(data):
    sizes = [len(part.is_spam) for part in (data.train, data.validation, data.test)]
    first, second = data.split(1), data.split(2)
    assert [len(part) for part in first] == sizes
    assert torch.cat(first).sort().values.tolist() == list(range(sum(sizes)))
    assert not torch.equal(first[2].sort().values, second[2].sort().values)
    assert all(map(torch.equal, first, data.split(1)))


def test_a_run_trains_on_the_messages_of_its_seed_and_is_measured_on_the_others(data):
    train, validation, test = data.split(3)
    epochs = [data.epoch(3, number)[:, 0] for number in range(2)]
    assert not torch.equal(*epochs)
    assert all(torch.equal(epoch.sort().values, train.sort().values) for epoch in epochs)
    x, _, is_spam = data.batch(epochs[0][None, :4, None])
    assert torch.equal(x[0], data.messages.x[epochs[0][:4]])
    assert torch.equal(is_spam[0], data.messages.is_spam[epochs[0][:4]])
    measured = model(ARM, seed=3)
    found = measured.measure()
    for part, numbers in (("validation", validation), ("test", test)):
        rows = data.messages.rows(numbers)
        right = measured.answers(*rows[:2], None).argmax(1) == rows[2]
        assert found[f"{part}_right"] == right.double().tolist()
        assert found[f"{part}_accuracy"] == pytest.approx(float(right.double().mean()))


def test_a_frozen_part_is_refused():
    with pytest.raises(ValueError, match="train 'all' or 'lora'"):
        SplitArm(trained="last block")


@pytest.mark.thorough
def test_the_chosen_rates_are_those_of_the_best_validation():
    root = Path(__file__).parents[2]
    claims = runpy.run_path(str(root / "claims/test_finetuning.py"))
    results = EvidenceResults.read([root / "evidence/ci-real.jsonl.gz"], project=root)
    for (rank, epochs), chosen in claims["CHOSEN"].items():
        mean = {}
        for rate in claims["GRID"]:
            trained = "all" if rank is None else "lora"
            arm = claims["on_splits"](trained, rank=rank, epochs=epochs, rate=rate).at("ci")
            runs = [results.get(Run(arm, seed)).values["measures"] for seed in arm.seeds(5)]
            mean[rate] = sum(run["validation_accuracy"] for run in runs) / 5
        assert max(mean, key=mean.__getitem__) == chosen
