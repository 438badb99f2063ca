"""Images as the ladder's networks see them: flat, standardised per channel, in each run's order."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from repro.core.streams import stream
from repro.data.images import load_images
from repro.studies.depth_ladder.arms import LadderArm


class LadderData:
    """Training images in bytes, test images ready to be evaluated."""

    def __init__(self, arm: LadderArm, device: torch.device) -> None:
        images = load_images(arm.data, size=arm.pixels)
        if arm.images > len(images.train_images):
            raise ValueError(
                f"The arm asks for {arm.images} training images and {images.name} has"
                f" {len(images.train_images)}; give it at most that many."
            )
        self.shift = arm.shift
        pixels = torch.from_numpy(images.train_images[: arm.images].copy())  # [N, H, W, 3]
        self.labels = torch.from_numpy(images.train_labels[: arm.images].copy()).to(device)
        flat = pixels.double().flatten(0, 2)  # [N*H*W, 3]
        values = arm.pixels**2  # of each channel, which lie next to each other pixel by pixel
        self.mean = flat.mean(0).float().repeat(values).to(device)  # [P]
        self.scale = (1 / flat.std(0, unbiased=False)).float().repeat(values).to(device)  # [P]
        border = (arm.shift,) * 4
        self.images = F.pad(pixels, (0, 0, *border)).to(device)
        test = torch.from_numpy(images.test_images.copy()).to(device)
        self.test_inputs = self._flat(test)  # [T, P]
        self.test_labels = torch.from_numpy(images.test_labels.copy()).to(device)  # [T]

    @property
    def examples(self) -> int:
        return len(self.images)

    def epoch(self, seed: int, number: int) -> Tensor:
        """[N, 4]: which image, its shift down, its shift right, whether it is mirrored."""
        order = torch.randperm(self.examples, generator=stream(seed, f"order/{number}"))
        generator = stream(seed, f"augment/{number}")
        reach = 2 * self.shift + 1
        shifts = torch.randint(0, reach, (self.examples, 2), generator=generator)
        mirrored = torch.randint(0, 2, (self.examples, 1), generator=generator)
        return torch.cat([order[:, None], shifts, mirrored], dim=1)

    def batch(self, lines: Tensor) -> tuple[Tensor, ...]:
        """Lines of epochs [R, B, 4] to inputs [R, B, P] and labels [R, B]."""
        image, down, right, mirrored = lines.flatten(0, 1).unbind(1)  # each [R*B]
        if self.shift:
            images = self._shifted_and_mirrored(image, down, right, mirrored)
        else:
            images = self.images.index_select(0, image)
        return self._flat(images).view(*lines.shape[:2], -1), self.labels[lines[..., 0]]

    def _shifted_and_mirrored(
        self, image: Tensor, down: Tensor, right: Tensor, mirrored: Tensor
    ) -> Tensor:
        side = self.images.shape[1] - 2 * self.shift  # the images were padded by the shift
        along = torch.arange(side, device=image.device)
        across = torch.where(mirrored[:, None] == 1, along.flip(0), along)  # [R*B, side]
        rows, columns = down[:, None] + along, right[:, None] + across
        return self.images[image[:, None, None], rows[:, :, None], columns[:, None, :]]

    def _flat(self, images: Tensor) -> Tensor:
        """[N, H, W, 3] bytes -> [N, P], each channel of mean 0 and standard deviation 1."""
        return images.flatten(1).float().sub_(self.mean).mul_(self.scale)
