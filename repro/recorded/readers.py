"""Readers of the logs of training tools: functions of a path, for `recorded(…, read=…)`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from repro.environment import environment_with
from repro.recorded.rows import RUN, RecordedError, lacks, read_csv

Cells = Mapping[str, object]


def tensorboard(path: Path) -> Iterator[Cells]:
    """Yield a row for each scalar of a run's folder: its `step`, and the value under its tag.

    It reads the scalars of `SummaryWriter.add_scalar`, and those of TensorFlow 2, which are
    tensors. Of several events of one step the last counts, as in TensorBoard.

    >>> recorded("runs/{method}/seed_{seed}", read=tensorboard, arm="method", seed="seed",
    ...          epoch="step", tags={"accuracy": "val/accuracy"}, metrics=METRICS)
    """
    try:
        reading = import_module("tensorboard.backend.event_processing.event_accumulator")
        tensors = import_module("tensorboard.util.tensor_util")
    except ImportError:
        raise lacks("TensorBoard", "tensorboard") from None
    if not any(path.glob("*tfevents*")):
        raise RecordedError(f"{path} has no TensorBoard events: they are files called …tfevents….")
    every = {"scalars": 0, "tensors": 0}  # 0 means no limit
    events = reading.EventAccumulator(str(path), size_guidance=every)
    events.Reload()
    tags = events.Tags()
    scalars = {
        tag: {event.step: event.value for event in events.Scalars(tag)} for tag in tags["scalars"]
    }
    for tag in tags["tensors"]:
        if events.SummaryMetadata(tag).plugin_data.plugin_name == "scalars":
            scalars[tag] = {
                event.step: float(tensors.make_ndarray(event.tensor_proto))
                for event in events.Tensors(tag)
            }
    if not scalars:
        raise RecordedError(f"{path} has no TensorBoard events with scalars.")
    for tag, values in scalars.items():
        for step, value in values.items():
            yield {"step": step, tag: value}


def mlflow_store(path: Path) -> Iterator[Cells]:
    """Yield a row for each value that a run logged: its `step`, the metric, and the run's settings.

    `path` is MLflow's folder, `mlruns`, or its database, `mlflow.db`. The columns are `experiment`,
    `run_id`, `run_name`, `status`, the parameters and the metrics by their names. A run that logged
    no metric has one row. Deleted runs are left out.

    >>> recorded("mlruns", read=mlflow_store, arm="method", seed="seed", epoch="step",
    ...          metrics=METRICS)
    """
    try:
        mlflow = import_module("mlflow")
    except ImportError:
        raise lacks("MLflow", "mlflow") from None
    if not path.is_file() and not any(path.glob("*/meta.yaml")):  # MLflow would make a store
        raise RecordedError(f"{path} has no runs: give MLflow's folder, mlruns, or its database.")
    uri = path.absolute().as_uri() if path.is_dir() else f"sqlite:///{path.absolute()}"
    with environment_with({"MLFLOW_ALLOW_FILE_STORE": "true"}):
        try:
            client = mlflow.MlflowClient(tracking_uri=uri)
            experiments = client.search_experiments()
        except mlflow.MlflowException as error:
            raise RecordedError(f"MLflow cannot read {path}: {error}") from error
        for experiment in experiments:
            for run in _pages(client, experiment):
                about: dict[str, object] = {
                    "experiment": experiment.name,
                    RUN: run.info.run_id,
                    "run_name": run.info.run_name,
                    "status": run.info.status.lower(),
                    **run.data.params,
                }
                if not run.data.metrics:
                    yield about
                for metric in run.data.metrics:
                    if metric in about:
                        raise RecordedError(
                            f"{path}: run {run.info.run_name} has a setting and a metric called"
                            f" {metric!r}."
                        )
                    # a step may be logged twice; MLflow shows the last value
                    logged = client.get_metric_history(run.info.run_id, metric)
                    for step, value in {each.step: each.value for each in logged}.items():
                        yield {**about, "step": step, metric: value}


def _pages(client: Any, experiment: Any) -> Iterator[Any]:
    """Yield the runs of an experiment, page by page."""
    token: str | None = None
    while token != "":
        page = client.search_runs([experiment.experiment_id], page_token=token)
        yield from page
        token = page.token or ""


def lightning_csv(path: Path) -> Iterator[Cells]:
    """Yield the rows of the `metrics.csv` that Lightning's CSVLogger writes for a version.

    The hyperparameters of `hparams.yaml` are further columns, unless the log has that column.

    >>> recorded("logs/{method}/version_{version}", read=lightning_csv, arm="method", seed="seed",
    ...          epoch="epoch", metrics=METRICS)
    """
    if not (path / "metrics.csv").exists():
        raise RecordedError(f"{path} has no metrics.csv, as the folder of a version has.")
    settings: dict[str, object] = {}
    if (path / "hparams.yaml").exists():
        try:
            import yaml  # type: ignore[import-untyped,unused-ignore]
        except ImportError:
            raise lacks("PyYAML", "lightning") from None
        text = (path / "hparams.yaml").read_text(encoding="utf-8")
        settings = flat(yaml.safe_load(text) or {})
    for _, cells in read_csv(path / "metrics.csv"):
        yield {**settings, **cells}


def flat(settings: Mapping[str, Any], before: str = "") -> dict[str, object]:
    """Return nested settings as a flat mapping, named by their paths.

    >>> flat({"lr": 0.1, "model": {"width": 8}})
    {'lr': 0.1, 'model.width': 8}
    """
    columns: dict[str, object] = {}
    for name, value in settings.items():
        is_nested = isinstance(value, Mapping)
        columns |= flat(value, f"{before}{name}.") if is_nested else {f"{before}{name}": value}
    return columns


def trainer_state(path: Path) -> Iterator[Cells]:
    """Yield a row for each entry of the `log_history` in a `trainer_state.json`, or in its folder.

    Hugging Face's Trainer saves it with each checkpoint. The columns are the names in the entries:
    `step`, `epoch`, `loss`, `eval_loss`, … Of several values with the same step and name, the last
    counts; a Trainer may evaluate the end twice.

    >>> recorded("out/{method}-{seed}/checkpoint-500", read=trainer_state, arm="method",
    ...          seed="seed", epoch="step", metrics={"eval_loss": Metric("identity")})
    """
    file = path / "trainer_state.json" if path.is_dir() else path
    if not file.exists():
        raise RecordedError(f"{path} has no trainer_state.json, as a checkpoint's folder has.")
    state = json.loads(file.read_text(encoding="utf-8"))
    history = state.get("log_history") if isinstance(state, dict) else None
    if not isinstance(history, list):
        raise RecordedError(f"{file} has no log_history: it is no state of a Trainer.")
    steps: dict[object, dict[str, object]] = {}
    for entry in history:
        steps.setdefault(entry.get("step"), {}).update(entry)
    yield from steps.values()
