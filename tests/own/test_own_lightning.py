"""Lightning itself on a tiny model: its curves, its seed, its interruptions."""

from dataclasses import dataclass
from typing import ClassVar

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from repro.arm import Metric, Run
from repro.own.arm import OutsideArm
from repro.own.lightning import LightningStudy
from tests.own.kept import Kept

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.filterwarnings("ignore:.*does not have many workers.*"),
    pytest.mark.filterwarnings("ignore:Checkpoint directory .* exists"),
    pytest.mark.filterwarnings("ignore:.*LeafSpec.*:FutureWarning"),
    pytest.mark.filterwarnings("ignore:The `srun` command is available"),  # a machine with Slurm
]


@pytest.fixture(scope="module", autouse=True)
def lightning():
    return pytest.importorskip("pytorch_lightning")


@dataclass(frozen=True, kw_only=True)
class Planes(OutsideArm):
    study: ClassVar[str] = "tests.own.test_own_lightning"
    metrics: ClassVar[dict[str, Metric]] = {"accuracy": Metric("log-odds", examples=64)}
    epochs: int = 3
    lr: float = 0.1
    data: str = "planes"


def classifier(arm):
    import pytorch_lightning as lightning

    class Classifier(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layers = nn.Sequential(
                nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 2)
            )

        def training_step(self, batch, number):
            x, y = batch
            loss = nn.functional.cross_entropy(self.layers(x), y)
            self.log("loss", loss, on_step=False, on_epoch=True)
            return loss

        def validation_step(self, batch, number):
            x, y = batch
            self.log("accuracy", (self.layers(x).argmax(1) == y).float().mean())

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=arm.lr)

    return Classifier()


def plane(seed):
    x = torch.randn(64, 4, generator=torch.Generator().manual_seed(seed))
    return TensorDataset(x, (x.sum(1) > 0).long())


def trainer(arm, own):
    import pytorch_lightning as lightning

    return lightning.Trainer(**own, max_epochs=arm.epochs, accelerator="cpu", log_every_n_steps=1)


def study(**changed):
    given = {
        "trainer": trainer,
        "module": classifier,
        "data": lambda arm: (DataLoader(plane(0), 8, shuffle=True), DataLoader(plane(1), 64)),
    }
    return LightningStudy(**{**given, **changed})


STUDY = study()


def trained(kept, *, seed=1, own=STUDY, arm=None):
    (done,) = own.training([Run(arm or Planes(), seed)], kept)
    return done.values


def test_what_it_logs_is_its_curve_and_its_last_measure(tmp_path):
    kept = Kept(tmp_path / "run")
    values = trained(kept)
    measures, history = values["measures"], values["history"]
    assert history.keys() == measures.keys() == {"loss", "accuracy"}
    assert {name: curve[-1] for name, curve in history.items()} == measures
    assert history["loss"][2] < history["loss"][0]
    assert kept.shown == [(1, 1, 3), (1, 2, 3), (1, 3, 3)]
    (logged,) = (tmp_path / "run").rglob("metrics.csv")
    assert "accuracy" in logged.read_text()


def test_its_seed_decides_it(tmp_path):
    first = trained(Kept(tmp_path / "first"))
    torch.rand(3)
    assert trained(Kept(tmp_path / "again")) == first
    other = trained(Kept(tmp_path / "other"), seed=2)
    assert other["history"]["loss"] != first["history"]["loss"]


@pytest.mark.parametrize(("epoch", "shown"), [(2, [(1, 3, 3)]), (3, [])])
def test_it_goes_on_from_its_checkpoint_and_ends_as_if_nothing_had_been(
    lightning, tmp_path, epoch, shown
):
    undisturbed = trained(Kept(tmp_path / "undisturbed"))

    class Stops(lightning.Callback):
        def on_train_epoch_start(self, trainer, module):
            if trainer.current_epoch == epoch:
                raise RuntimeError("a power cut")

        def on_train_end(self, trainer, module):
            raise RuntimeError("a power cut")

    def stopping(arm, own):
        return trainer(arm, {**own, "callbacks": [*own["callbacks"], Stops()]})

    with pytest.raises(RuntimeError, match="a power cut"):
        trained(Kept(tmp_path / "run"), own=study(trainer=stopping))
    kept = Kept(tmp_path / "run")
    assert trained(kept) == undisturbed
    assert kept.shown == shown


def test_a_loss_that_is_no_number_is_a_run_that_diverged(tmp_path):
    assert trained(Kept(tmp_path / "run"), arm=Planes(lr=1e30))["diverged_at"] == 8
