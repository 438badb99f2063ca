"""The store of MLflow in a folder, `mlruns`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from repro.recorded.errors import RecordedError


def mlflow_store(path: Path) -> Iterator[dict[str, object]]:
    """Yield a row for each value that a run logged: its `step`, the metric, and the run's settings.

    The columns are `experiment`, `run_name`, `status`, the parameters and the metrics by their
    names. Deleted runs are left out. The folder is read as MLflow wrote it, without MLflow.

    >>> recorded("mlruns", read=mlflow_store, arm="method", seed="seed", epoch="step",
    ...          metrics=METRICS)
    """
    folders = sorted(path.glob("*/*/metrics"))
    if not folders:
        raise RecordedError(
            f"{path} has no runs in folders, as MLflow's file store has them: give the path of its"
            " mlruns; what is in a database comes out by mlflow experiments csv."
        )
    for folder in folders:
        run = folder.parent
        if _field(run / "meta.yaml", "lifecycle_stage") == "deleted":
            continue
        about: dict[str, object] = {
            "experiment": _field(run.parent / "meta.yaml", "name"),
            "run_name": _field(run / "meta.yaml", "run_name"),
            "status": _STATUS.get(_field(run / "meta.yaml", "status"), ""),
        }
        settings = {file.name: file.read_text(encoding="utf-8") for file in _files(run / "params")}
        for file in _files(folder):
            metric = file.relative_to(folder).as_posix()
            if metric in settings or metric in about:
                raise RecordedError(f"{run} has a setting and a metric called {metric!r}.")
            # MLflow lets a step be logged again; the last value is the one it shows
            steps = {
                step: value
                for _, value, step in (line.split()[:3] for line in file.read_text().splitlines())
            }
            for step, value in steps.items():
                yield {**about, **settings, "step": step, metric: value}


_STATUS = {"1": "running", "2": "scheduled", "3": "finished", "4": "failed", "5": "killed"}


def _files(folder: Path) -> list[Path]:
    return sorted(each for each in folder.rglob("*") if each.is_file())


def _field(path: Path, name: str) -> str:
    """Return a plain field of one of MLflow's YAML files; empty where there is none."""
    for line in path.read_text(encoding="utf-8").splitlines():
        key, _, value = line.partition(":")
        if key == name:
            return value.strip().strip("'\"")
    return ""
