"""Readers against files that the real libraries wrote; each is skipped where its library is not."""

import json
from contextlib import suppress

import pytest

from repro.arm import Metric
from repro.recorded import RecordedError, recorded
from repro.recorded.judging import not_finite, remarks_on
from repro.recorded.readers import (
    lightning_csv,
    mlflow_store,
    tensorboard,
    trainer_state,
)
from repro.recorded.source import ALL
from tests.oracles import oracle

pytestmark = pytest.mark.filterwarnings("default")  # theirs are not ours

RUNS = [(method, seed) for method in ("plain", "smooth") for seed in (1, 2)]


def accuracy(method, seed, step):
    return round(0.5 + 0.1 * (method == "smooth") + 0.01 * seed + 0.001 * step, 6)


def of(path, read, **said):
    return recorded(
        str(path),
        **{
            "arm": "method",
            "seed": "seed",
            "epoch": "step",
            "metrics": {"accuracy": Metric("log-odds", examples=1000)},
            "read": read,
        }
        | said,
    )


def require_all_runs(results):
    """Hold what was read against what was written, run by run and step by step."""
    for method, seed in RUNS:
        run = results.runs(results(method=method).located().chosen).runs[seed]
        steps = list(run.curves["accuracy"])
        assert len(steps) == 3
        expected = [accuracy(method, seed, step) for step in (1, 2, 3)]
        assert list(run.curves["accuracy"].values()) == pytest.approx(expected, rel=1e-6)
        assert run.measures["accuracy"] == pytest.approx(expected[-1], rel=1e-6)
    assert len(results.arms) == 2


@pytest.mark.parametrize("kind", ["values", "tensors"])
@pytest.mark.thorough
def test_tensorboard_events(tmp_path, kind):
    oracle("tensorboard")
    for method, seed in RUNS:
        folder = tmp_path / method / f"seed_{seed}"
        write = {"values": _values, "tensors": _tensors}[kind]
        write(folder, [(step, accuracy(method, seed, step)) for step in (1, 2, 3)])
    path = tmp_path / "{method}" / "seed_{seed}"
    require_all_runs(of(path, tensorboard, tags={"accuracy": "val/accuracy"}))
    with pytest.raises(RecordedError, match="no TensorBoard events"):
        list(tensorboard(tmp_path / "nothing"))


def _values(folder, values):
    pytest.importorskip("torch")
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(folder)) as writer:
        for step, value in values:
            writer.add_scalar("val/accuracy", value, step)


def _tensors(folder, values):
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.plugins.scalar.summary_v2 import scalar_pb
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    writer = EventFileWriter(str(folder))
    for step, value in values:
        writer.add_event(Event(step=step, summary=scalar_pb("val/accuracy", value)))
    writer.close()


