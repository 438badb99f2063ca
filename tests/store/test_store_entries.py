import os
import resource
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from repro.store import Made, Store, StoreError, StoreWarning, run_key
from repro.store.run_files import UNKNOWN, key_of
from tests.local_work import put_former
from tests.unprivileged import unprivileged

IDENTITY = {"arm": {"lr": 0.1, "layers": (1, 2)}, "seed": 7}
VALUES = {"measures": {"loss": 0.1 + 0.2}, "steps": 10}
PROVENANCE = {"host": "here"}


def folder_of(store, identity=IDENTITY):
    key = key_of(identity, UNKNOWN)
    return store.root / "runs" / key[:2] / key


def test_a_run_comes_back_as_it_was_stored(store, reports):
    assert store.get(IDENTITY) is None
    store.put(IDENTITY, VALUES, PROVENANCE)
    result = store.get(IDENTITY)
    key = key_of(IDENTITY, UNKNOWN)
    assert (result.key, result.values, result.provenance) == (key, VALUES, PROVENANCE)
    assert result.identity == {"arm": {"lr": 0.1, "layers": [1, 2]}, "seed": 7}
    assert store.get({**IDENTITY, "seed": 8}) is None
    store.put(IDENTITY, {"other": 1}, {"host": "there"})  # the first one is kept
    assert store.get(IDENTITY) == result
    assert reports == []
    assert list((store.root / "tmp").iterdir()) == []
    assert list((store.root / "locks").iterdir()) == []


def test_what_two_branches_have_made_lies_side_by_side_the_first_one_first(store):
    made = {"b": Made(trace="b"), "a": Made(trace="a"), "c": Made({"lr": 1}, "a", "5e1f")}
    for name, day in (("b", "02"), ("a", "01"), ("c", "03")):
        store.put(IDENTITY, {"by": name}, {"finished": f"2026-01-{day}"}, made=made[name])
    found = store.all_at(run_key(IDENTITY))
    assert [each.values["by"] for each in found] == ["a", "b", "c"]
    assert [each.made for each in found] == [made["a"], made["b"], made["c"]]
    assert store.get(IDENTITY) == found[0]
    for each in found:
        store.remove(each.key)
    assert list((store.root / "runs").glob("*/*")) == []


def test_a_result_of_an_earlier_version_is_read_where_it_lay(store):
    address = put_former(store, IDENTITY, VALUES, PROVENANCE)
    assert (store.at(address).values, store.at(address).made) == (VALUES, UNKNOWN)
    assert store.all_at(address) == []  # what made it is not known


def test_a_trace_is_verified_and_can_be_stored_again(store):
    trace = {"modules": {"toy": {"train()": "1"}}}
    digest = store.put_trace(trace)
    assert Store(store.root).trace(digest) == trace
    (file,) = store.root.glob("traces/*/*")
    for damage in ("{}", "[" * 100_000, ""):
        file.write_text(damage)
        assert Store(store.root).trace(digest) is None
    again = Store(store.root)
    assert again.put_trace(trace) == digest
    assert Store(store.root).trace(digest) == trace


def test_equal_content_is_equal_bytes(tmp_path):
    one, other = Store(tmp_path / "one"), Store(tmp_path / "other")
    one.put({"a": 1, "b": [1, 2]}, {"x": 0.1, "y": (1,)}, {"host": "here"})
    other.put({"b": (1, 2), "a": 1}, {"y": [1], "x": 0.1}, {"host": "there"})
    for name in ("identity.json", "result.json"):
        (path,) = one.root.glob(f"runs/*/*/*/{name}")
        assert path.read_bytes() == (other.root / path.relative_to(one.root)).read_bytes()


def test_a_person_can_read_and_check_the_files(store):
    store.put(IDENTITY, {"µ": 0.5}, PROVENANCE)
    folder = folder_of(store)
    assert (folder / "result.json").read_text() == '{\n  "µ": 0.5\n}\n'
    if shutil.which("sha256sum"):
        check = subprocess.run(
            ["sha256sum", "--strict", "-c", "SHA256SUMS"], cwd=folder, capture_output=True
        )
        assert check.stdout.split() == [
            *(b"identity.json:", b"OK", b"provenance.json:", b"OK", b"result.json:", b"OK")
        ]


