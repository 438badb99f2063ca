"""Branches that change ledgers, merged by git: what comes of it is what one session would write."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from repro.ledger import Ledger
from repro.ledger.entry import entries_in, text_of

pytestmark = pytest.mark.thorough

LEDGER = Path(__file__).parents[2] / "claims" / "ledger" / "test_depth_ladder.toml"
ENTRIES = sorted(Ledger.read(LEDGER).entries.values(), key=lambda entry: entry.place)


def updated(entry, value=0.25):
    """Return what another session may have found of a claim."""
    if entry.verdict == "reproduced":
        return replace(entry, verdict="inconclusive", measured=f"a - b = {value}", past=())
    past = [(value, 0.5, 20)] * (1 + len(entry.claim) % 3)
    return replace(entry, verdict="reproduced", measured=f"a - b = {value}", past=past)


@pytest.fixture
def merged(tmp_path):
    """Returns the text of a ledger that two branches changed, and whether git could merge them."""

    def git(*arguments):
        identity = ("-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false")
        return subprocess.run(["git", *identity, *arguments], cwd=tmp_path, capture_output=True)

    def commit(entries, *, on):
        git("checkout", "--quiet", "-b", on, "base")
        Ledger(tmp_path / "test_a.toml", []).accept(entries)
        git("add", "--all")
        git("commit", "--quiet", "--message", on)

    def merged(base, ours, theirs):
        git("init", "--quiet", "--initial-branch", "base")
        git("commit", "--quiet", "--allow-empty", "--message", "nothing")
        commit(base, on="first")
        git("branch", "--force", "base", "first")
        commit(theirs, on="theirs")
        commit(ours, on="ours")
        done = git("merge", "--quiet", "--no-edit", "theirs")
        return (tmp_path / "test_a.toml").read_bytes(), done.returncode == 0

    return merged


def test_neighbouring_entries_that_two_branches_change_are_merged(merged):
    """Ours changes every other entry of the ledger, and theirs all the others."""
    ours = [updated(x) if n % 2 else x for n, x in enumerate(ENTRIES)]
    theirs = [x if n % 2 else updated(x) for n, x in enumerate(ENTRIES)]
    assert merged(ENTRIES, ours, theirs) == (text_of(map(updated, ENTRIES)), True)


def test_claims_that_come_and_go_are_merged_with_changes_beside_them(merged):
    a = ENTRIES[:40]
    ours = [updated(a[0]), *a[1:20], *a[21:30], *a[31:]]  # a[10] is new, a[20] is gone
    theirs = [a[0], updated(a[1]), *a[2:10], *a[11:39]]  # a[30] is new, a[39] is gone
    both = [updated(a[0]), updated(a[1]), *a[2:20], *a[21:39]]
    assert merged(a[:10] + a[11:30] + a[31:], ours, theirs) == (text_of(both), True)


def test_a_conflict_has_the_lines_of_the_entry_that_both_changed_and_no_others(merged):
    place = 20
    ours = [*ENTRIES[:place], updated(ENTRIES[place], 0.25), *ENTRIES[place + 1 :]]
    theirs = [*ENTRIES[:place], updated(ENTRIES[place], 0.75), *ENTRIES[place + 1 :]]
    found, is_merged = merged(ENTRIES, ours, theirs)
    assert not is_merged
    before, _, rest = found.decode().partition("<<<<<<< ")
    inside, _, after = rest.rpartition(">>>>>>> ")
    after = after.partition("\n")[2]
    assert "[[claim]]" not in inside
    assert len(entries_in(text_of(ENTRIES[: place + 1]))) == before.count("[[claim]]")
    assert text_of(ours).decode().startswith(before)
    assert text_of(ours).decode().endswith(after)