@pytest.mark.thorough
def test_the_folder_of_mlflow(tmp_path, monkeypatch):
    mlflow = oracle("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "mlruns").as_uri())
    mlflow.set_experiment("ours")
    deleted = None
    for method, seed in [*RUNS, ("gone", 1)]:
        with mlflow.start_run(run_name=f"{method}-{seed}") as run:
            mlflow.log_params({"method": method, "seed": seed})
            for step in (1, 2, 3):
                mlflow.log_metric("val/accuracy", accuracy(method, seed, step), step=step)
            deleted = run.info.run_id
    mlflow.delete_run(deleted)
    require_all_runs(of(tmp_path / "mlruns", mlflow_store, tags={"accuracy": "val/accuracy"}))
    rows = list(mlflow_store(tmp_path / "mlruns"))
    assert {(row["experiment"], row["status"]) for row in rows} == {("ours", "finished")}
    with suppress(ZeroDivisionError), mlflow.start_run(run_name="crashed"):
        1 / 0  # noqa: B018
    crashed = [row for row in mlflow_store(tmp_path / "mlruns") if row["status"] == "failed"]
    assert [(row["run_name"], row["experiment"]) for row in crashed] == [("crashed", "ours")]
    with pytest.raises(RecordedError, match="has no runs"):
        list(mlflow_store(tmp_path / "nothing"))


CRASHES = [
    (
        {"method": "plain", "seed": "3"},
        "plain, seed 3 (runs.x, row 7) has no accuracy: say in",
    ),
    ({"method": "plain", "seed": "1"}, "seed 1: another run of it logged nothing (runs.x, row 7: "),
    (
        {},
        "1 run of runs.x logged none of method, seed, step, accuracy (runs.x, row 7: run_name",
    ),
]


@pytest.mark.parametrize(("params", "said"), CRASHES)
@pytest.mark.parametrize("is_last", [False, True])
def test_a_run_that_crashed_before_it_logged_is_named(tmp_path, params, said, is_last):
    crashed = {"run_id": "f00", "run_name": "owl-7", "status": "failed", **params}
    rows = [
        {"run_id": seed, "method": "plain", "seed": seed, "step": step, "accuracy": 0.5 + step / 10}
        for seed in (1, 2)
        for step in (1, 2, 3)
    ]
    rows.insert(len(rows) if is_last else 0, crashed)
    (tmp_path / "runs.x").touch()
    arm = of(tmp_path / "runs.x", lambda path: rows)(method="plain").located()
    [line] = [*not_finite(arm, arm.seeds(ALL)), *remarks_on((), [arm])]
    assert said.replace("row 7", "row 7" if is_last else "row 1") in line.replace(
        f"{tmp_path}/", ""
    )


def test_a_table_that_was_exported_from_wandb(tmp_path):
    names = [f"{method}-{seed}" for method, seed in RUNS]
    ends = ("", "__MIN", "__MAX")
    head = ["Step", *(f"{name} - val/accuracy{end}" for name in names for end in ends)]
    rows = [
        [str(step), *(str(accuracy(*run, step)) for run in RUNS for _ in ends)]
        for step in (1, 2, 3)
    ]
    text = "\n".join(",".join(f'"{cell}"' for cell in row) for row in [head, *rows])
    (tmp_path / "export.csv").write_text(text + "\n")
    results = of(
        tmp_path / "export.csv",
        None,
        epoch="Step",
        columns="{method}-{seed} - {metric}",
        tags={"accuracy": "val/accuracy"},
    )
    require_all_runs(results)


def test_wide_tables_in_files_of_their_own_may_have_different_columns(tmp_path):
    for method, seeds in (("plain", 3), ("smooth", 5), ("mixup", 2)):
        head, cells = (",".join(form.format(n) for n in range(seeds)) for form in ("s{}", "0.{}"))
        (tmp_path / f"{method}.csv").write_text(f"{head}\n{cells}\n")
    results = of(tmp_path / "{method}.csv", None, epoch=None, columns="s{seed}")
    found = {m: results.runs(results(method=m).located().chosen).runs for m in ("plain", "smooth")}
    assert [len(runs) for runs in found.values()] == [3, 5]
    assert found["smooth"][4].measures == {"accuracy": 0.4}


@pytest.mark.thorough
def test_the_csv_logger_of_lightning(tmp_path):
    loggers = oracle("pytorch_lightning.loggers")
    for method, seed in RUNS:
        logger = loggers.CSVLogger(tmp_path, name=method)
        logger.log_hyperparams({"seed": seed, "model": {"width": 8}})
        for step in (1, 2, 3):
            logger.log_metrics({"loss": 1.0 / step, "epoch": step - 1}, step=10 * step - 1)
            logged = {"accuracy": accuracy(method, seed, step), "epoch": step - 1}
            logger.log_metrics(logged, step=10 * step)
        logger.save()
    path = tmp_path / "{method}" / "version_{version}"
    results = of(path, lightning_csv, epoch="epoch", arm=["method", "model.width"])
    require_all_runs(results)
    plain = of(tmp_path / "{method}" / "version_{seed}" / "metrics.csv", None, epoch="epoch")
    assert set(plain.runs(plain(method="plain").located().chosen).runs) == {0, 1}
    with pytest.raises(RecordedError, match=r"has no metrics\.csv"):
        list(lightning_csv(tmp_path))


@pytest.mark.thorough
def test_the_state_of_a_trainer(tmp_path):
    callback = oracle("transformers.trainer_callback")
    written = {1: [0.5, 0.4, 0.3], 2: [0.6, 0.55, 0.7]}
    for seed, losses in written.items():
        history = [{"train_runtime": 1.5, "train_loss": 0.6, "epoch": 3.0, "step": 12}]
        for epoch, loss in enumerate(losses, 1):
            at = {"epoch": float(epoch), "step": 4 * epoch}
            history[-1:-1] = [  # an epoch's training loss and its evaluation, in lines of their own
                {"loss": 2 * loss, "grad_norm": 1.0, "learning_rate": 0.1, **at},
                {"eval_loss": loss, "eval_runtime": 0.1, **at},
            ]
        folder = tmp_path / f"plain-{seed}"
        folder.mkdir()
        state = callback.TrainerState(log_history=history)
        state.save_to_json(str(folder / "trainer_state.json"))
    results = of(
        tmp_path / "{method}-{seed}",
        trainer_state,
        metrics={"eval_loss": Metric("log"), "loss": Metric("log")},
    )
    runs = results.runs(results(method="plain").located().chosen).runs
    for seed, losses in written.items():
        assert len(losses) == 3
        assert list(runs[seed].curves["eval_loss"].values()) == losses
        assert runs[seed].measures["eval_loss"] == losses[-1]
        assert len(runs[seed].curves["loss"]) == 3


def test_a_state_that_is_none_is_said(tmp_path):
    (tmp_path / "trainer_state.json").write_text(json.dumps({"epoch": 1.0}))
    with pytest.raises(RecordedError, match="has no log_history"):
        list(trainer_state(tmp_path))
    with pytest.raises(RecordedError, match=r"has no trainer_state\.json"):
        list(trainer_state(tmp_path / "nothing"))
