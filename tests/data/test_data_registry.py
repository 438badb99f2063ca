"""The table of sets, the data folder, and CIFAR-10, which is verified and safely read."""

import os
import pickle
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from repro.data import cifar10, images, locate
from repro.data.files import read_file, resolve
from repro.data.inventory import take_inventory
from repro.data.locate import DataError, fixtures
from repro.data.registry import data_sets, find
from scripts.twins import images as twin

WEIGHTS = {"gpt2-small", "gpt2-medium", "gpt2-large", "gpt2-xl"}


def test_every_set_is_described_whole():
    for name in data_sets():
        known = find(name)
        assert known.title
        assert known.licence
        assert known.citation
        assert "/" not in known.folder
        assert known.folder not in ("", ".", "..")
        names = [file.name for file in known.files]
        assert len(set(names)) == len(names) > 0
        for source in known.sources:
            assert source.address.startswith("https://")
            assert source.is_archive or source.address.endswith("/")
            assert set(source.names) <= set(names)
            if source.is_archive:
                assert source.unpacked > sum(known.file(name).bytes for name in source.names)
        assert {name for source in known.sources for name in source.names} == set(names)
        for file in known.files:
            assert re.fullmatch(r"[\w.-]+", file.name)
            if name not in WEIGHTS:
                assert file.bytes is not None
                assert re.fullmatch("[0-9a-f]{64}", file.sha256)


@pytest.mark.real_data
def test_the_real_sets_are_complete():
    for name in sorted(data_sets().keys() - WEIGHTS):
        inventory = take_inventory(name)
        assert inventory.state == "complete", name
        assert inventory.bytes == sum(file.bytes for file in inventory.known.files)


CACHES = [
    ("linux", None, None, ".cache/repro/data"),
    ("linux", "XDG_CACHE_HOME", "named", "named/repro/data"),
    ("linux", "XDG_CACHE_HOME", "", ".cache/repro/data"),
    ("darwin", None, None, "Library/Caches/repro/data"),
    ("win32", None, None, "AppData/Local/repro/data"),
    ("win32", "LOCALAPPDATA", "named", "named/repro/data"),
    ("win32", "LOCALAPPDATA", "", "AppData/Local/repro/data"),
]
"""Platforms, a variable with a folder or without one, and the folder that is used."""


def test_without_a_named_folder_the_cache_of_the_platform_is_used(tmp_path, monkeypatch):
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    found = []
    for platform, variable, named, _ in CACHES:
        for name in ("REPRO_DATA", "XDG_CACHE_HOME", "LOCALAPPDATA"):
            monkeypatch.delenv(name, raising=False)
        if variable:
            monkeypatch.setenv(variable, named and str(tmp_path / named))
        monkeypatch.setattr(sys, "platform", platform)
        found.append(locate.data_folder())
    assert found == [tmp_path / expected for *_, expected in CACHES]


def test_the_real_set_is_used_where_its_folder_is_and_else_the_twin_by_name(data):
    assert resolve("sms-spam") == "sms-spam-twin"
    assert resolve("sms-spam-twin") == "sms-spam-twin"
    (data / "sms-spam").mkdir()
    assert resolve("sms-spam") == "sms-spam"
    with pytest.raises(DataError, match="run `python -m repro data fetch sms-spam`"):
        read_file("sms-spam", "SMSSpamCollection")


def test_what_is_not_there_is_named_with_what_to_do(data, monkeypatch):
    with pytest.raises(DataError, match="no data set 'wikitext'; choose from wikitext-2, "):
        find("wikitext")
    with pytest.raises(DataError, match="no twin; run `python -m repro data fetch gpt2-xl`"):
        resolve("gpt2-xl")
    monkeypatch.setenv("REPRO_DATA", "/nowhere/at/all")
    with pytest.raises(DataError, match="create it or unset it"):
        resolve("cifar10")


@pytest.fixture
def tiny_cifar(publish, monkeypatch):
    """A folder of 20 + 10 random images in CIFAR-10's layout, taken for the published one."""
    random = np.random.default_rng(0)
    contents = {}
    for table, name, count in (("TRAINING", "data_batch_1", 20), ("TEST", "test_batch", 10)):
        data = random.integers(0, 256, (count, 3072), dtype=np.uint8)
        contents[name] = pickle.dumps({b"data": data, b"labels": list(range(count))}, protocol=3)
        monkeypatch.setattr(cifar10, table, (name,))
    images._prepare_cifar10.forget()
    yield publish(contents)
    images._prepare_cifar10.forget()


def test_a_pickle_that_would_run_code_is_refused(publish, tmp_path):
    class Hostile:
        def __reduce__(self):
            return os.system, (f"touch {tmp_path / 'ran'}",)

    publish({"batch": pickle.dumps(Hostile())})
    with pytest.raises(DataError, match=r"asks to load \w+\.system"):
        cifar10.read_batches(["batch"])
    assert not (tmp_path / "ran").exists()


def test_a_set_is_read_and_prepared_once(tiny_cifar):
    first = images.load_images("cifar10", size=8)
    assert first.train_images.shape == (20, 8, 8, 3)
    assert not first.train_images.flags.writeable
    assert images.load_images("cifar10", size=8).train_images is first.train_images


def test_a_wrong_or_missing_file_is_named_and_never_replaced_by_the_twin(tiny_cifar):
    for damage in (b"", b"other bytes"):
        (tiny_cifar / "test_batch").write_bytes(damage)
        assert resolve("cifar10") == "cifar10"
        with pytest.raises(DataError, match=r"test_batch is not cifar10's file .* fetch cifar10`"):
            images.load_images("cifar10", size=8)
    (tiny_cifar / "data_batch_1").unlink()
    with pytest.raises(DataError, match=r"^cifar10 lacks .*data_batch_1 .* data fetch cifar10`"):
        images.load_images("cifar10", size=8)


def test_pixels_are_averaged_with_halves_rounded_up():
    random = np.random.default_rng(1)
    picture = random.integers(0, 256, (5, 32, 32, 3), dtype=np.uint8)
    means = picture.reshape(5, 8, 4, 8, 4, 3).astype(float).mean(axis=(2, 4))
    np.testing.assert_array_equal(images.shrink(picture, 8), np.floor(means + 0.5))


@pytest.mark.thorough
def test_the_twin_is_made_again_byte_for_byte():
    for name, array in twin.generate().items():
        stored = np.load(fixtures() / "cifar10" / f"{name}.npy")
        assert stored.dtype == array.dtype
        np.testing.assert_array_equal(stored, array)


@pytest.mark.real_data
def test_the_real_set_has_its_published_statistics():
    real = images.load_images("cifar10", size=32)
    assert np.bincount(real.train_labels).tolist() == [5000] * 10
    values = np.arange(256) / 255
    published = [(0.4914, 0.2470), (0.4822, 0.2435), (0.4465, 0.2616)]
    for channel, (mean, spread) in enumerate(published):
        shares = np.bincount(real.train_images[..., channel].ravel(), minlength=256) / (
            50_000 * 32**2
        )
        assert shares @ values == pytest.approx(mean, abs=1e-4)
        assert np.sqrt(shares @ (values - mean) ** 2) == pytest.approx(spread, abs=1e-4)
