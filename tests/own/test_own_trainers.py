"""Lightning and the Trainer of Hugging Face, on a tiny model: curves, seeds, interruptions."""

from dataclasses import dataclass
from typing import ClassVar

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader

from repro.arm import Metric, Run
from repro.own.arm import OutsideArm
from repro.own.trainers import LightningStudy, TrainerStudy
from tests.own.kept import Kept

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.filterwarnings("ignore:.*does not have many workers.*"),
    pytest.mark.filterwarnings("ignore:Checkpoint directory .* exists"),
    pytest.mark.filterwarnings("ignore:.*LeafSpec.*:FutureWarning"),
    pytest.mark.filterwarnings("ignore:The `srun` command is available"),  # a machine with Slurm
]


@dataclass(frozen=True, kw_only=True)
class Planes(OutsideArm):
    study: ClassVar[str] = "tests.own.test_own_trainers"
    metrics: ClassVar[dict[str, Metric]] = {"accuracy": Metric("log-odds", examples=64)}
    epochs: int = 3
    lr: float = 0.1
    data: str = "planes"


@dataclass(frozen=True, kw_only=True)
class Steps(OutsideArm):
    study: ClassVar[str] = "tests.own.test_own_trainers"
    metrics: ClassVar[dict[str, Metric]] = {"accuracy": Metric("log-odds")}
    lr: float = 0.1
    data: str = "planes"


def network():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 2))


def plane(seed):
    x = torch.randn(64, 4, generator=torch.Generator().manual_seed(seed))
    return [{"x": each, "labels": int(each.sum() > 0)} for each in x]


class PowerCut(Exception):
    """What interrupts a training."""


def by_lightning(stops_at=None):
    """A study, whose training is cut off as an epoch starts, or at its end."""
    import pytorch_lightning as lightning

    class Classifier(lightning.LightningModule):
        def __init__(self, arm):
            super().__init__()
            self.arm, self.layers = arm, network()

        def training_step(self, batch, number):
            loss = nn.functional.cross_entropy(self.layers(batch["x"]), batch["labels"])
            self.log("loss", loss, on_step=False, on_epoch=True)
            return loss

        def validation_step(self, batch, number):
            right = self.layers(batch["x"]).argmax(1) == batch["labels"]
            self.log("val/accuracy", right.float().mean())

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=self.arm.lr)

    class Stops(lightning.Callback):
        def on_train_epoch_start(self, trainer, module):
            if trainer.current_epoch == stops_at:
                raise PowerCut

        def on_train_end(self, trainer, module):
            raise PowerCut

    def trainer(arm, own):
        return lightning.Trainer(
            **own, max_epochs=arm.epochs, accelerator="cpu", log_every_n_steps=1
        )

    def data(arm):
        return DataLoader(plane(0), 8, shuffle=True), DataLoader(plane(1), 64)

    return LightningStudy(
        trainer=trainer,
        module=Classifier,
        data=data,
        tags={"accuracy": "val/accuracy"},
        callbacks=lambda arm: [] if stops_at is None else [Stops()],
    )


class Predicting(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = network()

    def forward(self, x, labels):
        logits = self.layers(x)
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


def accuracy(predicted):
    return {"accuracy": (predicted.predictions.argmax(1) == predicted.label_ids).mean()}


def by_trainer(stops_at=None, **more):
    """A study, whose training is cut off once an epoch is saved."""
    import transformers

    class Stops(transformers.TrainerCallback):
        def on_save(self, args, state, control, **kwargs):
            if state.epoch == stops_at:
                raise PowerCut

    def build(arm, own):
        epochs = {"num_train_epochs": arm.epochs} if isinstance(arm, Planes) else {}
        arguments = transformers.TrainingArguments(
            **own, **epochs, **more, learning_rate=arm.lr / 2, use_cpu=True,
            per_device_train_batch_size=8,
        )  # fmt: skip
        return transformers.Trainer(
            model=Predicting(), args=arguments, train_dataset=plane(0), eval_dataset=plane(1),
            compute_metrics=accuracy, callbacks=[Stops()],
        )  # fmt: skip

    return TrainerStudy(build)


@pytest.fixture(params=[by_lightning, by_trainer])
def by(request):
    """What makes a study of each library that is installed."""
    libraries = {by_lightning: ["pytorch_lightning"], by_trainer: ["transformers", "accelerate"]}
    for library in libraries[request.param]:
        pytest.importorskip(library)
    return request.param


def trained(study, kept, *, seed=1, arm=None):
    (done,) = study.training([Run(arm or Planes(), seed)], kept)
    return done.values


def test_what_it_logs_is_its_curve_and_its_last_measure(by, tmp_path):
    kept = Kept(tmp_path / "run")
    values = trained(by(), kept)
    measures, history = values["measures"], values["history"]
    more = {"eval_loss"} if by is by_trainer else set()
    assert history.keys() == {"loss", "accuracy"} | more
    assert {name: curve[-1] for name, curve in history.items() if name in measures} == measures
    assert [len(curve) for curve in history.values()] == [3] * len(history)
    assert history["loss"][2] < history["loss"][0]
    assert measures["accuracy"] > 0.7
    assert kept.shown == [(1, 1, 3), (1, 2, 3), (1, 3, 3)]


def test_its_seed_decides_it(by, tmp_path):
    first = trained(by(), Kept(tmp_path / "first"))
    torch.rand(3)
    assert trained(by(), Kept(tmp_path / "again")) == first
    other = trained(by(), Kept(tmp_path / "other"), seed=2)
    assert other["history"]["loss"] != first["history"]["loss"]


LAST = [(1, 3, 3)]


@pytest.mark.parametrize(
    ("by", "stops_at", "torn", "shown"),
    [
        (by_lightning, 2, None, LAST),
        (by_lightning, 3, None, []),
        (by_trainer, 2, None, LAST),
        (by_trainer, 2, "checkpoint-16/trainer_state.json", [(1, 2, 3), *LAST]),
    ],
    indirect=["by"],
)
def test_it_goes_on_from_its_checkpoint_and_ends_as_if_nothing_had_been(
    by, stops_at, torn, shown, tmp_path
):
    undisturbed = trained(by(), Kept(tmp_path / "undisturbed"))
    with pytest.raises(PowerCut):
        trained(by(stops_at), Kept(tmp_path / "run"))
    if torn:
        (tmp_path / "run" / "files" / torn).unlink()
    kept = Kept(tmp_path / "run")
    assert trained(by(), kept) == undisturbed
    assert kept.shown == shown


def test_a_loss_that_is_no_number_is_a_run_that_diverged(by, tmp_path):
    assert trained(by(), Kept(tmp_path / "run"), arm=Planes(lr=1e38))["diverged_at"] == 8


@pytest.mark.parametrize("by", [by_trainer], indirect=True)
def test_an_arm_without_epochs_has_measures_alone(by, tmp_path):
    values = trained(by(max_steps=10), Kept(tmp_path / "run"), arm=Steps())
    assert values["history"] == {}
    assert values["measures"].keys() == {"accuracy", "eval_loss"}
