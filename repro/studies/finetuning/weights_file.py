"""Reads GPT-2's published weights, with the names of `gpt.Gpt`."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from repro.core.weights import Parameters
from repro.data.inventory import take_inventory
from repro.data.locate import DataError
from repro.studies.finetuning.public_weights import FILE
from repro.studies.finetuning.shape import SHAPES, Shape

NORMS = {"ln_1": "norm_attention", "ln_2": "norm_feed_forward"}
LINEARS = {"attn.c_proj": "attention.out", "mlp.c_fc": "up", "mlp.c_proj": "down"}


class NotGpt2(ValueError):
    """Tensors are not those of a GPT-2; the message continues after the file's name."""


def load_weights(size: str) -> Parameters:
    """Read the weights of a size as a copy in float32.

    The file is mapped into memory and copied tensor by tensor, to need less memory.
    """
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
    """Return the published tensors with the names and shapes of `gpt.Gpt`, as views.

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
    return tensor.to(torch.float32, copy=True, memory_format=torch.contiguous_format)
