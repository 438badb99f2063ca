"""The inputs of a run, held against the images on disk by indexing alone."""

import numpy as np
import pytest
import torch

from repro.data.images import load_images
from repro.studies.depth_ladder.data import LadderData
from tests.studies.small import LADDER

CPU = torch.device("cpu")
ARM = LADDER.but(depth=1, trained=1, images=640)


@pytest.fixture(scope="module")
def images():
    return load_images("cifar10-twin", size=8)


def standardised(pixels, train):
    """Standardise by the statistics of the training images, channel by channel."""
    train = train.astype(np.float64)
    return ((pixels - train.mean((0, 1, 2))) / train.std((0, 1, 2))).reshape(len(pixels), -1)


def test_it_is_evaluated_on_the_test_images_standardised_as_the_training_images(images):
    data = LadderData(ARM, CPU)
    expected = standardised(images.test_images, images.train_images[: ARM.images])
    np.testing.assert_allclose(data.test_inputs.numpy(), expected, atol=1e-5)
    np.testing.assert_array_equal(data.test_labels.numpy(), images.test_labels)


def test_a_training_image_is_moved_and_mirrored_and_keeps_its_label(images):
    data = LadderData(ARM, CPU)
    lines = data.epoch(7, 3)
    x, y = data.batch(lines[None])
    original = images.train_images[: ARM.images]
    padded = np.pad(original, ((0, 0), (1, 1), (1, 1), (0, 0)))
    moved = []
    for image, down, right, mirrored in lines.tolist():
        cut = padded[image, down : down + 8, right : right + 8]
        moved.append(cut[:, ::-1] if mirrored else cut)
        assert int(y[0, len(moved) - 1]) == images.train_labels[image]
    np.testing.assert_allclose(x[0].numpy(), standardised(np.array(moved), original), atol=1e-5)


def test_an_epoch_shows_every_image_once_and_uses_every_shift_and_both_mirrorings():
    image, down, right, mirrored = LadderData(ARM, CPU).epoch(7, 3).unbind(1)
    assert sorted(image.tolist()) == list(range(ARM.images))
    assert set(down.tolist()) == set(right.tolist()) == {0, 1, 2}
    assert 0.4 < float(mirrored.float().mean()) < 0.6


def test_every_seed_and_every_epoch_has_its_own_order():
    data = LadderData(ARM, CPU)
    epochs = [data.epoch(seed, number) for seed in (1, 2) for number in (0, 1)]
    orders = {tuple(lines[:, 0].tolist()) for lines in epochs}
    shifts = {tuple(map(tuple, lines[:, 1:].tolist())) for lines in epochs}
    assert len(orders) == len(shifts) == 4
    assert torch.equal(data.epoch(1, 0), epochs[0])


def test_without_shift_an_image_is_shown_as_it_is(images):
    arm = ARM.but(shift=0)
    data = LadderData(arm, CPU)
    lines = data.epoch(7, 0)
    x, _ = data.batch(lines[None])
    original = images.train_images[: ARM.images]
    expected = standardised(original[lines[:, 0].numpy()], original)
    np.testing.assert_allclose(x[0].numpy(), expected, atol=1e-5)
