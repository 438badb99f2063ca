"""Folders of runs, curves and exports: which runs they have, and their values."""

import json

import numpy as np
import pytest


def value(call, *arguments):
    code, out, err = call("judge", "--json", *arguments)
    assert code in (0, 1, 2), err
    return json.loads(out)


@pytest.fixture
def curves(folder):
    """A file for each run, in a folder for each arm, with a row for each epoch and no seed."""
    for arm, start in (("new", 1.0), ("old", 2.0)):
        for run in range(4):
            path = folder / "out" / arm / f"run{run}.csv"
            path.parent.mkdir(parents=True, exist_ok=True)
            rows = [f"{e},{start + 0.01 * run + (e - 3) ** 2 / 10}" for e in range(1, 6)]
            path.write_text("\n".join(["epoch,loss", *rows]))
    return "out"


def test_a_folder_has_a_run_in_each_file_and_an_arm_in_each_folder(curves, call):
    said = value(call, curves, "new.loss < old.loss")
    assert said["verdict"] == "reproduced"
    assert said["runs"] == [4, 4]
    assert said["means"]["new"] == pytest.approx(1.0 + 0.015 + 0.4)  # the last epoch
    for options, mean in (
        (["--best", "lowest"], 1.015),
        (["--best", "highest"], 1.415),
        (["--last", "3"], 1.015 + (0 + 0.1 + 0.4) / 3),
        (["--where", "epoch=2"], 1.115),
    ):
        assert value(call, curves, "new.loss < 9", *options)["means"]["new"] == pytest.approx(mean)


def test_a_curve_in_one_table_needs_the_column_that_counts(folder, call):
    rows = [
        f"{a},{s},{t},{x + s / 10 + t}"
        for a, x in (("a", 1), ("b", 3))
        for s in (1, 2, 3)
        for t in (1, 2)
    ]
    (folder / "log.csv").write_text("\n".join(["arm,seed,when,loss", *rows]))
    code, _, err = call("judge", "log.csv", "a.loss < b.loss")
    assert code == 3
    assert "Seed 1 is there twice" in err
    assert "differ in when" in err
    said = value(call, "log.csv", "a.loss < b.loss", "--epoch", "when")
    assert said["means"]["a"] == pytest.approx(3.2)


def test_an_export_of_a_chart_has_a_run_in_each_column(folder, call):
    rng = np.random.default_rng(3)
    names = [f"{arm}_s{seed}" for arm in ("muon", "adam") for seed in (1, 2, 3)]
    heads = [f"{n} - val/loss{end}" for n in names for end in ("", "__MIN", "__MAX")]
    lines = [",".join(f'"{x}"' for x in ["Step", *heads])]
    for step in (100, 200):
        cells = [
            str(round((1 if n.startswith("muon") else 2) + rng.normal(0, 0.01), 4))
            for n in names
            for _ in range(3)
        ]
        lines.append(",".join([str(step), *cells]))
    (folder / "wandb.csv").write_text("\n".join(lines))
    said = value(call, "wandb.csv", 'muon["val/loss"] < adam["val/loss"]')
    assert (said["verdict"], said["runs"]) == ("reproduced", [3, 3])
    last = [float(x) for x in lines[-1].split(",")[1::3]]
    assert said["means"]["muon"] == pytest.approx(np.mean(last[:3]))


def test_json_lines_need_no_column_of_arms_for_a_number(runs, call):
    runs("a.jsonl", [3.1, 3.2, 3.15, 3.12, 3.18], metric="loss")
    assert value(call, "a.jsonl", "loss < 3.5")["verdict"] == "reproduced"
    code, _, err = call("judge", "a.jsonl", "new.loss < 3.5")
    assert code == 3
    assert "name the column that tells arms apart" in err


def test_arms_are_named_by_the_columns_in_which_they_differ(folder, call):
    rows = [f"muon,64,{lr},{s},{lr + s / 1000}" for lr in (1, 2) for s in range(4)]
    (folder / "t.csv").write_text("\n".join(["opt,width,lr,seed,loss", *rows]))
    said = value(
        call, "t.csv", '"1".loss < "2".loss', "--arm", "opt", "--arm", "width", "--arm", "lr"
    )
    assert said["comparison"] == "1 - 2"


def test_what_is_no_table_is_refused(folder, call):
    (folder / "empty").mkdir()
    (folder / "a.xyz").write_text("loss")
    for path, said in (("empty", "has no file that can"), ("a.xyz", "is of no kind that is read")):
        code, _, err = call("judge", path, "loss < 3")
        assert code == 3
        assert said in err


def test_rows_of_one_file_are_runs_although_they_say_at_which_step_they_ended(folder, call):
    rows = [f"{step},{1 + step / 1000}" for step in (100, 120, 90, 110)]
    (folder / "t.csv").write_text("\n".join(["step,loss", *rows]))
    assert value(call, "t.csv", "loss < 2")["runs"] == [4]
