"""Sessions that judge from evidence: the same verdicts, without training, data or torch."""

import re

import pytest

from repro.evidence.file import EvidenceFile
from tests.evidence.packs import FILE, evidence, packed
from tests.plugin.sessions import change, run, run_apart
from tests.plugin.sessions import trained as counts

VERDICTS = re.compile(r"^(?:REPRODUCED|REFUTED|INCONCLUSIVE|NOT RUN).*$", re.MULTILINE)


def verdicts(result):
    return VERDICTS.findall(result.stdout.str())


def without_store(project):
    (project.path / "store").rename(project.path / "away")


def test_the_same_verdicts_from_a_file_and_nothing_is_trained(trained):
    before = run(trained)
    packed(trained)
    without_store(trained)
    result = run(trained, "--evidence", FILE)
    result.assert_outcomes(passed=2, skipped=1, xfailed=1)
    assert verdicts(result) == verdicts(before)
    result.stdout.fnmatch_lines(
        [
            f"judged from evidence, nothing was trained: * runs used of *{FILE} (*)",
            "trained at commit unknown* (* runs), on cpu *, torch * (* runs)",
            "code and data are the same as when these runs were trained",
        ]
    )
    assert not (trained.path / "store").exists()


def test_judging_needs_no_torch(trained):
    packed(trained)
    without_store(trained)
    trained.makeconftest(
        """
        import sys
        from importlib import metadata

        class NoTorch:
            def find_spec(self, name, path=None, target=None):
                if name.partition(".")[0] == "torch":
                    raise ImportError("there is no torch here")

        sys.meta_path.insert(0, NoTorch())
        version = metadata.version

        def without_torch(name):
            if name == "torch":
                raise metadata.PackageNotFoundError(name)
            return version(name)

        metadata.version = without_torch
        """
    )
    result = run_apart(trained, "--evidence", FILE)
    result.assert_outcomes(passed=2, skipped=1, xfailed=1)


@pytest.mark.thorough
def test_workers_share_a_file(trained):
    packed(trained)
    without_store(trained)
    alone = run_apart(trained, "--evidence", FILE)
    together = run_apart(trained, "-n", "2", "--evidence", FILE)
    together.assert_outcomes(passed=2, skipped=1, xfailed=1)
    line = next(each for each in alone.outlines if each.startswith("judged from evidence"))
    together.stdout.fnmatch_lines([line.replace("[", "[[]")])


def test_the_profile_is_that_of_the_files(trained):
    run(trained, "--profile", "paper")
    packed(trained, "--profile", "paper")
    without_store(trained)
    result = run(trained, "--evidence", FILE)
    result.stdout.fnmatch_lines(["judged from evidence, nothing was trained: *"])
    assert "needs --profile paper" not in result.stdout.str()
    other = run(trained, "--evidence", FILE, "--profile", "ci")
    other.stderr.fnmatch_lines([f"*{FILE} is of the profile paper; leave out --profile ci*"])


def test_files_of_two_profiles_are_judged_one_after_the_other(trained):
    run(trained, "--profile", "paper")
    packed(trained)
    packed(trained, "--profile", "paper", file="paper.jsonl.gz")
    result = run(trained, "--evidence", FILE, "paper.jsonl.gz")
    result.stderr.fnmatch_lines([f"*paper.jsonl.gz is of the profile paper and {FILE} of ci*"])


def test_a_claim_whose_runs_are_not_packed_is_not_run(trained):
    packed(trained, "-k", "steeper")
    result = run(trained, "--evidence", FILE)
    # arms of test_flatter are those of test_steeper
    result.assert_outcomes(passed=2, skipped=1, xfailed=1)
    trained.makepyfile(
        test_lines=(trained.path / "test_lines.py").read_text().replace("target=4.0", "target=5.5")
    )
    result = run(trained, "--evidence", FILE)
    result.assert_outcomes(passed=2, skipped=2)
    lacks = "*line target 5.5, seed 1, and 4 more runs are not in*"
    result.stdout.fnmatch_lines(["NOT RUN * 900/flatter*", lacks])


def test_a_definition_that_has_changed_since_is_named(trained):
    packed(trained)
    change(trained, "gauss(0.4, 0.3)", "gauss(0.5, 0.3)")
    result = run_apart(trained, "--evidence", FILE)
    result.assert_outcomes(passed=2, skipped=1, xfailed=1)
    result.stdout.fnmatch_lines(["code has changed since * runs were trained: line.train (* runs)"])
    result.stdout.no_fnmatch_line("code and data are the same*")


@pytest.mark.parametrize(
    "option", ["--plan", "--same-machine", "--update-ledger", "--engine=loop", "--executor=ray"]
)
def test_options_about_training_are_refused(trained, option):
    packed(trained)
    result = run(trained, "--evidence", FILE, option)
    result.stderr.fnmatch_lines(["*--evidence judges what is in the files and trains nothing*"])


def test_a_session_trains_only_what_was_not_added(trained):
    runs = len(EvidenceFile.read(packed(trained)).lines)  # those of the ledger's reference too
    needed, _ = counts(run(trained))
    without_store(trained)
    added = evidence("add", FILE)
    added.stdout.fnmatch_lines([f"*: {runs} runs added to *store, 0 were there already"])
    assert counts(run(trained)) == (needed, 0)
    again = evidence("add", FILE)
    again.stdout.fnmatch_lines([f"*: 0 runs added to *, {runs} were there already"])


def test_claims_may_stand_before_options_and_behind(trained):
    first = packed(trained, ".", "--store", str(trained.path / "store")).read_bytes()
    behind = packed(trained, "--store", str(trained.path / "store"), ".", file="2.jsonl.gz")
    assert behind.read_bytes() == first


def test_an_option_that_there_is_not_is_refused(trained, capsys):
    with pytest.raises(SystemExit):
        evidence("pack", FILE, "--nothing", "claims")
    with pytest.raises(SystemExit):
        evidence("add", FILE, "--device", "cpu", "more")


def test_the_same_results_give_the_same_bytes(trained):
    first = packed(trained).read_bytes()
    assert packed(trained, file="again.jsonl.gz").read_bytes() == first
    without_store(trained)
    evidence("add", FILE)
    assert packed(trained, file="added.jsonl.gz").read_bytes() == first
