"""Claims on a file of results: judged, gated, reported, and nothing is trained."""

import json
import re
import statistics
from pathlib import Path

import pytest
from recorded_results import CLAIMS, run, say, table, write

from repro.arm import Metric

pytestmark = pytest.mark.thorough

ONLY_LOADS = """
import sys
import pytest

class Look:
    def pytest_sessionfinish(self, session):
        print("torch is loaded:", "torch" in sys.modules)

sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", *sys.argv[1:]], plugins=[Look()]))
"""


def record(project, claim="smoothing"):
    data = json.loads((project.path / "report" / "results.json").read_text())
    return next(each for each in data["claims"] if claim in each["claim"]), data


def judged_in(project, claim="smoothing"):
    """The record of a claim after a session with a report."""
    run(project, "--report", "report")
    return record(project, claim)[0]


def test_results_are_judged_as_they_are(project):
    result = run(project, "--report", "report")
    result.stdout.fnmatch_lines(["*judged as recorded: 60 runs of results.csv (sha256 *)*"])
    judged, data = record(project)
    assert judged["verdict"] == "reproduced"
    assert (judged["profile"], judged["data"]) == ("recorded", "results.csv")
    assert judged["measured"].endswith("20 seeds")
    assert "samples that are not" in judged["text"]
    assert "one look" in judged["text"]
    rows = [line.split(",") for line in table()[1:]]
    values = [
        [float(row[3]) for row in rows if row[0] == method] for method in ("smoothing", "plain")
    ]
    assert [sample["values"] for sample in judged["findings"][0]["samples"]] == values
    arms = [arm for arm in data["arms"].values() if arm["settings"]["method"] == "smoothing"]
    assert arms[0]["seeds"] == list(range(1, 21))
    assert len(set(arms[0]["keys"])) == 20
    page = (project.path / "report" / "index.html").read_text()
    assert "recorded in results.csv, SHA-256" in page
    assert not list((project.path / "store").glob("runs/*/*"))


def test_an_arm_of_equal_rounded_values_has_the_spread_of_half_a_digit(project):
    rows = [f"a,{n},72.3" for n in range(3)] + [f"b,{n},{72.2 if n else 72.1}" for n in range(10)]
    write(project, ["method,seed,score", *rows])
    project.makepyfile(
        test_results="""
        from repro import Metric, claim
        from repro.recorded import recorded

        RESULTS = recorded(
            "results.csv", arm="method", seed="seed", metrics={"score": Metric("identity")}
        )

        @claim("A is better", source="Ours")
        def test_rounded(trials):
            a, b = trials(RESULTS(method="a"), RESULTS(method="b"))
            assert a.score > b.score
        """
    )
    assert judged_in(project, "rounded")["verdict"] == "inconclusive"


def test_pairs_are_paired_where_the_author_says_so_which_may_be_wrong(project, lines):
    def mispaired(line):
        method, width, seed, value = line.split(",")
        return f"{method},{width},{(int(seed) * 7) % 20 + 1},{value}"

    say(project, "paired=True")
    judged = judged_in(project, "mixup")
    assert judged["verdict"] == "reproduced"  # what two samples leave open
    assert "pairing: r = 0.9" in judged["text"]
    write(project, [line if not line.startswith("plain") else mispaired(line) for line in lines])
    assert "paired=True may be wrong" in judged_in(project)["text"]


def test_a_level_of_its_own_stands_in_the_ledger_and_another_one_fails_the_gate(project):
    def write_claims(level):
        claims = CLAIMS.format(more="").replace('93.4 %")', f'93.4 %", level={level})')
        project.makepyfile(test_results=claims)

    write_claims(0.05)
    run(project, "--update-ledger", "--report", "report")
    assert record(project)[0]["level"] == 0.05
    ledger = (project.path / "ledger" / "test_results.toml").read_text()
    assert ledger.count("level = 0.05\n") == 1
    assert run(project, "--gate").ret == 0
    write_claims(0.01)
    result = run(project, "--gate")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*is judged at a level of 1.000%, and in the ledger 5.000%*"])
    write_claims(0.2)
    result = run(project)
    result.stdout.fnmatch_lines(["*The claim has level=0.2 is the chance of a false verdict in*"])
    assert "0.0001 to 0.05" in run(project, "--level", "2").stderr.str()


