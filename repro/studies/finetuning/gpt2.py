"""GPT-2 as it was published: its sizes, the file of each, and the weights in it.

Arms ask for sizes and files while pytest collects tests, so torch is imported where weights are
read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from repro.arm import Needs
from repro.data.files import is_here
from repro.data.inventory import sha256_of, take_inventory
from repro.data.locate import DataError, data_folder
from repro.data.registry import find

if TYPE_CHECKING:
    from torch import Tensor

    from repro.core.weights import Parameters

FILE = "model.safetensors"

NORMS = {"ln_1": "norm_attention", "ln_2": "norm_feed_forward"}
LINEARS = {"attn.c_proj": "attention.out", "mlp.c_fc": "up", "mlp.c_proj": "down"}


@dataclass(frozen=True)
class Shape:
    """The width, blocks, heads and context of a GPT."""

    width: int
    layers: int
    heads: int
    context: int = 1024

    @property
    def linears(self) -> list[tuple[int, int]]:
        """The numbers of inputs and outputs of a block's linear layers."""
        d = self.width
        return [(d, d)] * 4 + [(d, 4 * d), (4 * d, d)]

    def products(self, length: int) -> float:
        """Return the multiplications of one block for one token of a text of `length` tokens."""
        return sum(reads * gives for reads, gives in self.linears) + 2 * length * self.width


SHAPES = {
    "tiny": Shape(48, 4, 3, context=512),  # our own
    "mini": Shape(192, 6, 6, context=512),  # our own
    "small": Shape(768, 12, 12),
    "medium": Shape(1024, 24, 16),
    "large": Shape(1280, 36, 20),
    "xl": Shape(1600, 48, 25),
}
"""The shapes of GPT-2 by the source's names, and of the models that repro pretrains."""


def require_weights(size: str) -> None:
    """Raise `Needs` where the weights of a size are missing."""
    if not is_here(f"gpt2-{size}"):
        raise Needs(
            f"starts from GPT-2's {size} weights: run `python -m repro data fetch gpt2-{size}`"
        )


def weights_hash(size: str) -> str:
    """Return the SHA-256 of the file, or "" without a file."""
    path = data_folder() / find(f"gpt2-{size}").folder / FILE
    if not path.is_file():
        return ""
    status = path.stat()
    return _hash(path, status.st_mtime_ns, status.st_size)


@cache
def _hash(path: Path, changed: int, size: int) -> str:
    """Hash a file, once per process if it does not change, since the largest has six gigabytes."""
    return sha256_of(path)


class NotGpt2(ValueError):
    """Tensors are not those of a GPT-2; the message continues after the file's name."""


def load_weights(size: str) -> Parameters:
    """Read the weights of a size as a copy in float32.

    The file is mapped into memory and copied tensor by tensor, to need less memory.
    """
    from safetensors import SafetensorError, safe_open

    inventory = take_inventory(f"gpt2-{size}")
    path, advice = inventory.folder / FILE, f"run `python -m repro data fetch gpt2-{size}`"
    if inventory.faults:
        raise DataError(f"{path} is {inventory.faults[FILE]}; remove it and {advice}.")
    try:
        with safe_open(path, framework="pt") as file:
            names = file.keys()
            tensors = renamed({name: file.get_tensor(name) for name in names}, SHAPES[size])
            return {name: _own(tensor) for name, tensor in tensors.items()}
    except NotGpt2 as error:
        raise DataError(f"{path} {error}; remove it and {advice}.") from error
    except SafetensorError as error:
        raise DataError(f"{path} cannot be read ({error}); remove it and {advice}.") from error


def renamed(tensors: Mapping[str, Tensor], shape: Shape) -> Parameters:
    """Return the published tensors with the names and shapes of `model.Gpt`, as views.

    In the published file linear layers are transposed, and queries, keys and values are one layer.
    """
    published = {name.removeprefix("transformer."): x for name, x in tensors.items()}
    try:
        parameters = _renamed(published, shape.layers)
    except KeyError as error:
        raise NotGpt2(f"has no tensor {error}") from error
    width = parameters["tokens.weight"].shape[-1]
    if width != shape.width:
        raise NotGpt2(f"holds a model that is {width} wide, not {shape.width}")
    return parameters


def _renamed(published: Mapping[str, Tensor], layers: int) -> Parameters:
    parameters = {
        "tokens.weight": published["wte.weight"],
        "positions.weight": published["wpe.weight"],
        "norm.weight": published["ln_f.weight"],
        "norm.bias": published["ln_f.bias"],
    }
    for layer in range(layers):
        theirs, ours = f"h.{layer}.", f"blocks.{layer}."
        for kind in ("weight", "bias"):
            for name, here in NORMS.items():
                parameters[f"{ours}{here}.{kind}"] = published[f"{theirs}{name}.{kind}"]
            for name, here in LINEARS.items():
                parameters[f"{ours}{here}.{kind}"] = _turned(published[f"{theirs}{name}.{kind}"])
            joined = _turned(published[f"{theirs}attn.c_attn.{kind}"])  # [3d, d] or [3d]
            for here, part in zip(("query", "key", "value"), joined.chunk(3), strict=True):
                parameters[f"{ours}attention.{here}.{kind}"] = part
    return parameters


def _turned(tensor: Tensor) -> Tensor:
    """Transpose a matrix; leave a vector as it is."""
    return tensor.T if tensor.ndim == 2 else tensor


def _own(tensor: Tensor) -> Tensor:
    import torch

    return tensor.to(torch.float32, copy=True, memory_format=torch.contiguous_format)
