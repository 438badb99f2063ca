"""Locks, whole writes, and errors in one sentence."""

import errno
import os
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from repro.files import beside, explained, holder, try_lock, wait_for_lock, write_beside


def test_two_holders_in_one_process_exclude_each_other(tmp_path):
    path = tmp_path / "lock"
    with wait_for_lock(path):
        assert try_lock(path) is None
        with pytest.raises(TimeoutError, match="lock is held"):
            wait_for_lock(path, timeout=0.02)
    assert not path.exists()
    with try_lock(path):
        assert path.exists()


def test_a_lock_says_who_holds_it(tmp_path):
    path = tmp_path / "lock"
    assert holder(path) == "another process"
    path.write_text("process 1 on a machine that has been off since, and has a long name")
    with wait_for_lock(path):
        assert holder(path) == f"process {os.getpid()} on {socket.gethostname()}"
    path.write_bytes(b"\xff")
    assert holder(path) == "another process"


def test_a_lock_is_taken_though_there_is_no_room_for_a_word(tmp_path, monkeypatch):
    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with wait_for_lock(tmp_path / "lock"):
        assert try_lock(tmp_path / "lock") is None
        assert holder(tmp_path / "lock") == "another process"


def test_a_folder_that_another_holder_removes_is_made_again(tmp_path):
    path = tmp_path / "folder" / "lock"

    def take_and_remove(_):
        for _ in range(50):
            with wait_for_lock(path):
                pass
            with suppress(OSError):
                path.parent.rmdir()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(take_and_remove, range(4)))
    with try_lock(path):
        pass


def test_a_write_that_fails_leaves_everything_as_it_was(tmp_path):
    path = tmp_path / "file"
    path.write_text("before")
    with pytest.raises(ZeroDivisionError), beside(path) as fresh:
        fresh.write_text(str(1 / 0))
    with pytest.raises(FileNotFoundError), beside(path):
        pass
    with pytest.raises(UnicodeEncodeError):
        write_beside(path, "half \ud800")
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_is_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "folder"

    def write(name, fails=False):
        with beside(path) as fresh:
            fresh.mkdir()
            (fresh / name).write_text(name)
            assert not fails

    for name in ("one", "other"):
        write(name)
    with pytest.raises(AssertionError):
        write("half", fails=True)
    assert [item.name for item in path.iterdir()] == ["other"]
    assert list(tmp_path.iterdir()) == [path]


def test_readers_see_whole_files_while_many_write_one(tmp_path):
    path = tmp_path / "file"
    contents = [letter * 100_000 for letter in "abcd"]
    path.write_text(contents[0])

    def write(content):
        for _ in range(30):
            write_beside(path, content)

    with ThreadPoolExecutor(4) as pool:
        writers = [pool.submit(write, content) for content in contents]
        while not all(writer.done() for writer in writers):
            assert path.read_text() in contents
    assert [writer.exception() for writer in writers] == [None] * 4
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_in_place_of_a_folder_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    sentence = rf"^It is closed \(Not a directory: {tmp_path}/file/x\); o\.$"
    with (
        pytest.raises(ValueError, match=sentence),
        explained(ValueError, full=("It is full", "make room"), refused=("It is closed", "o")),
    ):
        (tmp_path / "file" / "x").read_text()
