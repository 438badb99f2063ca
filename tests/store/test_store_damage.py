import hashlib
import json
import os
import shutil
from dataclasses import asdict

import pytest

from repro.store import Store
from repro.store.run_files import _CONTENT, _SUMS, UNKNOWN, Damaged, decoded, key_of

IDENTITY = {"seed": 7}
VALUES = {"loss": 0.5}
PROVENANCE = {"host": "here"}
KEY = key_of(IDENTITY, UNKNOWN)
FILES = (*_CONTENT, _SUMS)


@pytest.fixture
def folder(store):
    """An entry to damage."""
    store.put(IDENTITY, VALUES, PROVENANCE)
    return store.root / "runs" / KEY[:2] / KEY


@pytest.fixture
def is_noticed_and_healed(store, reports, folder):
    def check():
        reports.clear()
        assert store.get(IDENTITY) is None
        (line,) = reports
        assert "\n" not in line
        assert KEY in line
        assert "damaged/" in line
        assert not folder.exists()
        store.put(IDENTITY, VALUES, PROVENANCE)
        result = store.get(IDENTITY)
        assert result.values == VALUES
        assert len(reports) == 1
        # Or each of hundreds would look for the next free number.
        shutil.rmtree(store.root / "damaged")

    return check


def test_any_flipped_byte_and_any_length_is_damage(folder):
    whole = {name: (folder / name).read_bytes() for name in FILES}
    assert decoded(whole, KEY).values == VALUES
    passed = []
    for name, content in whole.items():
        flipped = [
            # one bit, which also makes hexadecimal letters capitals
            content[:at] + bytes([content[at] ^ 0x20]) + content[at + 1 :]
            for at in range(len(content))
        ]
        cut = [content[:length] for length in range(len(content))]
        longer = [content + more for more in (b"\n", b"\0", content)]
        for broken in (*flipped, *cut, *longer):
            try:
                decoded({**whole, name: broken}, KEY)
            except Damaged:
                continue
            passed.append((name, broken))
    assert passed == []


def test_each_file_that_is_not_as_it_was_is_healed(folder, is_noticed_and_healed, tmp_path):
    same = tmp_path / "same content"
    for name in FILES:
        path = folder / name
        same.write_bytes(path.read_bytes())
        changes = [
            lambda path=path: path.write_bytes(same.read_bytes()[:-1] + b"?"),
            lambda path=path: path.unlink(),
            lambda path=path: (path.unlink(), path.mkdir()),
            lambda path=path: (path.unlink(), path.symlink_to(same)),
            lambda path=path: (path.unlink(), os.mkfifo(path)),  # to open it would block
        ]
        for change in changes:
            change()
            is_noticed_and_healed()


def test_something_else_in_place_of_the_entry(folder, is_noticed_and_healed, tmp_path):
    shutil.copytree(folder, tmp_path / "copy")

    changes = (
        folder.mkdir,
        lambda: folder.write_text(""),
        lambda: folder.symlink_to(tmp_path / "copy"),
    )
    for change in changes:
        shutil.rmtree(folder)
        change()
        is_noticed_and_healed()
    assert (tmp_path / "copy" / "result.json").exists()


def test_what_the_checksums_do_not_name_is_not_read(folder, store):
    (folder / "more").symlink_to("result.json")
    (folder / ".DS_Store").write_text("")
    assert store.get(IDENTITY) is not None


def rewrite(folder, name, content):
    """Change a file and its checksum."""
    (folder / name).write_bytes(content)
    sums = [
        f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in _CONTENT
    ]
    (folder / "SHA256SUMS").write_text("".join(sums))


def head_of(identity, **made):
    return json.dumps({"format": 2, "identity": identity, **asdict(UNKNOWN), **made}).encode()


STRANGE = [
    ("identity.json", b'{"format": 3, "identity": {"seed": 7}}', "has format 3 where this"),
    ("identity.json", head_of({"seed": 8}), "identity of another run"),
    ("identity.json", head_of({"seed": 7.0}), "identity of another run"),
    ("identity.json", head_of(IDENTITY, settings={"lr": 1}), "identity of another run"),
    ("identity.json", b'{"seed": 7}', "is not written as this version writes"),
    ("identity.json", b"[]", "is not written as this version writes"),
    ("result.json", b"{", "is not written as this version writes"),
    ("result.json", b'"\xff"', "is not written as this version writes"),
]


def test_content_that_is_not_ours_though_its_checksums_are_right(
    folder, store, is_noticed_and_healed, reports
):
    rewrite(folder, "result.json", json.dumps(VALUES).encode())  # as ours: the checksums are right
    assert store.get(IDENTITY) is not None
    for name, content, reason in STRANGE:
        rewrite(folder, name, content)
        is_noticed_and_healed()
        assert reason in reports[0]


def test_everything_damaged_is_kept_aside(folder, store):
    for broken in ("one", "two", "three"):
        (folder / "result.json").write_text(broken)
        assert store.get(IDENTITY) is None
        store.put(IDENTITY, VALUES, PROVENANCE)
    aside = [store.root / "damaged" / f"{KEY}-{n}".replace("/", "-") for n in (1, 2, 3)]
    assert [(path / "result.json").read_text() for path in aside] == ["one", "two", "three"]


def test_a_fresh_good_entry_is_never_moved_aside(folder, store, reports, monkeypatch):
    (folder / "result.json").write_text("{}")
    slow = Store(store.root, report=reports.append)
    take = slow.locks.lock

    def after_another_healed_it(name):
        monkeypatch.undo()
        assert store.get(IDENTITY) is None
        store.put(IDENTITY, VALUES, PROVENANCE)
        return take(name)

    # `slow` has read the damage and is about to move it aside when the others overtake it.
    monkeypatch.setattr(slow.locks, "lock", after_another_healed_it)
    result = slow.get(IDENTITY)
    assert result.values == VALUES
    assert len(reports) == 1
    assert len(list((store.root / "damaged").iterdir())) == 1
