"""`python -m repro judge`: answers by exit code, and refusals that name the cell."""

import itertools
import json
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from repro.commands.judge import tie_groups


def column(lines, method, place=2):
    return [float(line.split(",")[place]) for line in lines[1:] if line.startswith(f"{method},")]


def test_answers_are_lines_and_exit_codes(table, call):
    sentence = "new.val_loss < old.val_loss"
    code, out, err = call("judge", table.name, "--arm", "method", sentence)
    assert (code, err) == (0, "")
    assert out.startswith("reproduced    new - old = -0.0084 [")
    assert out.endswith("], 10 and 12 runs, unpaired, level 0.5 %")
    for asked, expected in (
        (["new.val_loss > old.val_loss"], 1),
        (['old.val_loss < "2024-10-10_Muon".val_loss'], 2),
        ([sentence, 'old["eval/acc"] < new["eval/acc"]'], 2),
        ([sentence, "new.val_loss > old.val_loss", 'old["eval/acc"] < new["eval/acc"]'], 1),
        (["new.val_loss < 3.28"], 0),
        (["new.val_loss.is_within(0.02, of=old.val_loss)", sentence], 0),
        (["new.val_loss < old.val_loss < 3.3 and 3 < new.val_loss"], 0),
        (["(new.val_loss < 3.28) & (new.val_loss > 3.2)"], 0),
    ):
        code, out, err = call("judge", table.name, "--arm", "method", *asked)
        assert (code, len([x for x in out.splitlines() if x[0] != " "])) == (
            expected,
            len(asked),
        ), asked


def test_the_answer_has_the_sign_of_the_sentence(table, lines, call):
    new, old = column(lines, "new"), column(lines, "old")
    for sentence, difference in (
        ("new.val_loss < old.val_loss", np.mean(new) - np.mean(old)),
        ("old.val_loss > new.val_loss", np.mean(old) - np.mean(new)),
        ("new.val_loss < 3.28", np.mean(new) - 3.28),
    ):
        out = call("judge", table.name, "--arm", "method", "--json", sentence)[1]
        said = json.loads(out)
        assert said["estimate"] == pytest.approx(difference)
        assert said["low"] < said["estimate"] < said["high"]
        assert said["comparison"].startswith(sentence[:3])
    out = call("judge", table.name, "--arm", "method", "--json", "--scale", "log", sentence)[1]
    assert json.loads(out)["verdict"] == "reproduced"


def test_json_has_everything_in_one_line(table, call):
    asked = ("judge", table.name, "--arm", "method", "--json", "--level", "0.01")
    out = call(*asked, "new.val_loss < old.val_loss", "--spread", "same")[1]
    assert out.count("\n") == 0
    said = json.loads(out)
    assert (said["level"], said["runs"], said["one_spread"]) == (0.01, [10, 12], True)
    assert said["verdict"] == "reproduced"
    assert "98% intervals" in said["text"]


def test_one_spread_is_that_of_all_arms_of_the_table(table, lines, call):
    asked = ("judge", table.name, "--arm", "method", "--json", "new.val_loss < old.val_loss")
    said = json.loads(call(*asked, "--spread", "same")[1])
    every = [np.array(column(lines, name)) for name in ("new", "old", "2024-10-10_Muon")]
    variance = sum(((x - x.mean()) ** 2).sum() for x in every) / 27
    half = stats.t.isf(0.005, 27) * (variance * (1 / 10 + 1 / 12)) ** 0.5
    assert said["high"] - said["estimate"] == pytest.approx(half)


def test_copies_of_a_run_of_another_arm_do_not_narrow_one_spread(folder, lines, call):
    asked = ("--arm", "method", "--spread", "same", "--json", "new.val_loss < old.val_loss")
    copies = [f"2024-10-10_Muon,{seed},3.281234567890123,0.9,h" for seed in range(50, 90)]
    for name, count in (("runs.csv", 1), ("copied.csv", 40)):
        (folder / name).write_text("\n".join([*lines, *copies[:count]]) + "\n")
    said = [json.loads(call("judge", name, *asked)[1]) for name in ("runs.csv", "copied.csv")]
    assert said[1]["high"] == pytest.approx(said[0]["high"], rel=1e-12)


def test_pairs_are_made_by_seed(table, call):
    asked = ("judge", table.name, "--arm", "method", "--where", "seed=3")
    assert call(*asked, "new.val_loss < old.val_loss")[0] == 3
    code, _, err = call(
        "judge", table.name, "--arm", "method", "--paired", "new.val_loss < old.val_loss"
    )
    assert code == 3
    assert "new has no value at seed 11, 12" in err


