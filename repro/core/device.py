"""The devices of this machine, and what of it the bits of a result depend on.

All of it is read without importing torch wherever that is possible, so that a session whose results
are stored already costs no import.
"""

from __future__ import annotations

import ctypes
import gc
import os
import platform
import sys
from functools import cache
from importlib import metadata
from pathlib import Path

from repro.arm import Needs
from repro.text import said

DEVICES = ("auto", "cpu", "cuda", "mps")

NO_TORCH = "none"
"""The version of torch where it is not installed."""


@cache
def resolve_device(name: str) -> str:
    """The device kind that a name stands for: `auto` is the best one there is."""
    if name not in DEVICES:
        raise ValueError(f"There is no device {name!r}; choose one of {', '.join(DEVICES)}.")
    if name == "cpu" or (name == "auto" and _has_plainly_none()):
        return "cpu"
    if not has_torch():
        raise ValueError(f"--device {name} needs torch: pip install 'repro-claims[train]'")
    import torch

    present = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if name == "auto":
        return next((kind for kind, there in present.items() if there), "cpu")
    if not present[name]:
        raise ValueError(f"This machine has no {name} device that torch can use; try --device cpu.")
    return name


def _has_plainly_none() -> bool:
    """Return whether there can be no accelerator: torch was built without, or has no driver."""
    try:
        build = metadata.version("torch").partition("+")[2]
    except metadata.PackageNotFoundError:
        return True  # it is torch that trains on one
    if build == "cpu":
        return True
    if sys.platform != "linux" or build.startswith("rocm"):
        return False
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return True
    return False


def one_thread() -> None:
    """Have torch, if it is installed, use one thread.

    Processes that share cores slow each other down by far more than threads would gain.
    """
    if has_torch():
        import torch

        torch.set_num_threads(1)


def compute_alike(device: str) -> None:
    """Let CUDA's kernels compute the same numbers again, wherever they have a way to.

    >>> compute_alike("cuda")
    """
    if device != "cuda":
        return
    import torch

    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read with the first product
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    torch.use_deterministic_algorithms(True, warn_only=True)


def free_memory(device: str) -> None:
    """Give back what this process holds of a device's memory and does not use."""
    gc.collect()
    if device == "cuda":
        import torch

        torch.cuda.empty_cache()


def ran_out_of_memory(error: BaseException) -> bool:
    """Return whether a device says that it is full; torch says it in plain words."""
    if isinstance(error, MemoryError):
        return True
    words = ("can't allocate memory", "not enough memory", "out of memory")
    return isinstance(error, RuntimeError) and any(word in said(error) for word in words)


@cache
def torch_version() -> str:
    """The version of torch, without the name of its build, or `none`; read without importing it."""
    try:
        return metadata.version("torch").partition("+")[0]
    except metadata.PackageNotFoundError:
        return NO_TORCH


def has_torch() -> bool:
    """Return whether torch is installed: black boxes, and recorded runs, do without."""
    return torch_version() != NO_TORCH


def require_torch() -> None:
    """Raise `Needs` where torch is not installed."""
    if not has_torch():
        raise Needs("needs torch, to train: pip install 'repro-claims[train]'")


@cache
def machine(device: str) -> str:
    """The chip that trains: another one rounds differently, so its bits are other bits."""
    if device == "cuda":
        import torch

        return torch.cuda.get_device_name()
    return f"{platform.machine()} {_processor()}"


def _processor() -> str:
    """Maker, family and model: matrix libraries choose their code, hence their rounding, by it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().split("\n\n", 1)[0].splitlines()
    except OSError:
        return platform.processor()
    facts = {name.strip(): value.strip() for name, _, value in (x.partition(":") for x in lines)}
    wanted = ("vendor_id", "cpu family", "model", "CPU implementer", "CPU part")
    return " ".join(facts[name] for name in wanted if name in facts) or platform.processor()
