"""Images as inputs of the ladder's networks: flat, standardised per channel, in a run's order."""

from __future__ import annotations

from functools import lru_cache

import torch
import torch.nn.functional as F
from torch import Tensor

from repro.core.streams import stream
from repro.data.images import load_images


class LadderData:
    """Training images as bytes, and test images as inputs."""

    def __init__(
        self, name: str, *, pixels: int, count: int, shift: int, device: torch.device
    ) -> None:
        images = load_images(name, size=pixels)
        if count > len(images.train_images):
            raise ValueError(
                f"The arm asks for {count} training images and {images.name} has"
                f" {len(images.train_images)}; give it at most that many."
            )
        self.shift = shift
        train = torch.from_numpy(images.train_images[:count].copy())  # [N, H, W, 3]
        self.labels = torch.from_numpy(images.train_labels[:count].copy()).to(device)
        flat = train.double().flatten(0, 2)  # [N*H*W, 3]
        values = pixels**2  # of each channel, which lie next to each other pixel by pixel
        self.mean = flat.mean(0).float().repeat(values).to(device)  # [P]
        self.scale = (1 / flat.std(0, unbiased=False)).float().repeat(values).to(device)  # [P]
        self.examples = len(train)
        border = (shift,) * 4
        padded = F.pad(train, (0, 0, *border)).to(device)
        both = torch.cat([padded, padded.flip(2)])  # the images, and all of them mirrored
        # all shifted images, as a view
        windows = both.unfold(1, pixels, 1).unfold(2, pixels, 1)
        self.windows = windows.permute(0, 1, 2, 4, 5, 3)  # [2N, down, right, H, W, 3]
        test = torch.from_numpy(images.test_images.copy()).to(device)
        self.test_inputs = self._flat(test)  # [T, P]
        self.test_labels = torch.from_numpy(images.test_labels.copy()).to(device)  # [T]

    def epoch(self, seed: int, number: int) -> Tensor:
        """Return [N, 4]: the number of an image, its shifts down and right, and 1 if mirrored."""
        order = torch.randperm(self.examples, generator=stream(seed, f"order/{number}"))
        generator = stream(seed, f"augment/{number}")
        reach = 2 * self.shift + 1
        shifts = torch.randint(0, reach, (self.examples, 2), generator=generator)
        mirrored = torch.randint(0, 2, (self.examples, 1), generator=generator)
        return torch.cat([order[:, None], shifts, mirrored], dim=1)

    def batch(self, lines: Tensor) -> tuple[Tensor, ...]:
        """Turn lines of epochs [R, B, 4] into inputs [R, B, P] and labels [R, B]."""
        image, down, right, mirrored = lines.flatten(0, 1).unbind(1)  # each [R*B]
        if self.shift:
            # in a mirrored image left and right are exchanged
            right = torch.where(mirrored == 1, 2 * self.shift - right, right)
            image = image + self.examples * mirrored
        else:
            down = right = torch.zeros_like(image)
        images = self.windows[image, down, right]
        return self._flat(images).view(*lines.shape[:2], -1), self.labels[lines[..., 0]]

    def _flat(self, images: Tensor) -> Tensor:
        """Standardise each channel to mean 0 and deviation 1: [N, H, W, 3] bytes -> [N, P]."""
        return images.flatten(1).float().sub_(self.mean).mul_(self.scale)


@lru_cache(maxsize=1)
def loaded_once(
    name: str, *, pixels: int, count: int, shift: int, device: torch.device
) -> LadderData:
    """Return the data of these settings; all batches of a trainer share the last one."""
    return LadderData(name, pixels=pixels, count=count, shift=shift, device=device)
