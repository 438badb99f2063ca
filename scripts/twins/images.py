"""The twin of CIFAR-10 at 8x8 pixels; its classes need more than a linear readout.

It is made of integers only, from a random stream that numpy has frozen: the same bytes everywhere.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

SEED = 20_041
TRAIN, TEST, CLASSES, SIDE, LATENTS = 10_240, 2_560, 10, 8, 12
PAIRS = LATENTS
"""Number of products of two latents that the classes depend on."""

LINEAR_SHARE = 10
"""Weight of the linear part of a class's score; the part made of products has 10."""

NOISE = 12

Integers = NDArray[np.int64]


def generate() -> dict[str, NDArray[np.generic]]:
    """Generate the arrays of the set, by name.

    Latents mix smooth colour patterns into an image; a class's score adds a linear function of the
    latents to one of their products; the largest score names the class.
    """
    random = np.random.RandomState(SEED)
    latents = _bell(random, (TRAIN + TEST, LATENTS), 50)  # spread about 58
    patterns = _smooth_patterns(random)  # [LATENTS, SIDE*SIDE*3]
    pixels = 128 + (latents @ patterns) // 600
    pixels += _bell(random, pixels.shape, NOISE // 2)
    images = np.clip(pixels, 0, 255).astype(np.uint8).reshape(-1, SIDE, SIDE, 3)
    labels = _scores(random, latents).argmax(axis=1).astype(np.int64)
    return {
        "train_images": images[:TRAIN],
        "train_labels": labels[:TRAIN],
        "test_images": images[TRAIN:],
        "test_labels": labels[TRAIN:],
    }


def _bell(random: np.random.RandomState, shape: tuple[int, ...], reach: int) -> Integers:
    """Draw sums of four uniform integers: nearly normal, without a float."""
    draws: Integers = random.randint(-reach, reach + 1, size=(4, *shape), dtype=np.int64)
    sums: Integers = draws.sum(axis=0)
    return sums


def _smooth_patterns(random: np.random.RandomState) -> Integers:
    """Draw colour patterns that vary slowly over the image, as natural images do.

    They are symmetric from left to right, since a mirrored image must keep its class.
    """
    half = _bell(random, (LATENTS, 4, 2, 3), 20) + _bell(random, (LATENTS, 4, 2, 1), 40)
    corners = np.concatenate([half, half[:, :, ::-1]], axis=2)
    near, weight = np.divmod(np.arange(SIDE) * 3, SIDE - 1)  # position among 4 columns, in sevenths
    far = np.minimum(near + 1, 3)
    rows = corners[:, near] * (SIDE - 1 - weight)[:, None, None]
    rows += corners[:, far] * weight[:, None, None]
    smooth = rows[:, :, near] * (SIDE - 1 - weight)[:, None]
    smooth += rows[:, :, far] * weight[:, None]
    patterns: Integers = (smooth // (SIDE - 1) ** 2).reshape(LATENTS, -1)
    return patterns


def _scores(random: np.random.RandomState, latents: Integers) -> Integers:
    """Compute scores [N, CLASSES] with the same spread in every class."""
    first = random.randint(0, LATENTS, size=PAIRS)
    second = (first + random.randint(1, LATENTS, size=PAIRS)) % LATENTS
    products = latents[:, first] * latents[:, second]
    linear = _even(latents @ _bell(random, (LATENTS, CLASSES), 50))
    multiplied = _even(products @ _bell(random, (PAIRS, CLASSES), 50))
    scores: Integers = LINEAR_SHARE * linear + 10 * multiplied
    return scores


def _even(scores: Integers) -> Integers:
    """Scale scores [N, CLASSES] to a spread of about 1000 in every class."""
    spreads = [math.isqrt(int(x)) for x in (scores**2 // len(scores)).sum(axis=0)]
    return scores * 1000 // np.array(spreads, dtype=np.int64)
