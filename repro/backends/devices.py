"""The accelerators of this machine, and what a job is given of them and of the cores."""

from __future__ import annotations

import os
from dataclasses import dataclass

from repro.arm import Arm
from repro.own.arm import OutsideArm


@dataclass(frozen=True, order=True)
class Demand:
    """The devices and the threads of one run."""

    devices: int = 1
    threads: int = 1

    @classmethod
    def of(cls, arm: Arm) -> Demand:
        """Return what the runs of an arm ask for; those of the core train on one, by one thread."""
        return cls(arm.devices, arm.threads) if isinstance(arm, OutsideArm) else cls()

    def cores(self, device: str) -> int:
        """Return the cores that it holds: on a CPU each device is one.

        >>> Demand(devices=4, threads=2).cores("cpu"), Demand(devices=4, threads=2).cores("cuda")
        (4, 2)
        """
        return max(self.threads, self.devices if device == "cpu" else 1)

    def lacking(self, most: int, *, where: str, device: str) -> str:
        """Return in words that so many devices are too few; nothing where they are enough.

        >>> Demand(devices=4).lacking(2, where="this machine", device="cuda").partition(";")[0]
        'asks for 4 devices, and this machine has 2'
        """
        if self.devices <= most:
            return ""
        cores = "core" if most == 1 else "cores"
        has = f"{most} {cores}, each of which counts as one" if device == "cpu" else f"{most}"
        return (
            f"asks for {self.devices} devices, and {where} has {has}; ask for fewer, or train it"
            " where there are more"
        )


ONE = Demand()
"""The demand of all that the core does: one device, one thread."""


def accelerators(kind: str) -> list[str]:
    """Return the names of the accelerators that this process may use, by number.

    CUDA's are as `CUDA_VISIBLE_DEVICES` has them, for processes that are started.

    >>> accelerators("cuda")
    ['0', '1']
    """
    if kind != "cuda":
        return [kind]
    import torch

    count = max(1, torch.cuda.device_count())
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    names = visible.split(",") if visible else map(str, range(count))
    return [name.strip() for name in names][:count]


def numbered_accelerators(device: str) -> dict[str, str]:
    """Return the CUDA devices that a job was given: torch's names, and those for other processes.

    >>> numbered_accelerators("cuda")
    {'cuda:0': '2', 'cuda:1': '3'}
    """
    names = accelerators(device) if device == "cuda" else []
    return {f"cuda:{number}": name for number, name in enumerate(names)}
