"""Sessions and their ledgers: one a file of claims, entries without a claim, split and join."""

import shutil

import pytest

from repro.ledger import Ledger
from tests.evidence.packs import command
from tests.plugin.sessions import run

pytestmark = pytest.mark.thorough

MORE = """
from repro import claim
from line import Line

@claim("lines rise", source="901, Text")
def test_rises(trials):
    assert trials(Line(target=5.0)).slope > 0

@claim("lines fall", source="901, Text")
def test_falls(trials):
    assert trials(Line(target=5.0)).slope < 0
"""


@pytest.fixture
def split(outside_project):
    """Two files of claims, and an empty folder for their ledgers."""
    outside_project.makepyfile(test_more=MORE)
    (outside_project.path / "ledger").mkdir()
    return outside_project


def ledger(project, name):
    return project.path / "ledger" / f"test_{name}.toml"


def claims_in(path):
    return sorted(entry.claim for entry in Ledger.read(path).entries.values())


def test_each_file_of_claims_gets_a_ledger_and_the_gate_holds_both(split):
    run(split, "--update-ledger").assert_outcomes(passed=3, xfailed=2, skipped=1)
    assert claims_in(ledger(split, "lines")) == [
        "900/flatter",
        "900/steeper[1.0]",
        "900/steeper[2.0]",
    ]
    assert claims_in(ledger(split, "more")) == ["901/falls", "901/rises"]
    assert not (split.path / "ledger.toml").exists()
    run(split).assert_outcomes(passed=3, xfailed=2, skipped=1)
    path = ledger(split, "more")
    path.write_text(path.read_text().replace('"refuted"', '"reproduced"'))
    worse = run(split)
    worse.assert_outcomes(passed=3, xfailed=1, failed=1, skipped=1)
    worse.stdout.fnmatch_lines(["*901/falls*worse (was reproduced)*"])


def test_a_file_and_a_folder_of_ledgers_are_refused_before_anything_starts(split):
    run(split, "--update-ledger", "--reference-seeds", "0")
    (split.path / "ledger.toml").write_bytes(ledger(split, "more").read_bytes())
    result = run(split, "test_more.py")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*There are both *ledger.toml and the folder *ledger: keep *"])


def test_a_claim_in_two_ledgers_is_refused_before_anything_starts(split):
    run(split, "--update-ledger", "--reference-seeds", "0")
    entries = Ledger.read(ledger(split, "more")).entries.values()
    Ledger.read(ledger(split, "lines")).accept(entries)
    result = run(split)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*test_lines.toml and *test_more.toml both have 901/falls: *"])


def moved(project):
    """Accept all verdicts, and move the claims of a file to another one."""
    run(project, "--update-ledger")
    (project.path / "test_more.py").rename(project.path / "test_most.py")


@pytest.mark.parametrize("options", [(), ("--update-ledger",)])
def test_a_claim_whose_entry_lies_in_the_ledger_of_another_file_fails_alone(split, options):
    moved(split)
    before = ledger(split, "more").read_bytes()
    result = run(split, *options)
    result.assert_outcomes(passed=2, xfailed=1, skipped=1, errors=2)
    assert result.ret == 1
    said = (
        "*The ledger *test_more.toml has 901/rises, whose claim is in test_most.py: let python -m*"
    )
    result.stdout.fnmatch_lines([said])
    assert "without a claim" not in result.stdout.str()
    assert ledger(split, "more").read_bytes() == before


def test_a_bad_ledger_of_another_file_costs_a_session_of_one_file_nothing(split):
    run(split, "--update-ledger", "--reference-seeds", "0")
    ledger(split, "lines").write_text("<<<<<<< HEAD\n")
    run(split, "test_more.py").assert_outcomes(passed=1, xfailed=1)
    result = run(split)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*test_lines.toml cannot be read*"])


def test_a_ledger_that_goes_bad_while_claims_train_costs_its_file_alone(split):
    run(split, "--update-ledger", "--reference-seeds", "0")
    (split.path / "conftest.py").write_text(
        "from pathlib import Path\n\ndef pytest_sessionstart(session):\n"
        "    Path(__file__).parent.joinpath('ledger', 'test_lines.toml').write_text('<<<<')\n"
    )
    result = run(split)
    result.assert_outcomes(passed=1, xfailed=1, errors=4)
    result.stdout.fnmatch_lines(["*test_lines.toml cannot be read*"])


def test_entries_without_a_claim_fail_the_gate_and_go_with_their_ledger(split):
    run(split, "--update-ledger", "--reference-seeds", "0")
    (split.path / "test_more.py").unlink()
    result = run(split)
    assert result.ret == 1
    line = "*test_more.toml has entries without a claim: 901/falls, 901/rises. If they *"
    result.stdout.fnmatch_lines([line])
    result = run(split, "--update-ledger", "--reference-seeds", "0")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*test_more.toml: entries without a claim were removed: *"])
    assert not ledger(split, "more").exists()
    assert run(split).ret == 0


def renamed(project):
    """Accept all verdicts, and rename a claim that was reproduced."""
    run(project, "--update-ledger", "--reference-seeds", "0")
    path = project.path / "test_lines.py"
    path.write_text(path.read_text().replace("test_steeper", "test_more_steep"))


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_renamed_claim_fails_the_gate_and_goes_with_an_update(split, workers):
    renamed(split)
    result = run(split, *workers)
    assert result.ret == 1
    line = "*test_lines.toml has entries without a claim: 900/steeper[[]1.0], 900/steeper[[]2.0]. *"
    result.stdout.fnmatch_lines([line])
    result = run(split, "--update-ledger", "--reference-seeds", "0")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*entries without a claim were removed: 900/steeper*"])
    assert claims_in(ledger(split, "lines"))[0] == "900/flatter"
    assert "900/steeper[1.0]" not in claims_in(ledger(split, "lines"))


