"""The devices of this machine, and the properties of it that the bits of a result depend on.

Where possible they are read without importing torch, so that a session with stored results starts
quickly.
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
    """Return the kind of device for a name; `auto` is the best one of this machine."""
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
    """Return whether there can be no accelerator: torch is a CPU build, or there is no driver."""
    try:
        build = metadata.version("torch").partition("+")[2]
    except metadata.PackageNotFoundError:
        return True  # torch alone trains on a device
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
    """Make torch, if it is installed, use one thread.

    The threads of several trainers would slow each other down by far more than they gain.
    """
    if has_torch():
        import torch

        torch.set_num_threads(1)


def compute_alike(device: str) -> None:
    """Make CUDA's kernels deterministic, where they can be.

    >>> compute_alike("cuda")
    """
    if device != "cuda":
        return
    import torch

    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # cuBLAS reads it at first use
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    torch.use_deterministic_algorithms(True, warn_only=True)


def use_accelerator(name: str) -> None:
    """Make an accelerator the current one: `cuda:1`, say. Other kinds of device have only one.

    >>> use_accelerator("cuda:1")
    """
    if name.startswith("cuda:"):
        import torch

        torch.cuda.set_device(name)


def free_memory(device: str) -> None:
    """Release the unused memory that this process holds on a device."""
    gc.collect()
    if device == "cuda":
        import torch

        torch.cuda.empty_cache()


def ran_out_of_memory(error: BaseException) -> bool:
    """Return whether an error means a full memory; torch says so only in the message."""
    if isinstance(error, MemoryError):
        return True
    words = ("can't allocate memory", "not enough memory", "out of memory")
    return isinstance(error, RuntimeError) and any(word in said(error) for word in words)


@cache
def torch_version() -> str:
    """Return the version of torch without its build, or `none`, and without importing torch."""
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
    """Return the name of the chip that trains; another chip rounds differently."""
    if device == "cuda":
        import torch

        return torch.cuda.get_device_name()
    return f"{platform.machine()} {_processor()}"


def _processor() -> str:
    """Return maker, family and model: by them matrix libraries choose their code and rounding."""
    try:
        lines = Path("/proc/cpuinfo").read_text().split("\n\n", 1)[0].splitlines()
    except OSError:
        return platform.processor()
    facts = {name.strip(): value.strip() for name, _, value in (x.partition(":") for x in lines)}
    wanted = ("vendor_id", "cpu family", "model", "CPU implementer", "CPU part")
    return " ".join(facts[name] for name in wanted if name in facts) or platform.processor()
