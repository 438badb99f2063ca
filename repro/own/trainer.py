"""Trainings by Hugging Face's `Trainer` as a study: seeded, reported by epoch, and resumed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from repro.own.outside import Diverged, OutsideStudy
from repro.own.training_run import TrainingRun

TIMINGS = ("runtime", "samples_per_second", "steps_per_second")
"""What an evaluation says of its own speed, which is no measure of the model."""


class TrainerStudy(OutsideStudy):
    """A study made of a function that builds a `Trainer` for an arm, from arguments of its own.

    The arguments seed the training and the order of its data, evaluate and save after every epoch,
    and keep what is saved in the run's folder, which it goes on from. Measures are those of
    `compute_metrics`, and `eval_loss`; what trains in `epochs` that the arm names has them as
    curves, with the training `loss` beside them.

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
        reporter = _callback(run, tells=arm.epochs_reported > 0)
        trainer = self.trainer(arm, _arguments(run.folder, seed))
        trainer.add_callback(reporter)
        trainer.train(resume_from_checkpoint=_last_whole(run.folder))
        trainer.remove_callback(reporter)
        return _measures(trainer.evaluate())


def _arguments(folder: Path, seed: int) -> dict[str, Any]:
    """Return what a run needs of `TrainingArguments`."""
    import torch

    return {
        "output_dir": str(folder),
        "seed": seed,
        "data_seed": seed,
        "eval_strategy": "epoch",
        "save_strategy": "epoch",
        "save_total_limit": 2,  # the last one may not be whole
        "logging_strategy": "epoch",
        "logging_nan_inf_filter": False,  # a loss that is none is to be seen
        "report_to": "none",
        "disable_tqdm": True,
        "dataloader_pin_memory": torch.cuda.is_available(),
    }


def _last_whole(folder: Path) -> str | None:
    """Return the last checkpoint that was written to its end: its state is written last."""
    whole = [state.parent for state in folder.glob("checkpoint-*/trainer_state.json")]
    steps = {int(path.name.rpartition("-")[2]): path for path in whole}
    return str(steps[max(steps)]) if steps else None


def _measures(evaluated: Mapping[str, float]) -> dict[str, float]:
    """Return the measures of an evaluation by their own names, but for `eval_loss`."""
    named = {name.removeprefix("eval_"): x for name, x in evaluated.items() if name != "epoch"}
    own = {name: x for name, x in named.items() if name not in (*TIMINGS, "loss")}
    return {**own, "eval_loss": evaluated["eval_loss"]} if "eval_loss" in evaluated else own


def _callback(run: TrainingRun, *, tells: bool) -> Any:
    """Return the callback that tells a run of its epochs."""
    from transformers import TrainerCallback

    class Reporter(TrainerCallback):
        def on_log(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            logs = kwargs.get("logs") or {}
            run.log(str(logs))
            if not all(math.isfinite(logs.get(name, 0.0)) for name in ("loss", "eval_loss")):
                raise Diverged(state.global_step)

        def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            if not (tells and float(state.epoch).is_integer()):
                return
            losses = [each["loss"] for each in state.log_history if "loss" in each]
            training = {"loss": losses[-1]} if losses else {}
            run.epoch(int(state.epoch), **training, **_measures(kwargs["metrics"]))

    return Reporter()
