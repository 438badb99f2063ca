"""From `pytest` to verdicts: planning, sharing, gating, and what a person reads at the end."""

import json
import re
import subprocess
import sys

import pytest

import repro.backends.local
from repro.backends.slots import slots_on
from tests.plugin.sessions import change, run, run_apart, trained


def test_first_everything_is_trained_once_and_then_nothing(project):
    result = run(project)
    result.assert_outcomes(passed=2, failed=1, skipped=1)
    assert trained(result) == (32, 32)  # 4.0 and 1.0 are shared by two claims
    assert trained(run(project)) == (32, 0)


@pytest.mark.thorough
def test_workers_share_the_runs_and_train_none_twice(outside_project):
    change(outside_project, "sleep(0)", "sleep(0.03)")  # so that they meet
    result = run_apart(outside_project, "-n", "3")
    result.assert_outcomes(passed=2, failed=1, skipped=1)
    assert trained(result) == (48, 48)  # four arms, and the last look is needed


def test_the_workers_of_a_session_share_its_slots(project, monkeypatch):
    monkeypatch.setenv("PYTEST_XDIST_WORKER_COUNT", "4")
    monkeypatch.setenv("PYTEST_XDIST_TESTRUNUID", "of all four")
    asked = []

    def noted(device, **given):
        asked.append(given)
        return slots_on(device, **given)

    monkeypatch.setattr(repro.backends.local, "slots_on", noted)
    run(project)
    assert asked == [{"processes": 4, "session": "of all four"}]
    run(project)
    assert len(asked) == 1  # nothing was left to train


@pytest.mark.thorough
def test_two_sessions_at_once_train_nothing_twice(outside_project):
    change(outside_project, "sleep(0)", "sleep(0.03)")  # so that they meet
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-n", "2"]
    both = [
        subprocess.Popen(command, cwd=outside_project.path, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    texts = [process.communicate()[0] for process in both]
    counts = [int(re.search(r"(\d+) trained now", text).group(1)) for text in texts]
    assert sum(counts) == 48
    assert all(re.search(r"^all +2 +1 ", text, re.MULTILINE) for text in texts)


def test_a_finding_says_what_was_claimed_measured_and_how_to_reproduce_it(project):
    result = run(project, "-k", "flatter")
    result.stdout.fnmatch_lines(
        [
            "claimed (900, Text): flat targets give steeper lines",
            "REFUTED: line 1.0 exceeds line 4.0 in slope",
            "*8 seeds (looks at 5, 8, 12)*",
            'reproduce with: pytest "test_lines.py::test_flatter" --profile ci',
        ]
    )
    assert result.ret == 1


def test_the_error_over_all_claims_is_controlled_and_said(project):
    result = run(project, "--report", "found")
    result.stdout.fnmatch_lines(
        ["3 of 3 settled verdicts stand: of those, 5% are false at most, on average"]
    )
    records = json.loads((project.path / "found" / "results.json").read_text())["claims"]
    judged = [record for record in records if record["p"] is not None]
    assert len(judged) == 3
    assert all(record["p"] <= record["p_over_the_suite"] <= 0.05 for record in judged)
    assert all(record["stands"] for record in judged)


def test_the_ledger_gates(project):
    run(project, "--update-ledger").assert_outcomes(passed=2, xfailed=1, skipped=1)
    ledger = project.path / "ledger" / "test_lines.toml"
    text = ledger.read_text()
    assert text.count("[[claim]]") == 3
    accepted = run(project)
    accepted.assert_outcomes(passed=2, xfailed=1, skipped=1)
    assert "the ledger" not in accepted.stdout.str()

    ledger.write_text(text.replace('"refuted"', '"reproduced"'))
    worse = run(project)
    worse.assert_outcomes(passed=2, failed=1, skipped=1)
    worse.stdout.fnmatch_lines(["*worse (was reproduced)*"])

    ledger.write_text(text.replace('"reproduced"', '"inconclusive"'))
    better = run(project)
    better.assert_outcomes(passed=2, xfailed=1, skipped=1)
    better.stdout.fnmatch_lines(["*better (was inconclusive)*", "*accept what differs*"])


@pytest.mark.thorough
def test_of_all_processes_one_writes_the_ledger_and_the_report(outside_project):
    outside_project.makeconftest(
        """
        import os
        from pathlib import Path
        import repro.plugin.summary as summary

        summarised = summary.summarise

        def noted(*given):
            Path(f"summary-{os.getpid()}").touch()
            summarised(*given)

        summary.summarise = noted
        """
    )
    result = run_apart(outside_project, "-n", "3", "--update-ledger", "--report", "found")
    result.assert_outcomes(passed=2, xfailed=1, skipped=1)
    assert len(list(outside_project.path.glob("summary-*"))) == 1
    assert [path.name for path in outside_project.path.glob("ledger/*")] == ["test_lines.toml"]


def test_a_claim_for_another_profile_says_what_it_needs(project):
    result = run(project, "-k", "large", "-rs")
    result.stdout.fnmatch_lines(["*not run: *needs --profile paper*"])
    assert result.ret == 0
    insisting = run(project, "-k", "large", "--require-verdict")
    insisting.assert_outcomes(failed=1)
    insisting.stdout.fnmatch_lines(["*needs --profile paper*", "*asks for a verdict*"])


@pytest.mark.thorough
def test_the_plan_trains_nothing(project):
    result = run_apart(project, "--plan", "-n", "2")
    result.stdout.fnmatch_lines(["4 claims at profile ci, 20 distinct runs*", "*80% power*"])
    assert not list((project.path / "store" / "runs").rglob("result.json"))


def test_verdicts_travel_in_junit_xml_and_in_the_report(project):
    run(project, "--junitxml=out.xml", "--report", "found")
    assert 'name="repro.verdict" value="refuted"' in (project.path / "out.xml").read_text()
    records = json.loads((project.path / "found" / "results.json").read_text())["claims"]
    assert {r["claim"]: r["verdict"] for r in records} == {
        "900/flatter": "refuted",
        "900/large": "not run",
        "900/steeper[1.0]": "reproduced",
        "900/steeper[2.0]": "reproduced",
    }


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--profile", "huge"], "There is no profile 'huge'; choose one of ci, paper."),
        (["--seed-budget", "1"], "--seed-budget 1 is too few"),
        (["--device", "abacus"], "There is no device 'abacus'"),
        (["--engine", "warp"], "There is no engine 'warp'"),
    ],
)
def test_bad_options_are_one_sentence(project, options, sentence):
    result = run(project, *options)
    assert result.ret != 0
    assert sentence in result.stdout.str() + result.stderr.str()
    assert "Traceback" not in result.stdout.str() + result.stderr.str()