def test_claims_that_are_not_selected_are_there(split):
    renamed(split)
    for selected in (["test_lines.py"], ["test_lines.py::test_flatter"]):
        result = run(split, *selected)  # a file is not all claims of its folder
        assert "without a claim" not in result.stdout.str(), selected
    shown = run(split, "-k", "flatter").stdout.str()
    assert "without a claim: 900/steeper" in shown
    assert "901/" not in shown.partition("without a claim")[2]  # deselected, and there


@pytest.fixture
def accepted(outside_project):
    """Claims in two files, and in one of a nested folder, with the ledgers of a first session."""
    outside_project.makepyfile(test_more=MORE, conftest="")  # so that nested files find the study
    nested = outside_project.path / "nested"
    nested.mkdir()
    (nested / "test_nested.py").write_text(MORE.replace("901", "902"))
    run(outside_project, "--update-ledger", "--reference-seeds", "0")
    return outside_project


def tree(project):
    """Return what the ledgers of a project are, by their paths."""
    return {
        str(path.relative_to(project.path)): path.read_bytes()
        for path in sorted(project.path.rglob("*.toml"))
    }


def test_ledgers_are_split_and_joined_again_to_the_same_bytes(accepted):
    before = tree(accepted)
    assert list(before) == ["ledger.toml", "nested/ledger.toml"]
    done = command("ledger", "split", ".")
    assert done.ret == 0
    done.stdout.fnmatch_lines(
        ["ledger: 5 of 5 entries were moved here", "nested/ledger: 2 of 2 entries were moved here"]
    )
    after = tree(accepted)
    assert list(after) == [
        "ledger/test_lines.toml",
        "ledger/test_more.toml",
        "nested/ledger/test_nested.toml",
    ]
    assert not (accepted.path / ".repro").exists()
    again = command("ledger", "split", ".")
    again.stdout.fnmatch_lines(
        ["ledger: all 5 entries are in their places", "nested/ledger: all *"]
    )
    assert again.ret == 0
    assert tree(accepted) == after
    joined = command("ledger", "join")
    assert joined.ret == 0
    joined.stdout.fnmatch_lines(["ledger.toml: 5 of 5 entries were moved here", "nested/*"])
    assert tree(accepted) == before
    assert not (accepted.path / "ledger").exists()
    command("ledger", "join").stdout.fnmatch_lines(["ledger.toml: all 5 entries are *"])
    assert tree(accepted) == before


def test_claims_that_moved_to_another_file_take_their_entries_along(accepted):
    command("ledger", "split")
    (accepted.path / "test_more.py").rename(accepted.path / "test_most.py")
    run(accepted).assert_outcomes(passed=3, xfailed=2, skipped=1, errors=2)
    done = command("ledger", "split")
    assert done.ret == 0
    done.stdout.fnmatch_lines(["ledger: 2 of 5 entries were moved here", "nested/ledger: all 2 *"])
    assert not ledger(accepted, "more").exists()
    run(accepted).assert_outcomes(passed=4, xfailed=3, skipped=1)


def test_claims_that_settings_leave_out_keep_their_entries(accepted):
    (accepted.path / "pytest.ini").write_text("[pytest]\naddopts = -k rises -n 2\n")
    assert command("ledger", "split").ret == 0
    assert len(Ledger.read(ledger(accepted, "lines")).entries) == 3


def spoil(project, how):
    whole = project.path / "nested" / "ledger.toml"
    if how == "a merge marker":
        whole.write_text(f"<<<<<<< HEAD\n{whole.read_text()}")
    elif how == "no claim":
        (project.path / "nested" / "test_nested.py").write_text(MORE.replace("_rises", "_climbs"))
    elif how == "both forms":
        (project.path / "nested" / "ledger").mkdir()
        (project.path / "nested" / "ledger" / "test_nested.toml").write_bytes(whole.read_bytes())
    elif how == "a folder of that name":
        (project.path / "nested" / "ledger").mkdir()
        (project.path / "nested" / "ledger" / "books.csv").touch()
    else:
        (project.path / "nested" / "test_nested.py").write_text("import nothing_of_that_name\n")


OF_PYTEST = "a test that cannot be imported"
SENTENCES = {
    "a merge marker": "The ledger nested/ledger.toml cannot be read (*); restore it *",
    "no claim": "The ledger of nested has entries without a claim: 902/falls, 902/rises. If *",
    "both forms": "There are both nested/ledger.toml and the folder nested/ledger: keep *",
    "a folder of that name": "nested/ledger is there already, and is no folder of ledgers: *",
    OF_PYTEST: "The claims cannot be collected: nested/test_nested.py*",
}


def test_where_one_ledger_is_wrong_none_is_split(accepted):
    for how, sentence in SENTENCES.items():
        kept = accepted.path.parent / f"kept {how}"
        shutil.copytree(accepted.path, kept)
        spoil(accepted, how)
        before = tree(accepted)
        done = command("ledger", "split", ".")
        assert done.ret == 1, how
        done.stderr.fnmatch_lines([sentence])
        assert how == OF_PYTEST or len(done.stderr.lines) == 1, how
        assert tree(accepted) == before, how
        shutil.copytree(kept / "nested", accepted.path / "nested", dirs_exist_ok=True)
        shutil.rmtree(accepted.path / "nested" / "ledger", ignore_errors=True)