def test_nothing_is_renamed_before_it_is_on_the_disk(store, monkeypatch):
    # Stands in for a power cut: files must be on the disk before a rename makes them visible.
    calls = []
    really_sync, really_rename = os.fsync, os.rename

    def sync(descriptor):
        calls.append(os.fstat(descriptor).st_ino)
        really_sync(descriptor)

    def rename(old, new):
        calls.append("rename")
        really_rename(old, new)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "rename", rename)
    store.put(IDENTITY, VALUES, PROVENANCE)
    folder = folder_of(store)
    *files, whole, renamed, address, prefix, runs = calls
    assert set(files) == {path.stat().st_ino for path in folder.iterdir()}
    assert len(files) == 4
    assert (whole, renamed) == (folder.stat().st_ino, "rename")
    above = [path.stat().st_ino for path in folder.parents[:3]]
    assert [address, prefix, runs] == above


def test_weights_lie_beside_the_result_and_are_checked(store, reports):
    store.put(IDENTITY, VALUES, PROVENANCE, weights=b"parameters")
    result = store.get(IDENTITY)
    assert result.weights == b"parameters"
    file = folder_of(store) / "weights.safetensors"
    assert "weights.safetensors" in (folder_of(store) / "SHA256SUMS").read_text()
    for damage in (b"parameterz", b"", None):
        if damage is None:
            file.unlink()
        else:
            file.write_bytes(damage)
        reports.clear()
        assert store.get(IDENTITY) is None
        assert len(reports) == 1
        store.put(IDENTITY, VALUES, PROVENANCE, weights=b"parameters")
    plain = {**IDENTITY, "seed": 8}
    store.put(plain, VALUES, PROVENANCE)
    (folder_of(store, plain) / "weights.safetensors").write_bytes(b"of nobody")
    assert store.get(plain).weights is None


def test_a_store_that_was_given_no_report_warns(tmp_path):
    store = Store(tmp_path)
    store.put(IDENTITY, VALUES, PROVENANCE)
    (folder_of(store) / "result.json").unlink()
    with pytest.warns(StoreWarning, match="has no result.json; it was moved to"):
        assert store.get(IDENTITY) is None


def test_a_stored_run_needs_no_checkpoint(store):
    key = run_key(IDENTITY)
    store.checkpoints.save(key, b"half way")
    store.put(IDENTITY, VALUES, PROVENANCE)
    assert store.checkpoints.load(key) is None


def test_a_relative_root_outlives_a_change_of_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store = Store("results")
    store.put(IDENTITY, VALUES, PROVENANCE)
    monkeypatch.chdir("/")
    assert store.get(IDENTITY) is not None


def test_a_read_only_store_can_be_read_and_says_that_it_cannot_be_written():
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        store = Store(Path(folder) / "store")
        store.put(IDENTITY, VALUES, PROVENANCE)
        folders = [store.root, *(path for path in store.root.rglob("*") if path.is_dir())]
        for path in folders:
            path.chmod(0o555)
        sentence = rf"^The store {store.root} cannot be used \(Permission denied\); make it [^\n]*$"
        with unprivileged():
            again = Store(store.root)
            assert again.get(IDENTITY) is not None
            with pytest.raises(StoreError, match=sentence):
                again.put({"seed": 8}, VALUES, PROVENANCE)
            with pytest.raises(StoreError, match=sentence):
                again.locks.try_lock("a-run")
            with pytest.raises(StoreError, match=sentence):
                again.checkpoints.save("a-run", b"")
            with pytest.raises(StoreError, match=r"cannot be used \(Permission denied\)"):
                Store(store.root / "inner")
        for path in folders:
            path.chmod(0o755)


def test_a_store_that_belongs_to_another_user_is_one_sentence():
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        store = Store(Path(folder) / "store")
        store.put(IDENTITY, VALUES, PROVENANCE)
        for path in (store.root, *store.root.iterdir()):
            path.chmod(0o777 if path.is_dir() else 0o666)  # all may write
        folder_of(store).chmod(0o700)  # and not all may read
        with unprivileged(), pytest.raises(StoreError, match=r"\(Permission denied\); make it"):
            Store(store.root).get(IDENTITY)
        assert store.get(IDENTITY) is not None


def test_a_full_disk_is_said_and_leaves_nothing_behind(store):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(StoreError, match=rf"The store {store.root} is full \(.*\); free some"):
            store.put(IDENTITY, {"long": "x" * 10_000}, PROVENANCE)
        with pytest.raises(StoreError, match="is full"):
            store.checkpoints.save(run_key(IDENTITY), b"x" * 10_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert store.get(IDENTITY) is None
    assert store.checkpoints.load(run_key(IDENTITY)) is None
    assert list((store.root / "tmp").iterdir()) == []


def test_what_a_killed_writer_left_is_swept_once_it_is_old(store):
    young, old = (store.root / "tmp" / name for name in "ab")
    young.mkdir()
    old.write_text("")
    os.utime(old, (0, 0))
    Store(store.root)
    assert list((store.root / "tmp").iterdir()) == [young]
