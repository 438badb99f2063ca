"""Readers of what training tools leave behind: functions of a path, for `recorded(…, read=…)`."""

from repro.recorded.readers.lightning import lightning_csv
from repro.recorded.readers.mlflow import mlflow_store
from repro.recorded.readers.tensorboard import tensorboard
from repro.recorded.readers.trainer import trainer_state
from repro.recorded.readers.wandb import wandb_offline

__all__ = ["lightning_csv", "mlflow_store", "tensorboard", "trainer_state", "wandb_offline"]
