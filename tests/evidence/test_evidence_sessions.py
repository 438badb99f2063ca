"""Sessions that judge from evidence without training, data or torch, and audits of it."""

import re

import pytest

from repro.evidence.file import EvidenceFile
from tests.evidence.packs import FILE, command, compressed, evidence, lines_of, packed
from tests.plugin.sessions import change, run, run_apart
from tests.plugin.sessions import trained as counts
from tests.without_torch import WITHOUT_TORCH

pytestmark = pytest.mark.thorough

VERDICTS = re.compile(r"^(?:REPRODUCED|REFUTED|INCONCLUSIVE|NOT RUN).*$", re.MULTILINE)


def without_store(project):
    (project.path / "store").rename(project.path / "away")


def test_the_same_verdicts_from_a_file_without_torch_and_nothing_is_trained(trained):
    before = run(trained)
    packed(trained)
    without_store(trained)
    trained.makeconftest(WITHOUT_TORCH)
    alone = run_apart(trained, "--evidence", FILE)
    alone.assert_outcomes(passed=2, skipped=1, xfailed=1)
    alone.stdout.fnmatch_lines(
        [
            f"judged from evidence, nothing was trained: * runs used of *{FILE} (*)",
            "trained at commit unknown* (* runs), on cpu *, torch * (* runs)",
            "48 of 48 runs were made by today's code",
        ]
    )
    together = run_apart(trained, "-n", "2", "--evidence", FILE)
    together.assert_outcomes(passed=2, skipped=1, xfailed=1)
    line = next(each for each in alone.outlines if each.startswith("judged from evidence"))
    assert line in together.outlines
    verdicts = [VERDICTS.findall(each.stdout.str()) for each in (before, alone, together)]
    assert verdicts[0] == verdicts[1] == verdicts[2] != []
    assert not (trained.path / "store").exists()


def test_the_profile_is_that_of_the_files(trained):
    run(trained, "--profile", "paper")
    packed(trained)
    packed(trained, "--profile", "paper", file="paper.jsonl.gz")
    without_store(trained)
    result = run(trained, "--evidence", "paper.jsonl.gz")
    result.stdout.fnmatch_lines(["judged from evidence, nothing was trained: *"])
    assert "needs --profile paper" not in result.stdout.str()
    other = run(trained, "--evidence", "paper.jsonl.gz", "--profile", "ci")
    other.stderr.fnmatch_lines(["*paper.jsonl.gz is of the profile paper; leave out --profile ci*"])
    both = run(trained, "--evidence", FILE, "paper.jsonl.gz")
    both.stderr.fnmatch_lines([f"*paper.jsonl.gz is of the profile paper and {FILE} of ci*"])


def test_a_session_trains_only_what_was_not_added(trained):
    path = packed(trained)
    first = path.read_bytes()
    runs = len(EvidenceFile.read(path).lines)  # those of the ledger's reference too
    needed, _ = counts(run(trained))
    without_store(trained)
    added = evidence("add", FILE)
    added.stdout.fnmatch_lines([f"*: {runs} runs added to *store, 0 were there already"])
    assert counts(run(trained)) == (needed, 0)
    again = evidence("add", FILE)
    again.stdout.fnmatch_lines([f"*: 0 runs added to *, {runs} were there already"])
    store = ["--store", str(trained.path / "store")]
    for number, arguments in enumerate(([], [".", *store], [*store, "."])):
        assert packed(trained, *arguments, file=f"{number}.jsonl.gz").read_bytes() == first


def test_the_table_of_runs_and_the_verdicts_are_the_same_from_the_store_and_from_files(trained):
    packed(trained)
    assert command("table", "--into", "stored.csv").ret == 0
    without_store(trained)
    assert command("table", "--evidence", FILE, "--into", "packed.csv").ret == 0
    stored, packed_ = ((trained.path / f"{x}.csv").read_text() for x in ("stored", "packed"))
    assert stored == packed_
    assert "900/steeper" in stored
    nothing = command("table")
    assert (nothing.ret, nothing.stdout.str()) == (1, "")
    nothing.stderr.fnmatch_lines(["The table is empty: none of these claims has a run*"])


def audit(*arguments):
    return evidence("audit", FILE, "--seed", "5", *arguments)


def forge(path):
    """Add to one result of a file; return its line."""
    lines = lines_of(path)
    forged = [line for line in lines if line["kind"] == "run"][7]
    forged["values"]["measures"]["slope"] += 0.15
    path.write_bytes(compressed(lines))
    return forged


def test_a_true_file_is_clean_and_a_forged_run_is_named(trained):
    path = packed(trained)
    names = re.compile(r"/29 .* s  (.*): the same bits")
    result, again = (audit("--runs", "29") for _ in range(2))
    assert (result.ret, again.ret) == (0, 0)
    result.stdout.fnmatch_lines(["29 of 80 runs were drawn by seed 5*", "  29 the same bits"])
    drawn = names.findall(result.stdout.str())
    assert len(drawn) == 29
    assert drawn == names.findall(again.stdout.str())
    some = audit("-k", "flatter", "--runs", "3")
    some.stdout.fnmatch_lines(["3 of 24 runs were drawn*", "nothing is said *: 56 are of no*"])
    seed = forge(path)["identity"]["seed"]
    result = audit("--runs", "1000")
    assert result.ret == 1
    wrong = f"  WRONG  line*, seed {seed}: its slope differs by * of the spread between seeds*"
    result.stdout.fnmatch_lines(["  79 the same bits, 1 another result", wrong])


def test_what_cannot_be_is_named_by_an_audit_that_did_not_draw_it_and_by_the_session(trained):
    """A result that the arm cannot have, and a seed with the numbers of another."""
    path = packed(trained)
    lines = lines_of(path)
    wrong, *others = (line for line in lines if line["kind"] == "run")
    wrong["values"]["measures"] = {"slope": [0.5]}
    one, again = (x for x in others[:2] if x["identity"]["arm"] == others[0]["identity"]["arm"])
    one["values"]["history"] = {"slope": [one["values"]["measures"]["slope"]]}
    again["values"] = one["values"]
    path.write_bytes(compressed(lines))
    result = audit("--runs", "1")
    assert result.ret == 1
    fault = f"*, is in {FILE} with a slope that is a list"
    repeats = f"{FILE} repeats itself: 1 runs have all numbers of another seed of their arm, *"
    result.stdout.fnmatch_lines([f"WRONG  line{fault}", repeats, "  1 the same bits"])
    judged = run(trained, "--evidence", FILE, "--report", "report")
    judged.stdout.fnmatch_lines([f"error  *{fault}", repeats])
    assert "repeats itself" in (trained.path / "report" / "index.html").read_text()


def test_where_nothing_can_be_trained_again_the_audit_fails(trained):
    packed(trained)
    change(trained, "gauss(0.4, 0.3)", "gauss(0.5, 0.3)")
    result = audit()
    assert result.ret == 1
    why = "80 were packed before a change of line.train"
    result.stderr.fnmatch_lines([f"No run of {FILE} can be trained again here: {why}."])
