"""CIFAR-10 is verified and safely read; its twin can be made again byte for byte."""

import os
import pickle

import numpy as np
import pytest

from repro.data import cifar10, images
from repro.data.files import resolve
from repro.data.locate import DataError, fixtures
from repro.data.twins import images as twin


@pytest.fixture
def tiny_cifar(publish, monkeypatch):
    """A folder of 20 + 10 random images in CIFAR-10's layout, taken for the published one."""
    random = np.random.default_rng(0)
    contents = {}
    for table, name, count in (("TRAINING", "data_batch_1", 20), ("TEST", "test_batch", 10)):
        data = random.integers(0, 256, (count, 3072), dtype=np.uint8)
        contents[name] = pickle.dumps({b"data": data, b"labels": list(range(count))}, protocol=3)
        monkeypatch.setattr(cifar10, table, (name,))
    return publish(contents)


def test_a_pickle_that_would_run_code_is_refused(publish, tmp_path):
    class Hostile:
        def __reduce__(self):
            return os.system, (f"touch {tmp_path / 'ran'}",)

    publish({"batch": pickle.dumps(Hostile())})
    with pytest.raises(DataError, match=r"asks to load \w+\.system"):
        cifar10.read_batches(["batch"])
    assert not (tmp_path / "ran").exists()


def test_stored_results_keep_their_identity():
    assert {(name, size): images.image_identity(name, size=size)[:16]
            for name in ("cifar10", "cifar10-twin") for size in (8, 32)} == {
        ("cifar10", 8): "7e48e968273aa6bc", ("cifar10", 32): "9bc66117befaa5ca",
        ("cifar10-twin", 8): "8b1d7cbd5bf1d149", ("cifar10-twin", 32): "a28e03cdc7bef8aa",
    }  # fmt: skip


def test_a_set_is_read_prepared_and_mapped(tiny_cifar):
    first = images.load_images("cifar10", size=8)
    again = images.load_images("cifar10", size=8)
    assert isinstance(again.train_images, np.memmap)
    for part in ("train_images", "train_labels", "test_images", "test_labels"):
        np.testing.assert_array_equal(getattr(first, part), getattr(again, part))
    assert first.train_images.shape == (20, 8, 8, 3)


def test_a_wrong_or_missing_file_is_named_and_never_replaced_by_the_twin(tiny_cifar):
    for damage in (b"", b"other bytes"):
        (tiny_cifar / "test_batch").write_bytes(damage)
        assert resolve("cifar10") == "cifar10"
        with pytest.raises(DataError, match=r"test_batch is not cifar10's file .* fetch cifar10`"):
            images.load_images("cifar10", size=8)
    (tiny_cifar / "data_batch_1").unlink()
    with pytest.raises(DataError, match=r"^cifar10 lacks .*data_batch_1 .* data fetch cifar10`"):
        images.load_images("cifar10", size=8)


def test_a_data_folder_that_does_not_exist_is_an_error(monkeypatch):
    monkeypatch.setenv("REPRO_DATA", "/nowhere/at/all")
    with pytest.raises(DataError, match="create it or unset it"):
        resolve("cifar10")


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
