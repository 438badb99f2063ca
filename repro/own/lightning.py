"""Trainings by Lightning's `Trainer` as a study: seeded, reported epoch by epoch, and resumed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from repro.core.streams import stream_seed
from repro.own.outside import Diverged, OutsideStudy
from repro.own.training_run import TrainingRun

CHECKPOINTS = "checkpoints"


class LightningStudy(OutsideStudy):
    """A study made of a Lightning module, its data, and a `Trainer` that arguments are given to.

    The arguments log into a CSV file and save after every epoch in the run's folder, which the
    training goes on from. Measures are what the module logs (`self.log`), as they are after the
    last epoch; where the arm has a setting `epochs`, they are curves too. `tags` has the names that
    are logged, by the arm's metrics, where they differ. `callbacks` are added to those of the
    arguments. The module, and loaders that shuffle, draw from the run's seed.

    >>> STUDY = LightningStudy(
    ...     trainer=lambda arm, own: Trainer(**own, max_epochs=arm.epochs),
    ...     module=lambda arm: Classifier(lr=arm.lr),
    ...     data=lambda arm: (DataLoader(TRAIN, shuffle=True), DataLoader(TEST)),
    ... )
    """

    def __init__(
        self,
        *,
        trainer: Callable[[Any, dict[str, Any]], Any],
        module: Callable[[Any], Any],
        data: Callable[[Any], Any],
        tags: Mapping[str, str] | None = None,
        callbacks: Callable[[Any], Sequence[Any]] = lambda arm: (),
    ) -> None:
        self.trainer, self.module, self.data = trainer, module, data
        self.tags, self.callbacks = dict(tags or {}), callbacks
        super().__init__(self._train)

    def _train(self, arm: Any, seed: int, run: TrainingRun) -> Mapping[str, float]:
        library = _library()
        module, data = self.module(arm), self.data(arm)
        given = {"datamodule": data}
        if isinstance(data, tuple):
            given = {"train_dataloaders": data[0], "val_dataloaders": data[1]}
        names = {tag: metric for metric, tag in self.tags.items()}
        reporter = _callback(library, run, seed, names=names, tells=arm.epochs_reported > 0)
        own = _arguments(library, run.folder, [reporter, *self.callbacks(arm)])
        trainer = self.trainer(arm, own)
        last = run.folder / CHECKPOINTS / "last.ckpt"
        trainer.fit(module, **given, ckpt_path=str(last) if last.exists() else None)
        measures: Mapping[str, float] = reporter.measures
        return measures


def _library() -> Any:
    """Return the package that Lightning goes by here."""
    try:
        return import_module("lightning.pytorch")
    except ImportError:
        return import_module("pytorch_lightning")


def _arguments(library: Any, folder: Path, callbacks: list[Any]) -> dict[str, Any]:
    """Return what a run needs of a `Trainer`."""
    saved = library.callbacks.ModelCheckpoint(
        dirpath=folder / CHECKPOINTS, save_last=True, save_on_train_epoch_end=True
    )
    return {
        "default_root_dir": folder,
        "logger": library.loggers.CSVLogger(folder, name="log"),
        "callbacks": [*callbacks, saved],
        "num_sanity_val_steps": 0,  # they would draw
        "enable_progress_bar": False,
        "enable_model_summary": False,
    }


def _callback(
    library: Any, run: TrainingRun, seed: int, *, names: Mapping[str, str], tells: bool
) -> Any:
    """Return the callback that tells a run of its epochs, and seeds each of them.

    A checkpoint of Lightning does not hold the state of the generators: an epoch draws from the
    run's seed and its own number, whether the training has just begun, or goes on.
    """

    def seeded(epoch: int) -> None:
        of_epoch = stream_seed(seed, f"lightning/{epoch}") % 2**32
        library.seed_everything(of_epoch, workers=True, verbose=False)

    class Reporter(library.Callback):  # type: ignore[misc]
        def __init__(self) -> None:
            self.measures: dict[str, float] = {}
            self.ended = 0

        def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
            seeded(0)

        def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
            logged = trainer.callback_metrics.items()
            self.measures = {names.get(name, name): float(x) for name, x in logged}
            self.ended = trainer.current_epoch + 1
            run.log(f"epoch {self.ended}: {self.measures}")
            if not all(map(math.isfinite, self.measures.values())):
                raise Diverged(trainer.global_step)
            if tells:
                run.epoch(self.ended, **self.measures)
            seeded(self.ended)

        def state_dict(self) -> dict[str, Any]:
            return {"measures": self.measures, "ended": self.ended}

        def load_state_dict(self, state_dict: dict[str, Any]) -> None:
            self.measures, self.ended = state_dict["measures"], state_dict["ended"]
            seeded(self.ended)  # the first batches are drawn before any hook of the training

    return Reporter()
