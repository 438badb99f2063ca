"""The extractors, on a few lines of logs that were made up for these tests."""

import json

import golf
import mlperf
import pytest
import speedrun

CODE = f"{'=' * 100}\nlr = 0.1\n{'=' * 100}\nRunning PyTorch\n{'=' * 100}\n"


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def evaluation(step, loss, *, total=200, time=None, also=""):
    seconds = step / 4 if time is None else time
    return f"step:{step}/{total} val_loss:{loss} {also}train_time:{seconds}s step_avg:250.00ms\n"


@pytest.fixture
def board(tmp_path):
    """A clone of modded-nanogpt without logs."""
    for folder in speedrun.FOLDERS.values():
        (tmp_path / folder).mkdir(parents=True)
    return tmp_path


def short(row):
    return row["record"], row["arm"], row["step"], row["val_loss"]


def test_a_log_may_hold_several_runs(board):
    name = "3f2a41d0-97c5-4c1e-8f3e-0123456789ab.txt"
    log = CODE + evaluation(0, 11) + evaluation(200, 3.1) + evaluation(0, 10.9) + evaluation(200, 3)
    write(board / speedrun.FOLDERS["3"] / name, log)
    write(board / speedrun.FOLDERS["3"] / "new/baseline" / name, CODE + evaluation(200, 3.2))
    found = list(speedrun.rows(board))
    assert [short(row) for row in found] == [
        (name, ".", "0", "11"),
        (name, ".", "200", "3.1"),
        (name, ".", "0", "10.9"),
        (name, ".", "200", "3"),
        ("new", "baseline", "200", "3.2"),
    ]
    assert [row["run"] for row in found[1:4:2]] == [f"{name}#0", f"{name}#1"]
    assert len({row["code"] for row in found}) == 1


def test_another_metric_has_its_own_column(board):
    line = evaluation(200, 3.3, also="val_ema_loss:3.2 ")
    write(board / speedrun.FOLDERS["3"] / "ema/H100_seed0.txt", line)
    (row,) = speedrun.rows(board)
    assert (row["arm"], row["val_loss"], row["val_ema_loss"]) == ("H100", "3.3", "3.2")


def test_milliseconds_are_seconds(board):
    line = "step:9/9 val_loss:3.2 train_time:1500ms step_avg:1.0ms\n"
    write(board / speedrun.FOLDERS["1"] / "old/run.log", line)
    (row,) = speedrun.rows(board)
    assert (row["track"], row["train_s"], row["steps"]) == ("1", "1.500", "9")


def test_a_copy_of_a_run_is_left_out_and_said(board, capsys):
    record = board / speedrun.FOLDERS["3"] / "copied"
    write(record / "all.txt", evaluation(100, 4, time=1) + evaluation(200, 3, time=2))
    write(record / "seed_0/stdout.txt", evaluation(100, 4, time=1) + evaluation(200, 3, time=2))
    write(record / "seed_0/final.txt", evaluation(200, 3, time=2))
    write(record / "seed_1/stdout.txt", evaluation(100, 4, time=1) + evaluation(200, 3, time=3))
    assert [short(row) for row in speedrun.rows(board)] == [
        ("copied", "stdout", step, loss) for step, loss in [("100", "4"), ("200", "3")] * 2
    ]
    assert capsys.readouterr().err == (
        "copied/all.txt#0: the same run as copied/seed_0/stdout.txt#0\n"
        "copied/seed_0/final.txt#0: the same run as copied/seed_0/stdout.txt#0\n"
    )


def test_a_log_without_evaluations_is_listed(board, capsys):
    write(board / speedrun.FOLDERS["1"] / "early/main.log", "s:6200 tel:3.27\n")
    assert list(speedrun.rows(board)) == []
    assert "early/main.log: no line step:N/M" in capsys.readouterr().err


@pytest.mark.parametrize("extractor", [speedrun, golf, mlperf])
def test_another_folder_is_refused(extractor, tmp_path):
    with pytest.raises(SystemExit, match="give the path of a clone"):
        list(extractor.rows(tmp_path))


def test_golf_takes_all_digits_and_the_seed_of_the_log(tmp_path, capsys):
    log = (
        "seed:7\n"
        "step:100/100 val_loss:2.5 val_bpb:1.5 train_time:1ms\n"
        "final_sliding_exact val_loss:2.0123 val_bpb:1.2345\n"
        "final_sliding val_loss:2.0 val_bpb:1.2 eval_time:3ms\n"
        "1776000000.1 diagnostic quantized val_loss:2.1 val_bpb:1.3 eval_time:1ms\n"
    )
    record = tmp_path / golf.FOLDER / "new"
    write(record / "train.log", log)
    write(record / "train_seed7.log", log)
    write(record / "rerun_seed8.log", log.replace("seed:7", "1776000000.0   seed: 8"))
    write(record / "requirements.txt", "torch\n")
    write(record / "broken.log", log.replace("seed:7", ""))
    found = [
        (row["arm"], row["seed"], row["evaluation"], row["val_bpb"]) for row in golf.rows(tmp_path)
    ]
    assert found == [
        ("rerun", "8", "final_sliding", "1.2345"),
        ("rerun", "8", "diagnostic quantized", "1.3"),
        (".", "7", "final_sliding", "1.2345"),
        (".", "7", "diagnostic quantized", "1.3"),
    ]
    assert capsys.readouterr().err == (
        "new/broken.log: 0 seeds\n"
        "new/requirements.txt: no named val_loss:X val_bpb:Y\n"
        "new/train_seed7.log: the same text as new/train.log\n"
    )


def mllog(key, value=None, *, minutes=0, **about):
    event = {"time_ms": 60_000 * minutes, "key": key, "value": value, "metadata": about}
    return f"0: :::MLLOG {json.dumps(event)}\n"


def test_mlperf_keeps_a_run_that_failed_without_its_minutes(tmp_path, capsys):
    begin = "hello\n" + mllog("seed", 5) + mllog("run_start", minutes=1)
    folder = tmp_path / "us/results/box/bert"
    write(folder / "result_0.txt", begin + mllog("run_stop", minutes=4, status="success"))
    write(folder / "result_1.txt", begin + mllog("run_stop", minutes=2, status="aborted"))
    write(folder / "result_2.txt", begin + mllog("eval_accuracy", 90.5, metric="FID"))
    rows = list(mlperf.rows(tmp_path))
    assert [(row["run"], row["seed"], row.get("minutes")) for row in rows] == [
        ("result_0.txt", 5, "3.0000"),
        ("result_1.txt", 5, None),
        ("result_2.txt", 5, None),
    ]
    assert rows[2]["FID"] == 90.5
    assert capsys.readouterr().err == (
        "us/results/box/bert/result_1.txt: aborted, so it has no minutes\n"
        "us/results/box/bert/result_2.txt: no run_stop, so it has no minutes\n"
    )
