"""Audits of files that are true, forged, or from elsewhere."""

import re

import pytest

from tests.evidence.packs import FILE, evidence, lines_of, packed, sealed
from tests.plugin.sessions import change, run


def audit(*arguments):
    return evidence("audit", FILE, "--seed", "5", *arguments)


def repacked(project, edit):
    """Pack the project's results and edit the lines of the runs; return those."""
    path = packed(project)
    lines = lines_of(path)
    runs = [line for line in lines if line["kind"] == "run"]
    edit(runs)
    path.write_bytes(sealed(lines))
    return runs


def test_a_true_file_is_clean_and_says_what_that_means(trained):
    packed(trained)
    result = audit("--runs", "29")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "*1/29 * s  line *, seed *: the same bits",
            "29 of 80 runs were drawn by seed 5, each with the same chance, and trained again:",
            "  29 the same bits",
            "so fewer than 7 of the 80 runs (8.8%) are wrong, with 95% confidence",
            "*finds wrong runs: *% if 5% are, *% if 10% are, 100% if 30% are",
        ]
    )
    again = audit("--runs", "29")
    names = re.compile(r"/29 .* s  (.*):")
    assert names.findall(again.stdout.str()) == names.findall(result.stdout.str())


def test_a_forged_result_is_named_and_fails(trained):
    def forge(runs):
        runs[7]["values"]["measures"]["slope"] += 0.15

    forged = repacked(trained, forge)[7]
    result = audit("--runs", "1000")
    assert result.ret == 1
    seed = forged["identity"]["seed"]
    result.stdout.fnmatch_lines(
        [
            "  79 the same bits, 1 another result",
            f"  WRONG  line*, seed {seed}: its slope differs by * of the spread between seeds*; the"
            " same kind of machine*",
        ]
    )


def test_the_libraries_of_a_study_are_among_its_versions(outside_project):
    study = outside_project.path / "line.py"
    study.write_text("import filelock\n" + study.read_text())
    run(outside_project, "--update-ledger")

    def forge(runs):
        runs[7]["values"]["measures"]["slope"] += 0.15

    made = repacked(outside_project, forge)[7]["provenance"]
    assert "filelock" in made["packages"]
    result = audit("--runs", "1000")
    result.stdout.fnmatch_lines(["  WRONG  line*; the same kind of machine*"])


@pytest.mark.parametrize(("spreads", "clean"), [(0.05, True), (0.5, False)])
def test_results_of_another_machine_may_differ_by_rounding(trained, spreads, clean):
    def elsewhere(runs):
        for each in runs:
            each["provenance"]["machine"] = "another chip"
            each["values"]["measures"]["slope"] += spreads * 0.3 * each["identity"]["arm"]["target"]

    repacked(trained, elsewhere)
    result = audit("--runs", "4")
    assert result.ret == (0 if clean else 1)
    if clean:
        says = ["  4 the same but for rounding", "4 runs of another kind of machine, or of other*"]
    else:
        says = ["  4 another result", "  WRONG  line *: its slope differs by * of the spread*"]
    result.stdout.fnmatch_lines(says)


def test_code_that_has_changed_since_leaves_nothing_to_audit(trained):
    packed(trained)
    change(trained, "gauss(0.4, 0.3)", "gauss(0.5, 0.3)")
    result = audit()
    assert result.ret == 1
    why = "80 were packed before a change of line.train"
    result.stderr.fnmatch_lines([f"No run of {FILE} can be trained again here: {why}."])


def test_runs_of_no_claim_are_left_out_and_said(trained):
    packed(trained)
    result = audit("-k", "flatter", "--runs", "3")
    result.stdout.fnmatch_lines(
        ["3 of 24 runs were drawn*", "nothing is said about the other runs: 56 are of no claim*"]
    )


def test_costly_runs_are_left_out_by_their_arm_and_not_by_what_the_file_says(project):
    run(project, "--update-ledger")
    packed(project)

    def slow(runs):
        runs[0]["provenance"]["seconds"] = 1e6  # in one run: the study's others say otherwise

    path = project.path / FILE
    lines = lines_of(path)
    slow([line for line in lines if line["kind"] == "run"])
    path.write_bytes(sealed(lines))
    result = audit("--runs", "2")
    result.stdout.fnmatch_lines(["2 of * runs were drawn by seed 5, each with the same chance*"])
    result.stdout.no_fnmatch_line("nothing is said*")


def test_a_run_that_cannot_be_trained_again_is_not_clean(trained):
    packed(trained)
    (trained.path / "conftest.py").write_text(
        "import random\n"
        "def fail(*numbers): raise OSError('no random numbers today')\n"
        "random.gauss = fail\n"
    )
    result = audit("--runs", "1")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["  1 could not be trained again", "  NOT TRAINED  line*no random numbers today"]
    )
