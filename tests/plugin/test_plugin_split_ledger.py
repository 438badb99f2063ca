"""Sessions whose ledger is split: each file of claims has one of its own."""

import os
import shutil

import pytest

from repro.ledger import Ledger
from tests.plugin.sessions import run, run_apart

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
def split(project):
    """Two files of claims."""
    project.makepyfile(test_more=MORE)
    return project


def ledger(project, name):
    return project.path / "ledger" / f"test_{name}.toml"


def claims_in(path):
    return sorted(entry.claim for entry in Ledger.read(path).entries.values())


def age(project):
    """Date all ledgers back, so that those that are written can be told."""
    for path in (project.path / "ledger").iterdir():
        os.utime(path, (1, 1))


def written(project):
    return sorted(x.name for x in (project.path / "ledger").iterdir() if x.stat().st_mtime > 1)


def test_each_file_of_claims_gets_a_ledger_and_the_gate_holds_both(split):
    run(split, "--update-ledger").assert_outcomes(passed=3, xfailed=2, skipped=1)
    assert claims_in(ledger(split, "lines")) == [
        "900/flatter",
        "900/steeper[1.0]",
        "900/steeper[2.0]",
    ]
    assert claims_in(ledger(split, "more")) == ["901/falls", "901/rises"]
    run(split).assert_outcomes(passed=3, xfailed=2, skipped=1)
    path = ledger(split, "more")
    path.write_text(path.read_text().replace('"refuted"', '"reproduced"'))
    worse = run(split)
    worse.assert_outcomes(passed=3, xfailed=1, failed=1, skipped=1)
    worse.stdout.fnmatch_lines(["*901/falls*worse (was reproduced)*"])


def whole(project):
    """Put all entries of a project into one file, as earlier versions wrote them."""
    entries = [
        each for x in ("lines", "more") for each in Ledger.read(ledger(project, x)).entries.values()
    ]
    shutil.rmtree(project.path / "ledger")
    Ledger(project.path / "ledger.toml", entries).accept([])
    return project.path / "ledger.toml"


def test_an_older_ledger_of_one_file_gates_and_is_left_by_an_update(split):
    run(split, "--update-ledger")
    before = {name: ledger(split, name).read_bytes() for name in ("lines", "more")}
    older = whole(split)
    run(split).assert_outcomes(passed=3, xfailed=2, skipped=1)
    assert older.exists()
    run(split, "test_more.py", "--update-ledger")
    assert claims_in(older) == ["900/flatter", "900/steeper[1.0]", "900/steeper[2.0]"]
    run(split, "--update-ledger")
    assert not older.exists()
    assert {name: ledger(split, name).read_bytes() for name in ("lines", "more")} == before


def test_an_update_writes_the_ledgers_that_change_and_no_others(split):
    run(split, "--update-ledger")
    age(split)
    run(split, "--update-ledger")
    assert written(split) == []
    claims = split.path / "test_more.py"
    claims.write_text(claims.read_text().replace("lines rise", "all lines rise"))
    run(split, "--update-ledger")
    assert written(split) == ["test_more.toml"]


@pytest.mark.thorough
def test_workers_gate_by_split_ledgers_too(split):
    run_apart(split, "-n", "2", "--update-ledger").assert_outcomes(passed=3, xfailed=2, skipped=1)
    assert sorted(x.name for x in (split.path / "ledger").iterdir()) == [
        "test_lines.toml",
        "test_more.toml",
    ]
    run_apart(split, "-n", "2").assert_outcomes(passed=3, xfailed=2, skipped=1)


def test_a_claim_in_two_ledgers_is_refused_before_anything_starts(split):
    run(split, "--update-ledger")
    entries = Ledger.read(ledger(split, "more")).entries.values()
    for other in (ledger(split, "lines"), split.path / "ledger.toml"):
        before = other.read_bytes() if other.exists() else b""
        Ledger.read(other).accept(entries)
        result = run(split)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines([f"*{other.name} and *test_more.toml both have 901/falls: *"])
        other.write_bytes(before)


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
        "*The ledger *test_more.toml has 901/rises, whose claim is in test_most.py: move it into *"
    )
    result.stdout.fnmatch_lines([said])
    assert "without a claim" not in result.stdout.str()
    assert ledger(split, "more").read_bytes() == before


def test_a_bad_ledger_of_another_file_costs_a_session_of_one_file_nothing(split):
    run(split, "--update-ledger")
    ledger(split, "lines").write_text("<<<<<<< HEAD\n")
    run(split, "test_more.py").assert_outcomes(passed=1, xfailed=1)
    result = run(split)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*test_lines.toml cannot be read*"])


def test_a_ledger_that_goes_bad_while_claims_train_costs_its_file_alone(split):
    run(split, "--update-ledger")
    (split.path / "conftest.py").write_text(
        "from pathlib import Path\n\ndef pytest_sessionstart(session):\n"
        "    Path(__file__).parent.joinpath('ledger', 'test_lines.toml').write_text('<<<<')\n"
    )
    result = run(split)
    result.assert_outcomes(passed=1, xfailed=1, errors=4)
    result.stdout.fnmatch_lines(["*test_lines.toml cannot be read*"])


def test_entries_without_a_claim_fail_the_gate_and_go_with_their_ledger(split):
    run(split, "--update-ledger")
    (split.path / "test_more.py").unlink()
    result = run(split)
    assert result.ret == 1
    line = "*test_more.toml has entries without a claim: 901/falls, 901/rises. If they *"
    result.stdout.fnmatch_lines([line])
    result = run(split, "--update-ledger")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*test_more.toml: entries without a claim were removed: *"])
    assert not ledger(split, "more").exists()
    assert run(split).ret == 0
