"""The command `ledger`: one ledger a folder becomes one a file of claims, and back."""

import pytest

from repro.ledger import Ledger
from tests.evidence.packs import command
from tests.plugin.sessions import run
from tests.plugin.test_plugin_split_ledger import MORE, ledger


@pytest.fixture
def accepted(project):
    """Claims in two files, and in one of a nested folder, with the ledgers of a first session."""
    project.makepyfile(test_more=MORE, conftest="")  # so that nested files find the study
    nested = project.path / "nested"
    nested.mkdir()
    (nested / "test_nested.py").write_text(MORE.replace("901", "902"))
    run(project, "--update-ledger")
    return project


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


def test_every_entry_is_moved_as_it_is(accepted):
    before = Ledger.read(accepted.path / "ledger.toml").entries
    command("ledger", "split")
    parts = [Ledger.read(ledger(accepted, name)).entries for name in ("lines", "more")]
    assert parts[0] | parts[1] == before
    run(accepted).assert_outcomes(passed=4, xfailed=3, skipped=1)


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


@pytest.mark.parametrize("how", SENTENCES)
def test_where_one_ledger_is_wrong_none_is_split(accepted, how):
    spoil(accepted, how)
    before = tree(accepted)
    done = command("ledger", "split", ".")
    assert done.ret == 1
    done.stderr.fnmatch_lines([SENTENCES[how]])
    assert how == OF_PYTEST or len(done.stderr.lines) == 1
    assert tree(accepted) == before


@pytest.mark.parametrize("action", ["split", "join"])
def test_without_a_ledger_there_is_nothing_to_do(project, action):
    done = command("ledger", action)
    assert done.ret == 1
    done.stderr.fnmatch_lines(["There is no ledger in .; pytest --update-ledger writes one."])
