"""The notes of what is in training, and what ends a process without a word."""

import os
import threading

import pytest

from repro.runs.crashes import MOST, Crashes, exit_refused, program_name
from repro.store import Store

NAME, OTHER = f"{program_name('one')}.5e1f", f"{program_name('another')}.ab3d"


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path, report=pytest.fail)


def count(crashes, name=NAME):
    return crashes.counts({name: "d256, seed 1"})[name]


def crashed(store, session="one", name=NAME):
    """What a process leaves that ends in training."""
    crashes = Crashes(store, session=session)
    before = count(crashes, name)
    crashes.start([name])
    return before


def test_the_crashes_of_a_session_are_counted(store):
    assert [crashed(store) for _ in range(3)] == [0, 1, 2]
    assert [count(Crashes(store, session="one")) for _ in range(2)] == [3, 3]  # none was begun
    assert count(Crashes(store, session="one"), OTHER) == 0


def test_an_orderly_end_leaves_nothing(store):
    for end in (lambda crashes: crashes.end([NAME]), lambda crashes: crashes.end_all()):
        crashes = Crashes(store, session="one")
        count(crashes)
        crashes.start([NAME])
        assert [path.name for path in (store.root / "in-training").iterdir()] == [NAME]
        end(crashes)
        assert list((store.root / "in-training").iterdir()) == []


def test_another_session_says_so_once_and_starts_at_zero(tmp_path):
    reports = []
    store = Store(tmp_path, report=reports.append)
    both = {NAME: "d256, seed 1", OTHER: "d256, seed 2"}
    killed = Crashes(store, session="one")
    killed.counts(both)
    killed.start(both)
    assert Crashes(store, session="two").counts(both) == {NAME: 0, OTHER: 0}
    (line,) = reports
    assert f"session's process {os.getpid()} on " in line
    assert "ended while it trained d256, seed 1 and 1 more" in line
    assert Crashes(store, session="three").counts(both) == {NAME: 0, OTHER: 0}
    assert len(reports) == 1


def test_what_is_given_up_stays_so_in_the_session_and_counts_for_its_program(store):
    crashed(store)
    crashed(store)
    giving = Crashes(store, session="one")
    assert count(giving) == MOST
    assert giving.given_up(program_name("one")) == 0
    giving.give_up(NAME)
    giving.end_all()
    other = Crashes(store, session="one")
    assert count(other) >= MOST
    assert other.given_up(program_name("one")) == 1
    assert other.given_up(program_name("another")) == 0
    assert Crashes(store, session="two").given_up(program_name("one")) == 0


def test_a_torn_note_is_none(store):
    crashed(store)
    for content in (b"", b"[]", b"{}", b'{"session": "one"}', b"\xff", b"null"):
        (store.root / "in-training" / NAME).write_bytes(content)
        assert count(Crashes(store, session="one")) == 0, content


def test_exit_is_refused_in_training_and_nowhere_else():
    before = os._exit
    with pytest.raises(RuntimeError, match=r"called os\._exit\(0\), which would"), exit_refused():
        os._exit(0)
    assert os._exit is before


def code_of_a_child(act):
    """The code that a forked process exits with; 1 where it goes on after what it is to do."""
    really_exit = os._exit
    if (child := os.fork()) == 0:
        act()
        really_exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def exit_in_a_thread():
    with exit_refused():
        thread = threading.Thread(target=lambda: os._exit(9))
        thread.start()
        thread.join()


def test_a_forked_child_may_exit_and_so_may_another_thread():
    with exit_refused():
        assert code_of_a_child(lambda: os._exit(7)) == 7
    assert code_of_a_child(exit_in_a_thread) == 9