def test_without_a_sentence_there_is_a_table_of_all_arms(table, lines, call):
    code, out, _ = call("judge", table.name, "--arm", "method", "val_loss")
    assert code == 0
    rows = [line.split() for line in out.splitlines()]
    assert rows[1][0] == "new"
    assert rows[1][-1] == "a"
    assert {row[0]: row[-1] for row in rows[2:4]} == {"old": "b", "2024-10-10_Muon": "b"}
    assert "2 of 3 pairs differ" in out
    said = json.loads(call("judge", table.name, "--arm", "method", "--json", "val_loss")[1])
    assert said["arms"]["new"]["mean"] == pytest.approx(np.mean(column(lines, "new")))
    assert sorted(map(sorted, said["ties"])) == [["2024-10-10_Muon", "old"], ["new"]]
    code, _, err = call("judge", table.name, "--arm", "method")
    assert code == 3
    assert "has 2 columns of numbers" in err


def test_tie_groups_are_all_that_differ_in_no_pair_and_none_is_part_of_another():
    rng = np.random.default_rng(75)
    for _ in range(40):
        arms = "abcdef"
        pairs = [pair for pair in itertools.combinations(arms, 2) if rng.random() < 0.4]
        every = [
            set(group)
            for size in range(1, 7)
            for group in itertools.combinations(arms, size)
            if not any(set(pair) <= set(group) for pair in pairs)
        ]
        largest = [g for g in every if not any(g < other for other in every)]
        found = [set(group) for group in tie_groups(list(arms), pairs)]
        assert sorted(map(sorted, found)) == sorted(map(sorted, largest))


BAD = [
    ([], ["new.val_loss <= old.val_loss"], "compares with neither < nor >"),
    ([], ["new.val_loss < new.nothing"], "runs.csv has no column 'nothing'; it has val_loss"),
    ([], ["newest.val_loss < old.val_loss"], "no arm 'newest'; it has new, old, 2024-10-10_Muon"),
    ([], ["new.host < 3"], "runs.csv, line 2, column host: 'h1' is no number"),
    ([], ["new.val_loss <"], "is no comparison"),
    ([], ["2024-10-10_Muon.val_loss < 3"], "into quotes"),
    ([], ["__import__('os').x < 3"], "is no metric of an arm"),
    ([], ["(lambda: 1)() < new.val_loss"], "neither a metric nor a number"),
    ([], ["new.val_loss.__class__(3)"], "is none of its words"),
    ([], ["1 < 2"], "names no metric of an arm"),
    ([], ["new.val_loss - old.val_loss < 1"], "can only be compared with another gain"),
    ([], ["new.val_loss.matches(3.28)"], "tolerance"),
    ([], ["new.val_loss.exceeds(of=3)"], "unexpected keyword argument"),
    ([], ["val_loss < 3.28"], "val_loss names no arm"),
    ([], ["not (new.val_loss < 3)"], "claims nothing"),
    (["--level", "0.2"], ["new.val_loss < 3"], "from 0.0001 to 0.05"),
    (["--level", "often"], ["new.val_loss < 3"], "invalid float value"),
    (["--nothing"], ["new.val_loss < 3"], "unrecognized arguments: --nothing"),
    (["--where", "host"], ["new.val_loss < 3"], "write --where COLUMN=VALUE"),
    (["--where", "host=h99"], ["new.val_loss < 3"], "No row of runs.csv has host=h99"),
    (["--seed", "number"], ["new.val_loss < 3"], "has no column 'number'"),
    (["--seed", "eval/acc"], ["new.val_loss < 3"], "is no whole number; number all runs, or give"),
    (["--last", "0"], ["new.val_loss < 3"], "--last 0 takes no row"),
    (["--last", "1", "--best", "lowest"], ["new.val_loss < 3"], "not allowed with"),
    (["--spread", "same", "--paired"], ["new.val_loss < 3"], "Pairs have one spread"),
]


@pytest.mark.parametrize(("options", "sentences", "said"), BAD)
def test_what_cannot_be_judged_is_3_and_one_sentence(table, call, options, sentences, said):
    code, out, err = call("judge", table.name, "--arm", "method", *options, *sentences)
    assert (code, out) == (3, "")
    assert said in err
    assert "Traceback" not in err