def test_a_run_that_cannot_be_trained_fails_its_claim_with_the_reason(project):
    change(project, "def measure(self):", "def measure(self):\n        1 / 0")
    result = run(project, "-k", "flatter")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*failed to train: ZeroDivisionError*"])
    assert "repro/judge" not in result.stdout.str()  # the way there is not the reader's


def test_a_run_that_diverges_leaves_its_claim_undecided(project):
    claims = project.path / "test_lines.py"
    claims.write_text(
        claims.read_text().replace(
            "trials(Line(target=4.0), Line(target=1.0))",
            "trials(Line(target=float(10**25)), Line(target=1.0))",
        )
    )
    result = run(project, "-k", "flatter")
    result.stdout.fnmatch_lines(["*INCONCLUSIVE*", "*diverged at step*"])


def test_a_store_in_the_project_is_not_searched_for_tests(project, monkeypatch):
    store = project.path / "store"
    run(project)
    project.makepyfile(**{"store/test_inside": "1 / 0"})
    result = run(project)
    result.assert_outcomes(passed=2, failed=1, skipped=1)
    monkeypatch.delenv("REPRO_STORE")
    assert trained(run(project, "--store", "store")) == (32, 0)
    run(project, str(store / "test_inside.py")).assert_outcomes(errors=1)  # where it is named


def test_the_runs_of_another_store_are_not_searched_for_tests(project):
    run(project)
    (folder, *_) = sorted((project.path / "store" / "runs").glob("*/*"))
    (folder / "test_inside.py").write_text("1 / 0")
    (project.path / "store" / "test_beside.py").write_text("def test_beside(): pass")
    result = run(project, "--store", "another", "--collect-only")
    assert "test_beside" in result.stdout.str()
    assert "test_inside" not in result.stdout.str()


def test_a_damaged_result_is_trained_again(project):
    run(project)
    (victim, *_) = sorted((project.path / "store" / "runs").rglob("result.json"))
    victim.write_bytes(victim.read_bytes()[:-9])
    healed = run(project)
    assert trained(healed) == (32, 1)
    healed.assert_outcomes(passed=2, failed=1, skipped=1)
    healed.stdout.fnmatch_lines(
        ["The stored run * does not match its SHA256SUMS; it was moved to *"]
    )


FIGURE = """
from repro.marks import figure

@figure("Slopes", source="900, Figure 1", x="target", y="slope")
def test_slopes(plot):
    lines = [Line(target=target) for target in (1.0, 4.0, 9.0)]
    plot.panel("all").line("line", lines, at=[1, 4, 9], documented=[1.0, 4.0, 9.0])
"""


def test_figures_are_drawn_from_the_store_where_a_report_is_asked_for(project):
    claims = project.path / "test_lines.py"
    claims.write_text(claims.read_text() + FIGURE)
    run(project).assert_outcomes(passed=2, failed=1, skipped=1, deselected=1)
    result = run(project, "-k", "slopes", "--report", "found")
    result.assert_outcomes(passed=1, deselected=4)
    (figure,) = json.loads((project.path / "found" / "results.json").read_text())["figures"]
    (line,) = figure["panels"][0]["lines"]
    assert [len(values) for values in line["values"]] == [8, 8, 0]  # nobody asked for the last
    assert (project.path / "found" / "slopes.svg").read_text().startswith("<?xml")
    assert (project.path / "found" / "slopes.png").read_bytes().startswith(b"\x89PNG")


def test_a_claim_that_skips_itself_has_nothing_to_plan(project):
    claims = project.path / "test_lines.py"
    claims.write_text(claims.read_text().replace("steep, flat", "pytest.skip('no'); steep, flat"))
    run(project).assert_outcomes(skipped=4)


def test_no_traceback_is_made_where_a_verdict_takes_its_place(project, monkeypatch):
    def made(*_):
        raise SystemError("a traceback was made")

    monkeypatch.setattr("_pytest.nodes.Node._repr_failure_py", made)
    result = run(project)
    result.assert_outcomes(passed=2, failed=1, skipped=1)
    result.stdout.fnmatch_lines(["*claimed (900, Text): flat targets give steeper lines"])


def test_an_error_in_a_claims_test_has_its_traceback(project):
    project.makepyfile(
        test_wrong="""
        from repro import claim
        from line import Line

        @claim("nothing", source="900")
        def test_wrong(trials):
            seeds = trials(Line()).slope > 0
            assert [][1]
        """
    )
    result = run(project, "test_wrong.py")
    result.stdout.fnmatch_lines([">*assert [[][]][[]1]", "E*IndexError: list index out of range"])
