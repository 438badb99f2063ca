"""Branches that change ledgers, merged by git: what comes of it is what one session would write."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from repro.ledger import Ledger
from repro.ledger.entry import entries_in, text_of

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).parents[2]
ENTRIES = sorted(
    Ledger.read(ROOT / "claims" / "ledger" / "test_depth_ladder.toml").entries.values(),
    key=lambda entry: entry.place,
)
OTHERS = sorted(
    Ledger.read(ROOT / "claims" / "ledger" / "test_context_vector.toml").entries.values(),
    key=lambda entry: entry.place,
)


def updated(entry, value=0.25):
    """Return what another session may have found of a claim."""
    if entry.verdict == "reproduced":
        return replace(entry, verdict="inconclusive", measured=f"a - b = {value}", past=())
    past = [(value, 0.5, 20)] * (1 + len(entry.claim) % 3)
    return replace(entry, verdict="reproduced", measured=f"a - b = {value}", past=past)


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path)


class Repository:
    """A repository of ledgers, of which each state is a mapping of file names to entries."""

    def __init__(self, folder):
        self.folder = folder
        self.git("init", "--quiet", "--initial-branch", "main")

    def git(self, *arguments):
        identity = ("-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false")
        return subprocess.run(
            ["git", *identity, *arguments], cwd=self.folder, capture_output=True, text=True
        )

    def commit(self, state, *, on):
        self.git("checkout", "--quiet", "-b", on, "main")
        for path in self.folder.glob("*.toml"):
            path.unlink()
        for name, entries in state.items():
            Ledger(self.folder / name, []).accept(entries)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", on)

    def merged(self, base, ours, theirs):
        """Merge two branches that left one state; return whether git could, and the texts."""
        self.git("commit", "--quiet", "--allow-empty", "--message", "nothing")
        self.commit(base, on="base")
        self.git("branch", "--force", "main", "base")
        self.commit(theirs, on="theirs")
        self.commit(ours, on="ours")
        done = self.git("merge", "--quiet", "--no-edit", "theirs")
        return done.returncode == 0, {
            path.name: path.read_bytes() for path in self.folder.glob("*.toml")
        }


def texts(state):
    return {name: text_of(entries) for name, entries in state.items()}


def whole(*states):
    """States of one file, `test_a.toml`."""
    return [{"test_a.toml": entries} for entries in states]


def test_neighbouring_entries_that_two_branches_change_are_merged(repository):
    """Ours changes every other entry of the ledger, and theirs all the others."""
    ours = [updated(x) if n % 2 else x for n, x in enumerate(ENTRIES)]
    theirs = [x if n % 2 else updated(x) for n, x in enumerate(ENTRIES)]
    is_merged, found = repository.merged(*whole(ENTRIES, ours, theirs))
    assert is_merged
    assert found == texts({"test_a.toml": [updated(entry) for entry in ENTRIES]})


def test_claims_that_come_and_go_are_merged_with_changes_beside_them(repository):
    """Each branch changes, adds and removes claims of one file, and adds a file of its own."""
    a, b = ENTRIES[:40], OTHERS[:20]
    base = {"test_a.toml": a[:10] + a[11:30] + a[31:], "test_b.toml": b}
    ours = {
        "test_a.toml": [updated(a[0]), *a[1:20], *a[21:30], *a[31:]],  # a[10] new, a[20] gone
        "test_b.toml": [updated(b[0]), *b[1:]],
        "test_ours.toml": ENTRIES[40:45],
    }
    theirs = {
        "test_a.toml": [a[0], updated(a[1]), *a[2:10], *a[11:39]],  # a[30] new, a[39] gone
        "test_b.toml": [b[0], updated(b[1]), *b[2:]],
        "test_theirs.toml": ENTRIES[45:50],
    }
    is_merged, found = repository.merged(base, ours, theirs)
    assert is_merged
    assert found == texts(
        {
            "test_a.toml": [updated(a[0]), updated(a[1]), *a[2:20], *a[21:39]],
            "test_b.toml": [updated(b[0]), updated(b[1]), *b[2:]],
            "test_ours.toml": ENTRIES[40:45],
            "test_theirs.toml": ENTRIES[45:50],
        }
    )


def test_a_conflict_has_the_lines_of_the_entry_that_both_changed_and_no_others(repository):
    place = 20
    ours = [*ENTRIES[:place], updated(ENTRIES[place], 0.25), *ENTRIES[place + 1 :]]
    theirs = [*ENTRIES[:place], updated(ENTRIES[place], 0.75), *ENTRIES[place + 1 :]]
    is_merged, found = repository.merged(*whole(ENTRIES, ours, theirs))
    assert not is_merged
    text = found["test_a.toml"].decode()
    before, _, rest = text.partition("<<<<<<< ")
    inside, _, after = rest.rpartition(">>>>>>> ")
    after = after.partition("\n")[2]
    assert "[[claim]]" not in inside
    assert len(entries_in(text_of(ENTRIES[: place + 1]))) == before.count("[[claim]]")
    assert text_of(ours).decode().startswith(before)
    assert text_of(ours).decode().endswith(after)
