"""Hugging Face's and Lightning's `Trainer` as studies.

They are seeded, report their epochs, and resume after an interruption.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from repro.core.streams import stream_seed
from repro.own.outside import Diverged, OutsideStudy
from repro.own.training_run import TrainingRun

TIMINGS = ("runtime", "samples_per_second", "steps_per_second")
"""Names of an evaluation's own times, which do not measure the model."""

CHECKPOINTS = "checkpoints"


class TrainerStudy(OutsideStudy):
    """A study made of a function that builds a `Trainer` from an arm and given arguments.

    The arguments seed the training and the order of its data. After every epoch they evaluate and
    save, in the run's folder, from which an interrupted training resumes. Measures are those of
    `compute_metrics`, and `eval_loss`. If the arm has a setting `epochs`, they are also curves,
    with the training `loss`.

    >>> STUDY = TrainerStudy(
    ...     lambda arm, own: Trainer(
    ...         model=BertForSequenceClassification(CONFIG),
    ...         args=TrainingArguments(**own, num_train_epochs=arm.epochs, learning_rate=arm.lr),
    ...         train_dataset=TRAIN, eval_dataset=TEST, compute_metrics=accuracy,
    ...     )
    ... )
    """

    def __init__(self, trainer: Callable[[Any, dict[str, Any]], Any]) -> None:
        self.trainer = trainer
        super().__init__(self._train)

    def _train(self, arm: Any, seed: int, run: TrainingRun) -> Mapping[str, float]:
        reporter = _callback(run, reports=arm.epochs_reported > 0)
        trainer = self.trainer(arm, _arguments(run.folder, seed))
        trainer.add_callback(reporter)
        trainer.train(resume_from_checkpoint=_last_whole(run.folder))
        trainer.remove_callback(reporter)
        return _measures(trainer.evaluate())


def _arguments(folder: Path, seed: int) -> dict[str, Any]:
    """Return the `TrainingArguments` that a run needs."""
    import torch

    return {
        "output_dir": str(folder),
        "seed": seed,
        "data_seed": seed,
        "eval_strategy": "epoch",
        "save_strategy": "epoch",
        "save_total_limit": 2,  # the last one may be incomplete
        "logging_strategy": "epoch",
        "logging_nan_inf_filter": False,  # so that a diverged loss is seen
        "report_to": "none",
        "disable_tqdm": True,
        "dataloader_pin_memory": torch.cuda.is_available(),
    }


def _last_whole(folder: Path) -> str | None:
    """Return the last complete checkpoint; its state is written last."""
    whole = [state.parent for state in folder.glob("checkpoint-*/trainer_state.json")]
    steps = {int(path.name.rpartition("-")[2]): path for path in whole}
    return str(steps[max(steps)]) if steps else None


def _measures(evaluated: Mapping[str, float]) -> dict[str, float]:
    """Return the measures of an evaluation, named without `eval_` except for `eval_loss`."""
    named = {name.removeprefix("eval_"): x for name, x in evaluated.items() if name != "epoch"}
    own = {name: x for name, x in named.items() if name not in (*TIMINGS, "loss")}
    return {**own, "eval_loss": evaluated["eval_loss"]} if "eval_loss" in evaluated else own


def _callback(run: TrainingRun, *, reports: bool) -> Any:
    """Return the callback that reports epochs to a run."""
    from transformers import TrainerCallback

    class Reporter(TrainerCallback):
        def on_log(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            logs = kwargs.get("logs") or {}
            run.log(str(logs))
            if not all(math.isfinite(logs.get(name, 0.0)) for name in ("loss", "eval_loss")):
                raise Diverged(state.global_step)

        def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            if not (reports and float(state.epoch).is_integer()):
                return
            losses = [each["loss"] for each in state.log_history if "loss" in each]
            training = {"loss": losses[-1]} if losses else {}
            run.epoch(int(state.epoch), **training, **_measures(kwargs["metrics"]))

    return Reporter()


class LightningStudy(OutsideStudy):
    """A study made of a Lightning module, its data, and a `Trainer` with given arguments.

    After every epoch the arguments log into a CSV file and save, in the run's folder, from which an
    interrupted training resumes. Measures are the values that the module logs (`self.log`), after
    the last epoch; if the arm has a setting `epochs`, they are also curves. `tags` maps metrics to
    logged names, where these differ. `callbacks` are added to those of the arguments. The module,
    and loaders that shuffle, draw from the run's seed.

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
        reporter = _lightning_callback(
            library, run, seed, names=names, reports=arm.epochs_reported > 0
        )
        own = _lightning_arguments(library, run.folder, [reporter, *self.callbacks(arm)])
        trainer = self.trainer(arm, own)
        last = run.folder / CHECKPOINTS / "last.ckpt"
        trainer.fit(module, **given, ckpt_path=str(last) if last.exists() else None)
        measures: Mapping[str, float] = reporter.measures
        return measures


def _library() -> Any:
    """Return Lightning's package, by its new name or its old one."""
    try:
        return import_module("lightning.pytorch")
    except ImportError:
        return import_module("pytorch_lightning")


def _lightning_arguments(library: Any, folder: Path, callbacks: list[Any]) -> dict[str, Any]:
    """Return the arguments of `Trainer` that a run needs."""
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


def _lightning_callback(
    library: Any, run: TrainingRun, seed: int, *, names: Mapping[str, str], reports: bool
) -> Any:
    """Return the callback that reports epochs to a run, and seeds each epoch.

    Lightning's checkpoints do not have the state of the generators. So the run's seed and the
    number of an epoch decide its draws, also after an interruption.
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
            if reports:
                run.epoch(self.ended, **self.measures)
            seeded(self.ended)

        def state_dict(self) -> dict[str, Any]:
            return {"measures": self.measures, "ended": self.ended}

        def load_state_dict(self, state_dict: dict[str, Any]) -> None:
            self.measures, self.ended = state_dict["measures"], state_dict["ended"]
            seeded(self.ended)  # the first batches are drawn before any hook of training

    return Reporter()