def test_cells_that_are_no_finite_number_are_refused_or_count_as_said(table, lines, call):
    rows = [line.split(",") for line in lines]
    rows[3][2] = "nan"
    table.write_text("\n".join(map(",".join, rows)))
    asked = ("judge", table.name, "--arm", "method", "new.val_loss < old.val_loss")
    code, _, err = call(*asked)
    assert code == 3
    assert "line 4, column val_loss: 'nan' is not finite; say what it counts as" in err
    assert call(*asked, "--diverged", "9.0")[0] == 2
    rows[3][2] = ""
    table.write_text("\n".join(map(",".join, rows)))
    assert "line 4, column val_loss: '' is empty" in call(*asked)[2]
    rows[3][2], rows[4][3] = "3.27", "91.2"
    table.write_text("\n".join(map(",".join, rows)))
    code, _, err = call("judge", table.name, "--arm", "method", 'new["eval/acc"] < 0.95')
    assert code == 3
    assert "line 5, column eval/acc: '91.2' looks like per cent" in err


def test_a_run_that_repeats_another_is_left_out_and_said(table, lines, call):
    row = lines[1].replace("new,1,", "new,11,")
    values = row.split(",")
    values[2] = lines[1].split(",")[2] = "3.27123456789"
    table.write_text("\n".join([*lines, ",".join(values), ",".join(["new", "12", *values[2:]])]))
    out = call("judge", table.name, "--arm", "method", "new.val_loss < old.val_loss")[1]
    assert "1 of 12 runs of new repeat another" in out
    assert "11 and 12 runs" in out


def test_no_exception_and_no_signal_is_an_answer(table, call, monkeypatch):
    for error in (RuntimeError("odd"), KeyboardInterrupt(), BrokenPipeError(), MemoryError("m")):

        def fails(*_, error=error, **__):
            raise error

        monkeypatch.setattr("repro.commands.judge.judged", fails)
        assert call("judge", table.name, "--arm", "method", "new.val_loss < 3")[0] == 3
    assert call("judge")[0] == 3
    assert call("judge", "nothing.csv", "a.b < 3")[0] == 3
    assert call("judge", "--help")[0] == 0


@pytest.mark.thorough
def test_neither_torch_nor_scipy_stats_is_loaded_and_half_a_second_is_enough(table):
    for command in (
        ["judge", table.name, "--arm", "method", "new.val_loss < old.val_loss"],
        ["decide", table.name, table.name, "--where", "method=old", "--lower", "val_loss"],
    ):
        code = (
            "import sys, time; from repro.__main__ import main; main(sys.argv[1:]);"
            "print(time.process_time(), *(m in sys.modules for m in ('torch', 'scipy.stats')))"
        )
        times = []
        for _ in range(3):
            run = subprocess.run(
                [sys.executable, "-c", code, *command], capture_output=True, text=True, check=True
            )
            seconds, *loaded = run.stdout.splitlines()[-1].split()
            assert loaded == ["False", "False"]
            times.append(float(seconds))
        assert min(times) < 0.6


def test_runs_that_succeed_or_fail_are_judged_as_shares(folder, call):
    rows = [f"new,{i},{int(i > 1)}\nold,{i},{int(i > 9)}" for i in range(1, 13)]
    (folder / "s.csv").write_text("\n".join(["arm,seed,solved", *rows]))
    asked = ("judge", "s.csv", "--arm", "arm", "new.solved > old.solved")
    assert "--scale share judges them" in call(*asked)[1]
    code, out, _ = call(*asked, "--scale", "share", "new.solved > 0.5")
    assert code == 0
    theirs = stats.fisher_exact([[11, 1], [3, 9]], alternative="greater").pvalue
    said = json.loads(call(*asked, "--scale", "share", "--json")[1])
    assert said["p"] == pytest.approx(theirs)
    assert out.splitlines()[0].startswith("reproduced    odds of new / old = 20.8 [")
    assert "share of new = 0.92 [" in out


