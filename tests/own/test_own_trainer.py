"""The Trainer of Hugging Face, itself, on a tiny model: its curves, its seed, its interruptions."""

from dataclasses import dataclass
from typing import ClassVar

import pytest
import torch
from torch import nn

from repro.arm import Metric, Run
from repro.own.arm import OutsideArm
from repro.own.trainer import TrainerStudy
from tests.own.kept import Kept

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module", autouse=True)
def transformers():
    pytest.importorskip("accelerate")
    return pytest.importorskip("transformers")


@dataclass(frozen=True, kw_only=True)
class Planes(OutsideArm):
    study: ClassVar[str] = "tests.own.test_own_trainer"
    metrics: ClassVar[dict[str, Metric]] = {
        "accuracy": Metric("log-odds", examples=64),
        "eval_loss": Metric("log"),
    }
    epochs: int = 3
    lr: float = 0.05
    data: str = "planes"


class Linear(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 2))

    def forward(self, x, labels):
        logits = self.layer(x)
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


def plane(count, seed):
    x = torch.randn(count, 4, generator=torch.Generator().manual_seed(seed))
    return [{"x": each, "labels": int(each.sum() > 0)} for each in x]


def accuracy(predicted):
    return {"accuracy": (predicted.predictions.argmax(1) == predicted.label_ids).mean()}


def build(arm, own, **more):
    import transformers

    arguments = transformers.TrainingArguments(
        **own, num_train_epochs=arm.epochs, learning_rate=arm.lr, use_cpu=True,
        per_device_train_batch_size=8, **more,
    )  # fmt: skip
    return transformers.Trainer(
        model=Linear(), args=arguments, train_dataset=plane(64, 0), eval_dataset=plane(64, 1),
        compute_metrics=accuracy,
    )  # fmt: skip


STUDY = TrainerStudy(build)


def trained(folder, *, arm=None, seed=1, study=STUDY):
    (done,) = study.training([Run(arm or Planes(), seed)], Kept(folder))
    return done.values


def test_what_it_evaluates_is_its_curve_and_its_last_measure(tmp_path):
    kept = Kept(tmp_path / "run")
    (done,) = STUDY.training([Run(Planes(), 1)], kept)
    measures, history = done.values["measures"], done.values["history"]
    assert history.keys() == {"loss", "accuracy", "eval_loss"}
    assert {name: curve[-1] for name, curve in history.items() if name in measures} == measures
    assert [len(curve) for curve in history.values()] == [3, 3, 3]
    assert history["loss"][2] < history["loss"][0]
    assert measures["accuracy"] > 0.7
    assert kept.shown == [(1, 1, 3), (1, 2, 3), (1, 3, 3)]


def test_its_seed_decides_it(tmp_path):
    first = trained(tmp_path / "first")
    torch.rand(3)
    assert trained(tmp_path / "again") == first
    other = trained(tmp_path / "other", seed=2)
    assert other["history"]["loss"] != first["history"]["loss"]


@pytest.mark.parametrize("torn", [False, True])
def test_it_goes_on_from_its_checkpoint_and_ends_as_if_nothing_had_been(
    transformers, tmp_path, torn
):
    undisturbed = trained(tmp_path / "undisturbed")

    def interrupted(arm, own):
        trainer = build(arm, own)

        class Stop(transformers.TrainerCallback):
            def on_save(self, args, state, control, **kwargs):
                if state.epoch == 2:
                    raise KeyboardInterrupt

        trainer.add_callback(Stop())
        return trainer

    with pytest.raises(KeyboardInterrupt):
        trained(tmp_path / "run", study=TrainerStudy(interrupted))
    folder = tmp_path / "run" / "files"
    assert {path.name for path in folder.iterdir()} == {"checkpoint-8", "checkpoint-16"}
    if torn:
        (folder / "checkpoint-16" / "trainer_state.json").unlink()
    kept = Kept(tmp_path / "run")
    (done,) = STUDY.training([Run(Planes(), 1)], kept)
    assert done.values == undisturbed
    assert kept.shown == [(1, 2, 3), (1, 3, 3)] if torn else [(1, 3, 3)]


def test_a_loss_that_is_no_number_is_a_run_that_diverged(tmp_path):
    values = trained(tmp_path / "run", arm=Planes(lr=1e38))
    assert values["diverged_at"] == 8


def test_an_arm_without_epochs_has_measures_alone(tmp_path):
    @dataclass(frozen=True, kw_only=True)
    class Steps(OutsideArm):
        study: ClassVar[str] = "tests.own.test_own_trainer"
        metrics: ClassVar[dict[str, Metric]] = {"accuracy": Metric("log-odds")}
        lr: float = 0.05
        data: str = "planes"

    def build_steps(arm, own):
        return build(Planes(lr=arm.lr), own, max_steps=10)

    values = trained(tmp_path / "run", arm=Steps(), study=TrainerStudy(build_steps))
    assert values["history"] == {}
    assert values["measures"].keys() == {"accuracy", "eval_loss"}