def test_the_ledger_gates_recorded_claims_too(project):
    result = run(project, "--update-ledger")
    result.stdout.fnmatch_lines(["*the ledger was updated: 2 verdicts changed*"])
    ledger = (project.path / "ledger" / "test_results.toml").read_text()
    assert 'profile = "recorded"' in ledger
    assert 'machine = "results.csv (sha256 ' in ledger
    run(project).assert_outcomes(passed=1, xfailed=1)
    plan = run(project, "--plan")
    plan.stdout.fnmatch_lines(["judged as recorded: 60 runs of results.csv (sha256 *)"])
    assert "0 to train" in plan.stdout.str()
    write(project, table(means={"plain": 0.936, "smoothing": 0.93, "mixup": 0.931}))
    result = run(project)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*accepted in the ledger: reproduced on results.csv (sha256 *"])


def test_a_reproduced_claim_may_be_skipped_only_where_its_table_is_not_here(project):
    run(project, "--update-ledger")
    skipped = CLAIMS.replace("@claim(", "@pytest.mark.skip(reason='no')\n@claim(")
    project.makepyfile(test_results=f"import pytest\n{skipped.format(more='')}")
    assert run(project).ret == 1
    (project.path / "results.csv").unlink()
    assert run(project).ret == 0
    assert run(project, "--require-verdict", "--gate").ret == 1
    project.makepyfile(test_results=CLAIMS.format(more=""))
    assert run(project).ret == 1  # a claim that asks for its table is not excused


def test_seed_counts_may_differ_and_the_best_of_several_is_said_to_be_one(project):
    lines = table(means={"plain": 0.93, "smoothing": 0.936, "mixup": 0.931, "b": 0.93})
    kept = [line for line in lines if not line.startswith("plain") or int(line.split(",")[2]) < 13]
    write(project, kept)
    judged = judged_in(project)
    assert judged["measured"].endswith("20 and 12 seeds")
    assert "smoothing has the highest accuracy of 3 arms that could be compared" in judged["text"]


def test_a_second_look_is_refused_where_there_was_one_at_the_whole_level(project):
    run(project, "--update-ledger")
    write(project, table(seeds=30))
    result = run(project, "-rs")
    said = " ".join(result.stdout.str().split())
    assert "was open at 20 seeds, in one look that spent its whole level, and now has 30." in said
    assert "on each side from 0.50% to 0.85% at most: say looks=(20, 30) in recorded(…)" in said
    result.assert_outcomes(passed=1, skipped=1)


def test_declared_looks_are_taken_in_turn(project):
    open_ = {"plain": 0.93, "smoothing": 0.936, "mixup": 0.9321}
    write(project, table(means=open_))
    say(project, "looks=(20, 30)")
    result = run(project, "-rs")
    result.stdout.fnmatch_lines(["*the next declared one is at 30 seeds, and results.csv has 20*"])
    result.assert_outcomes(passed=1, skipped=1)
    write(project, table(seeds=30, means=open_))
    judged = judged_in(project, "mixup")
    assert "looks at 20, 30" in judged["text"]
    write(project, table(seeds=8))
    run(project, "-rs").stdout.fnmatch_lines(["*needs 20 for the first of its declared looks*"])


def test_a_record_that_grows_may_be_judged_at_any_time(project):
    open_ = {"plain": 0.93, "smoothing": 0.936, "mixup": 0.9321}
    say(project, 'looks="any"')
    for seeds in (3, 12, 20):
        write(project, table(seeds=seeds, means=open_))
        run(project, "--update-ledger", "--report", "report")
        judged = record(project, "mixup")[0]
        assert (judged["verdict"], judged["one_look"]) == ("inconclusive", [])
        assert "looks at any time" in judged["text"]
    assert record(project)[0]["verdict"] == "reproduced"
    say(project, "")  # one look, after which it is too late for another
    run(project, "--update-ledger")
    write(project, table(seeds=30, means=open_))
    say(project, 'looks="any"')
    assert "one look that spent its whole level" in " ".join(record_of_error(project).split())


def test_arms_that_are_trained_are_not_compared_and_no_recorded_run_is_left_out(project):
    project.makepyfile(
        test_others="""
        from repro import claim
        from repro.studies.depth_ladder.arms import D256_L4
        from test_results import RESULTS

        @claim("They can be mixed", source="Ours, Text")
        def test_mixed(trials):
            a, b = trials(RESULTS(method="plain"), D256_L4)
            assert a.accuracy > b.accuracy

        @claim("It is good", source="Ours, Text", after=2)
        def test_after(trials):
            assert trials(RESULTS(method="plain")).accuracy > 0.5
        """,
    )
    result = run(project, "test_others.py")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*which is recorded, with arms that are trained here*"])
    result.stdout.fnmatch_lines(["*after=2 leaves out seeds that would be trained, and*"])


def test_no_torch_is_loaded(project):
    project.makepyfile(only_loads=ONLY_LOADS)
    result = project.runpython("only_loads.py")
    assert "torch is loaded: False" in result.stdout.str()


CURVES = """
from repro import claim
from repro.arm import Metric
from repro.recorded import recorded

SHARE = {"accuracy": Metric("log-odds", examples=10_000)}
RUNS = recorded("runs/{method}/seed_{seed}.csv", arm="method", seed="seed", epoch="epoch",
                metrics=SHARE)

@claim("It learns until the end", source="Ours, Figure 1")
def test_climbs(trials):
    plain = trials(RUNS(method="plain"))
    assert plain.over_epochs.accuracy.peaks_at(40)
"""


def test_curves_are_judged_and_drawn(project):
    for seed in range(1, 6):
        path = project.path / "runs" / "plain" / f"seed_{seed}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = [f"{epoch},{0.9 - 1 / epoch + 0.001 * seed}" for epoch in (10, 20, 30, 40)]
        path.write_text("\n".join(["epoch,accuracy", *rows]) + "\n")
    project.makepyfile(test_results=CURVES)
    result = project.runpytest_subprocess("-p", "no:cacheprovider", "--report", "report", "-n2")
    result.assert_outcomes(passed=1)
    page = (project.path / "report" / "index.html").read_text()
    assert "(5 files, " in page
    curve = page[page.index("Learning curves of the arms") :]
    curve = curve[: curve.index("</svg>")]
    assert all(f">{epoch}<" in curve for epoch in (10, 20, 30, 40))


def test_the_guide_runs_as_it_is_written(project, lines):
    guide = (Path(__file__).parents[2] / "docs" / "recorded.md").read_text()
    of_a_file, *of_numbers = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    project.makepyfile(test_results=of_a_file)
    run(project).assert_outcomes(passed=1)
    values = {"a": [0.94, 0.95, 0.94], "b": [0.94, 0.94, 0.95], "Metric": Metric}
    for block in of_numbers:
        exec(block, values)
    assert values["verdict"].outcome == "reproduced"


def test_a_session_of_errors_alone_has_an_end_and_a_report_too(project):
    claims = (project.path / "test_results.py").read_text().partition('@claim("Mixup')[0]
    broken = claims.replace("    assert", "    raise ValueError('no seven')\n    assert")
    project.makepyfile(test_results=broken)
    result = run(project, "--report", "report")
    result.stdout.fnmatch_lines(["failed: 1", "  error: pytest *", "the report is *"])
    assert "ValueError: no seven" in (project.path / "report" / "index.html").read_text()


def test_printed_means_are_claims_on_recorded_runs_alone(project):
    rows = [float(line.split(",")[3]) for line in table()[1:] if line.startswith("plain")]
    printed = f"{100 * statistics.fmean(rows):.1f} ± {100 * statistics.stdev(rows):.1f} %"
    project.makepyfile(
        test_results=CLAIMS.format(more="").split("@claim")[0]
        + f'''
@claim("The table is that of the runs", source="Ours, Table 2")
def test_prints(trials):
    assert trials(RESULTS(method="plain")).accuracy.prints("{printed}")


@claim("The best epoch is that of the runs", source="Ours, Table 2")
def test_wrong(trials):
    assert trials(RESULTS(method="plain")).accuracy.prints("93.1 %")
'''
    )
    run(project, "--update-ledger", "--report", "report")
    right, wrong = (record(project, name)[0] for name in ("prints", "wrong"))
    assert (right["verdict"], wrong["verdict"]) == ("reproduced", "refuted")
    assert (right["level"], right["false_at_most"]) == (0.005, 0)
    assert re.fullmatch(r"mean of plain = 0\.92\d+, printed 93\.1 %, 20 runs", wrong["measured"])
    assert [each["relation"] for each in right["findings"][0]["effects"]] == ["≈", "≈"]
    run(project, "--gate").assert_outcomes(passed=1, skipped=1)
    say(project, "looks=(10, 20)")
    text = (project.path / "test_results.py").read_text()
    (project.path / "test_results.py").write_text(
        text.replace("mixup.accuracy > plain.accuracy", 'plain.accuracy.prints("93.0 %")')
    )
    assert "in one look at all" in record_of_error(project)


def record_of_error(project):
    run(project, "--report", "report")
    return record(project, "mixup")[0]["text"]


WIDE = """
from repro import claim
from repro.arm import Metric
from repro.recorded import recorded

RESULTS = recorded("wide.csv", arm=["machine", "task", "width"], seed=None,
                   metrics={"loss": Metric("identity")})

@claim("Wide is better by a margin", source="Ours, Table 3", level=0.01)
def test_wide(trials):
    arms = {"machine": "node-3", "task": "translation"}
    wide, small = trials(RESULTS(width=64, **arms), RESULTS(width=32, **arms))
    assert wide.loss.falls_below(small.loss, by_at_least=0.1)
"""


def test_the_ledger_has_the_bound_and_labels_of_what_differs_in_the_claim(project):
    rows = [
        f"{machine},{task},{width},{3 - width / 100 + 0.01 * run}"
        for machine in ("node-3", "node-4")
        for task in ("translation", "summary")
        for width in (32, 64)
        for run in range(4)
    ]
    write(project, ["machine,task,width,loss", *rows], "wide.csv")
    project.makepyfile(test_results=WIDE)
    run(project, "--update-ledger", "--report", "report")
    judged = record(project, "wide")[0]
    assert judged["measured"].startswith("width 32 - width 64 = 0.32 [")
    assert judged["measured"].endswith("], claimed > 0.1, 4 runs")
    assert (judged["level"], judged["false_at_most"]) == (0.01, 0.02)
    ledger = (project.path / "ledger" / "test_results.toml").read_text()
    assert "claimed > 0.1" in ledger
    assert 'arms = ["node-3, translation, width 64", "node-3, translation, width 32"]' in ledger