@pytest.mark.thorough
@pytest.mark.parametrize("missing", ["numpy", "scipy", "repro.judge"])
def test_what_cannot_be_imported_is_no_answer(table, missing):
    code = (
        f"import sys; sys.modules[{missing!r}] = None; from repro.__main__ import main;"
        "sys.exit(main(['judge', 'runs.csv', '--arm', 'method', 'new.val_loss < old.val_loss']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 3
    assert done.stderr.startswith("No answer: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("options", [[], ["--json"], ["--spread", "same"], ["--paired"]])
def test_a_table_of_single_runs_says_what_is_missing(folder, call, options):
    rows = ["a,1,3.1", "b,1,3.2", "c,1,3.3"]
    (folder / "t.csv").write_text("\n".join(["record,seed,loss", *rows]))
    code, out, err = call("judge", "t.csv", "--arm", "record", *options)
    assert (code, err) == (0, "")
    assert "no arm has two runs, and one run has no spread: give each compared arm" in out
    (folder / "t.csv").write_text("\n".join(["record,seed,loss", *rows, "b,2,3.3"]))
    assert "only b has two runs" in call("judge", "t.csv", "--arm", "record", *options)[1]
    (folder / "t.csv").write_text("loss,seed\n3.1,1")
    code, out, _ = call("judge", "t.csv", *options)
    assert code == 0
    assert "there is one arm: name the column that tells arms apart" in out


def test_a_table_names_arms_whose_runs_are_alike_and_leaves_out_copies(folder, call):
    rows = ["a,3", "a,3", "b,2.5", "b,2.6", *["c,2.0123456789"] * 4, "c,2.1123456789"]
    (folder / "t.csv").write_text("\n".join(["record,loss", *rows]))
    out = call("judge", "t.csv", "--arm", "record")[1]
    assert "all runs of a are alike, so they have no spread: does the training use its" in out
    assert "3 of 5 runs of c repeat another in every value and are left out" in out
    found = json.loads(call("judge", "t.csv", "--arm", "record", "--json")[1])
    assert found["arms"]["c"]["runs"] == 2
    assert len(found["notes"]) == 2


def test_a_table_that_cannot_be_made_is_refused(folder, call):
    (folder / "t.csv").write_text("record,loss,note\na,x,u\nb,3,v\na,1,w\n")
    for options, said in (
        (["--arm", "record"], "has none beside those that tell runs apart: name one"),
        (["--arm", "record", "loss"], "t.csv, line 2, column loss: 'x' is no number"),
        (["--arm", "record", "--looks", "any", "loss"], "--looks is for sentences"),
        (["--arm", "record", "--paired", "a.loss < b.loss"], "no column of seeds: name it"),
    ):
        code, out, err = call("judge", "t.csv", *options)
        assert (code, out) == (3, "")
        assert said in err
    (folder / "t.csv").write_text("record,loss\n")
    assert call("judge", "t.csv", "--arm", "record")[::2] == (3, "No row was found in t.csv.")


def test_a_printed_mean_is_a_sentence(table, lines, call):
    values = column(lines, "new")
    right = f"{np.mean(values):.4f} ± {np.std(values, ddof=1):.4f}"
    asked = ("judge", table.name, "--arm", "method")
    code, out, _ = call(*asked, f'new.val_loss.prints("{right}")')
    assert (code, out.splitlines()[0].split()[:4]) == (0, ["reproduced", "mean", "of", "new"])
    assert out.endswith(f"printed {right.partition(' ')[0]}, 10 runs, exact")
    code, out, _ = call(*asked, "--json", "new.val_loss.prints('3.3')", "new.val_loss < 3.28")
    assert (code, json.loads(out.splitlines()[0])["printed"]) == (0, "3.3")
    code, out, _ = call(*asked, "new['val_loss'].prints('3.2')")
    assert (code, out.split()[0]) == (1, "refuted")
    for wrong in ("new.val_loss.prints(3.27)", "new.val_loss.prints()", "new.val_loss.prints(x)"):
        assert call(*asked, wrong)[0] == 3


def test_a_table_of_shares_is_tested_as_its_sentences_are(folder, call):
    solved = {"a": 0, "b": 2, "c": 12}
    rows = [f"{arm},{run},{int(run < n)}" for arm, n in solved.items() for run in range(12)]
    (folder / "s.csv").write_text("\n".join(["arm,seed,solved", *rows]))
    asked = ("judge", "s.csv", "--arm", "arm", "--scale", "share", "--json")
    found = json.loads(call(*asked)[1])
    assert found["ties"] == [["a", "b"], ["c"]]
    for pair in found["apart"]:
        low, high = (solved[arm] for arm in pair["arms"])
        theirs = stats.fisher_exact([[high, 12 - high], [low, 12 - low]], alternative="greater")
        assert pair["p"] == pytest.approx(theirs.pvalue)


def test_runs_with_names_are_paired_by_them(folder, call):
    rows = [
        f"{arm},{run},{x + n}" for arm, x in (("a", 1), ("b", 3)) for n, run in enumerate("uvw")
    ]
    (folder / "n.csv").write_text("\n".join(["arm,run,loss", *rows]))
    asked = ("judge", "n.csv", "--arm", "arm", "--seed", "run", "--paired", "a.loss < b.loss")
    assert "3 pairs" in call(*asked)[1]
    (folder / "n.csv").write_text("\n".join(["arm,run,loss", *rows, "b,x,3.5", "b,z,3.2"]))
    assert "a has no value at run x, z, which another arm has" in call(*asked)[2]
