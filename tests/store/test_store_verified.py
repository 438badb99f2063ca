"""What a store remembers beside its runs spares work, and never says what the files do not."""

import json
import multiprocessing
import os
import sqlite3

import pytest

from repro.store import Store, entry, keep_simulated, read_simulated, run_key, simulated, verified
from repro.store.verified import NAME

IDENTITY = {"seed": 7, "arm": {"lr": 0.1}}
KEY = run_key(IDENTITY)
VALUES = {"loss": 0.1 + 0.2, "history": {"loss": [1.5, None]}}


@pytest.fixture
def folder(store):
    """A stored run that was verified long ago, as the index has it."""
    store.put(IDENTITY, VALUES, {"host": "here"}, weights=b"parameters")
    folder = store.root / "runs" / KEY[:2] / KEY
    _verified_long_ago(store)
    return folder


def _verified_long_ago(store):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verified, "SETTLED_SECONDS", -1.0)
        store.measured(KEY)
        store.note_verified()


@pytest.fixture
def read_keys(monkeypatch):
    """The keys of the runs whose files were read."""
    keys = []
    usual = entry.read

    def read(folder, key):
        keys.append(key)
        return usual(folder, key)

    monkeypatch.setattr(entry, "read", read)
    return keys


def test_a_verified_run_is_not_read_again(folder, store, read_keys):
    for each in (store, Store(store.root)):
        result = each.measured(KEY)
        assert result.identity == IDENTITY
        assert result.values == VALUES  # to the last bit
        assert result.provenance == {"host": "here"}
        assert result.weights is None
    assert read_keys == []
    whole = store.at(KEY)
    assert whole.weights == b"parameters"
    assert read_keys == [KEY]


def test_a_file_that_was_written_to_is_read_and_its_damage_is_seen(folder, store, reports):
    for name in entry.FILES:
        reports.clear()
        content = bytearray((folder / name).read_bytes())
        content[-2] ^= 0x20
        times = os.stat(folder / name)
        (folder / name).write_bytes(content)  # as long as it was
        os.utime(folder / name, ns=(times.st_atime_ns, times.st_mtime_ns))  # and as old
        assert store.measured(KEY) is None
        assert "was moved to" in reports[0]
        store.put(IDENTITY, VALUES, {"host": "here"}, weights=b"parameters")
        _verified_long_ago(store)


def test_a_folder_that_was_changed_is_read(folder, store, read_keys):
    (folder / "more").touch()
    assert store.measured(KEY) is not None
    assert read_keys == [KEY]
    (folder / "result.json").rename(folder / "other.json")
    assert store.measured(KEY) is None


def test_what_was_written_a_moment_ago_is_read_again(store, read_keys):
    """A second write within one tick of the file system's clock would not be seen."""
    store.put(IDENTITY, VALUES, {"host": "here"})
    read_keys.clear()
    assert store.measured(KEY) is not None
    store.note_verified()
    assert Store(store.root).measured(KEY) is not None
    assert read_keys == [KEY, KEY]


def test_a_run_that_was_removed_is_gone_from_the_index(folder, store):
    store.remove(KEY)
    assert store.measured(KEY) is None
    with sqlite3.connect(store.root / NAME) as database:
        assert database.execute("select count(*) from verified").fetchone() == (0,)


def test_an_index_that_is_none_is_made_anew(folder, store, read_keys):
    for content in (b"", b"no database", b"SQLite format 3\0" + bytes(4096)):
        (store.root / NAME).write_bytes(content)
        for _ in range(2):
            assert Store(store.root).measured(KEY) is not None
            _verified_long_ago(Store(store.root))
        read_keys.clear()
        assert Store(store.root).measured(KEY) is not None
        assert read_keys == []


def test_a_row_that_was_edited_is_not_believed(folder, store, read_keys):
    for column in ("content", "digest"):
        read_keys.clear()
        with sqlite3.connect(store.root / NAME) as database:
            (value,) = database.execute(f"select {column} from verified").fetchone()
            database.execute(f"update verified set {column} = ?", (value[:-1] + b"x",))
        result = Store(store.root).measured(KEY)
        assert result.identity == IDENTITY
        assert read_keys == [KEY]
        _verified_long_ago(Store(store.root))


def test_where_the_index_cannot_be_written_the_files_are_read(store, reports, read_keys):
    (store.root / NAME).mkdir()
    store.put(IDENTITY, VALUES, {"host": "here"})
    read_keys.clear()
    for _ in range(2):
        _verified_long_ago(store)
    assert read_keys == [KEY, KEY]
    assert reports == []


def test_a_process_that_writes_to_the_index_stops_no_other(folder, store, monkeypatch):
    monkeypatch.setattr(verified, "BUSY_SECONDS", 0.01)
    busy = sqlite3.connect(store.root / NAME)
    busy.execute("begin exclusive")
    assert Store(store.root).measured(KEY) is not None
    busy.rollback()


def test_a_forked_process_opens_the_index_for_itself(folder, store):
    assert store.measured(KEY) is not None
    context = multiprocessing.get_context("fork")
    child = context.Process(target=_reads_alike, args=(store,))
    child.start()
    child.join()
    assert child.exitcode == 0
    assert store.measured(KEY) is not None


def _reads_alike(store):
    assert store._verified._owner != os.getpid()
    assert store.measured(KEY) is not None
    assert store._verified._owner == os.getpid()


NUMBERS = {"chance((3, 5), 0.0012)": 0.1 + 0.2, "limits(5,)": (1.5, 2.5, 1e-300)}


def test_numbers_of_one_version_come_back_with_the_new_ones(tmp_path):
    assert read_simulated(tmp_path, version="1") == {}
    keep_simulated(tmp_path, NUMBERS, version="1")
    before = (tmp_path / simulated.NAME).stat().st_ino
    keep_simulated(tmp_path, dict(list(NUMBERS.items())[:1]), version="1")
    assert (tmp_path / simulated.NAME).stat().st_ino == before  # nothing was new
    keep_simulated(tmp_path, {"chance": 0.5}, version="1")
    assert read_simulated(tmp_path, version="1") == {**NUMBERS, "chance": 0.5}
    assert read_simulated(tmp_path, version="2") == {}
    keep_simulated(tmp_path, {"chance": 0.5}, version="2")
    assert read_simulated(tmp_path, version="2") == {"chance": 0.5}
    assert read_simulated(tmp_path, version="1") == {}


DAMAGE = (
    lambda text: text[: len(text) // 2],
    lambda text: text.replace("0.30000000000000004", "0.30000000000000005"),
    lambda text: text.replace("1.5", "9.5"),
    lambda text: "[]",
    lambda text: "null",
    lambda text: "\x00" * 100,
    lambda text: json.dumps({**json.loads(text), "numbers": 5}),
)


def test_a_damaged_file_gives_none_and_is_written_anew(tmp_path):
    for damage in DAMAGE:
        keep_simulated(tmp_path, NUMBERS, version="1")
        text = (tmp_path / simulated.NAME).read_text()
        assert damage(text) != text
        (tmp_path / simulated.NAME).write_text(damage(text))
        assert read_simulated(tmp_path, version="1") == {}
    keep_simulated(tmp_path, NUMBERS, version="1")
    assert read_simulated(tmp_path, version="1") == NUMBERS


def test_a_store_that_may_not_be_written_to_is_no_error(tmp_path):
    (tmp_path / "file").write_text("")
    keep_simulated(tmp_path / "file", NUMBERS, version="1")
    assert read_simulated(tmp_path / "file", version="1") == {}
