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


def write(folder, columns, rows, name="t.csv"):
    (folder / name).write_text("\n".join([columns, *rows]) + "\n")


LOGS = {
    "a log of one run for each arm": (
        "arm,step,loss",
        [f"{arm},{100 * i},{3 - i / 100}" for arm in "ab" for i in range(1, 21)],
        "rows at step 100 and 200, and no column says which rows are one run",
    ),
    "a log that begins with its end": (
        "arm,_step,loss",
        [f"{arm},{i},{3 - i / 100}" for arm in "ab" for i in (3, 2, 1)],
        "rows at _step 3 and 2, and",
    ),
    "seeds under another name": (
        "arm,trial,Step,loss",
        [f"{arm},{t},{i},{3 + t / 9 - i / 100}" for arm in "ab" for t in (1, 2) for i in (1, 2)],
        "name it, as in --seed trial",
    ),
    "a run that was cut off": (
        "arm,seed,step,loss",
        [f"{arm},{s},{i},{s + i}" for arm in "ab" for s in (1, 2) for i in (1, 2)][:-1],
        "loss of a run of b (seed 2) ends at 1, and of a run of a (seed 1) at 2: complete",
    ),
    "a seed that was trained twice": (
        "arm,seed,step,loss",
        [f"{arm},{s},1,{s + i}" for arm in "ab" for s in (1, 2) for i in (1, 2)],
        "is a second value of seed 1 at step 1; two runs share a seed",
    ),
    "versions that are numbers": (
        "arm,loss",
        [f"{arm},{x}" for arm in ("1.1", "1.10") for x in (1, 2)],
        "arm is 1.1 in t.csv, line 2 and 1.10 in t.csv, line 4, which is one number",
    ),
    "semicolons": ("arm;loss", ["a;1"], "the cells are separated by ';', and not by commas"),
    "tabs": ("arm\tloss", ["a\t1"], "separated by tabs, as a file that ends in .tsv has"),
    "no variance of it is finite": ("arm,loss", ["a,1e300", "a,2e300"], "is beyond 1e+100"),
}


@pytest.mark.parametrize("table", LOGS)
def test_rows_that_are_no_runs_are_refused(folder, call, table):
    columns, rows, said = LOGS[table]
    write(folder, columns, rows)
    sentence = "loss < 9" if table in ("semicolons", "tabs") else "a.loss < 9"
    if table == "versions that are numbers":
        sentence = '"1.1".loss < 9'
    elif "b,1" in "".join(rows):
        sentence = "a.loss < b.loss"
    code, out, err = call("judge", "t.csv", "--arm", "arm", sentence)
    assert (code, out) == (3, "")
    assert said in err


def test_curves_count_by_their_steps_in_any_order(folder, call):
    rows = [f"a,{s},{i},{s + i}" for s in (1, 2) for i in (1, 2, 3)]
    for columns in ("arm,Seed,Step,loss", "arm,seed,epoch,loss"):
        write(folder, columns, rows[::-1])
        assert value(call, "t.csv", "--arm", "arm", "a.loss < 9")["means"]["a"] == 4.5
    halves = [row.replace(",3,", ",1.5,") for row in rows]  # of an epoch
    write(folder, "arm,seed,epoch,loss", halves[::-1])
    assert value(call, "t.csv", "--arm", "arm", "a.loss < 9")["means"]["a"] == 3.5
    again = [f"a,{s},{e},{i},{s + e}" for s in (1, 2) for e in (1, 2) for i in (1,)]
    write(folder, "arm,seed,epoch,step,loss", again)  # steps begin anew in each epoch
    assert value(call, "t.csv", "--arm", "arm", "a.loss < 9")["means"]["a"] == 3.5


def test_runs_may_end_where_they_end_if_that_is_said(folder, call, runs):
    write(folder, "seed,step,loss", [f"{s},{i},{s + i}" for s in (1, 2, 3) for i in range(s)])
    code, _, err = call("judge", "t.csv", "loss < 9")
    assert (code, "say --ends as-recorded" in err) == (3, True)
    assert value(call, "t.csv", "loss < 9", "--ends", "as-recorded")["means"] == {"all runs": 3.0}
    runs("longer.jsonl", [1.0, 1.1, 1.2], step=2)
    runs("shorter.jsonl", [1.0, 1.1, 1.2], step=1)  # or they were best there
    asked = ("decide", "longer.jsonl", "shorter.jsonl", "--lower", "val_bpb")
    assert call(*asked)[0] == 1
    asked = (*asked, "--epoch", "step")
    assert "ends at 1, and of a run (seed 1) at 2" in call(*asked)[2]
    assert call(*asked, "--ends", "as-recorded")[0] == 1


def test_rows_with_names_are_runs_whatever_step_they_ended_at(folder, call):
    write(
        folder, "record,run,step,loss", [f"r,{n}.txt,{s},{s / 9}" for n, s in (("x", 1), ("y", 2))]
    )
    assert value(call, "t.csv", "loss < 9")["runs"] == [2]


def test_arms_that_nobody_names_are_said_to_be_mixed(folder, call):
    rows = [f"{arm},{x}" for arm in ("old", "new") for x in (1.0, 1.1, 1.2)]
    write(folder, "method,loss", rows)
    said = "all 6 rows count as one arm, and method differs among them: --arm method"
    assert said in call("judge", "t.csv", "loss < 9")[1]
    assert said not in call("judge", "t.csv", "loss < 9", "--where", "method=old")[1]
    for arm in ("old", "new"):
        for seed in (1, 2):
            (folder / "flat").mkdir(exist_ok=True)
            write(folder, "loss", [f"{seed}"], name=f"flat/{arm}_seed{seed}.csv")
    found = call("judge", "flat", "loss < 99")[1]
    assert "all files count as one arm, new, old: give each arm a folder" in found


def test_the_name_of_a_column_is_a_table_of_it(folder, call):
    write(folder, "method,val/loss,top 1 (%)", [f"{m},{x},{x}" for m in "ab" for x in (1.5, 1.6)])
    for name in ("val/loss", "top 1 (%)"):
        code, out, _ = call("judge", "t.csv", "--arm", "method", name)
        assert (code, out.partition("  ")[0]) == (0, name)


def test_no_misspelt_command_is_an_answer(call):
    assert [call(name)[0] for name in ("decid", "jugde")] == [3, 3]
