"""GPT-2's published weights: where they lie, whether they are whole, and by which names."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from repro.arm import Needs
from repro.data.inventory import sha256_of, take_inventory
from repro.data.locate import DataError, data_folder
from repro.data.registry import find
from repro.data.safetensors import Arrays, NotSafetensors, read_tensors
from repro.studies.finetuning.shape import SHAPES, Shape

FILE = "model.safetensors"

NORMS = {"ln_1": "norm_attention", "ln_2": "norm_feed_forward"}
LINEARS = {"attn.c_proj": "attention.out", "mlp.c_fc": "up", "mlp.c_proj": "down"}


def require_weights(size: str) -> None:
    """Raises `Needs` where the weights of a size are not here."""
    if not _path(size).parent.is_dir():
        raise Needs(
            f"starts from GPT-2's {size} weights: run `python -m repro data fetch gpt2-{size}`"
        )


def weights_hash(size: str) -> str:
    """The SHA-256 of the file, or nothing where there is none."""
    path = _path(size)
    if not path.is_file():
        return ""
    facts = path.stat()
    return _hash(path, facts.st_mtime_ns, facts.st_size)


@cache
def _hash(path: Path, changed: int, size: int) -> str:
    """Once a process for a file as it is: the largest has six gigabytes."""
    return sha256_of(path)


def _path(size: str) -> Path:
    return data_folder() / find(f"gpt2-{size}").folder / FILE


def load_weights(size: str) -> Arrays:
    """The weights of a size by the names of `gpt.Gpt`, each of the shape that it has there."""
    found = take_inventory(f"gpt2-{size}")
    path, advice = found.folder / FILE, f"run `python -m repro data fetch gpt2-{size}`"
    if found.faults:
        raise DataError(f"{path} is {found.faults[FILE]}; remove it and {advice}.")
    try:
        tensors = read_tensors(path.read_bytes())
        return renamed(tensors, SHAPES[size])
    except (NotSafetensors, KeyError) as error:
        what = error if isinstance(error, NotSafetensors) else f"has no tensor {error}"
        raise DataError(f"{path} {what}; remove it and {advice}.") from error


def renamed(tensors: Arrays, shape: Shape) -> Arrays:
    """From the names and layout of the published file: its linear layers stand transposed, and one
    holds queries, keys and values."""
    tensors = {name.removeprefix("transformer."): x for name, x in tensors.items()}
    found = {
        "tokens.weight": tensors["wte.weight"],
        "positions.weight": tensors["wpe.weight"],
        "norm.weight": tensors["ln_f.weight"],
        "norm.bias": tensors["ln_f.bias"],
    }
    for layer in range(shape.layers):
        theirs, ours = f"h.{layer}.", f"blocks.{layer}."
        for kind in ("weight", "bias"):
            for name, here in NORMS.items():
                found[f"{ours}{here}.{kind}"] = tensors[f"{theirs}{name}.{kind}"]
            for name, here in LINEARS.items():
                found[f"{ours}{here}.{kind}"] = tensors[f"{theirs}{name}.{kind}"].T
            joined = tensors[f"{theirs}attn.c_attn.{kind}"].T  # [3d, d] or [3d]
            for here, part in zip(("query", "key", "value"), np.split(joined, 3), strict=True):
                found[f"{ours}attention.{here}.{kind}"] = part
    width = found["tokens.weight"].shape[-1]
    if width != shape.width:
        raise NotSafetensors(f"holds a model that is {width} wide, not {shape.width}")
    return found
