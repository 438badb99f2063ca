"""Runs that start from the final parameters of another run, such as finetuning.

The other run is an ordinary run: planned, trained once, stored, shared. Its parameters are stored
beside its result, and its key is part of the key of each run that starts from it.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

from repro.arm import Arm
from repro.core.files import RunFiles
from repro.core.study import Data, Study
from repro.data.safetensors import Arrays, read_tensors, write_tensors

Parameters = dict[str, Tensor]
"""Parameters by their names in the module."""


@runtime_checkable
class StartsFromRuns(Protocol):
    """A study with arms whose `starts_from` is another run."""

    def load_from(self, arm: Any, parameters: Parameters, device: torch.device) -> Data:
        """Return the data of an arm that starts from these parameters."""


def load_data(study: Study, arm: Arm, device: torch.device, files: RunFiles | None) -> Data:
    """Return the data of an arm, with the parameters that it starts from, if any."""
    base = arm.starts_from
    if base is None:
        return study.load(arm, device)
    assert files is not None, f"{arm.label} starts from a run; give the files of finished runs"
    assert isinstance(study, StartsFromRuns), f"{arm.study} has no load_from(arm, parameters, …)"
    return study.load_from(arm, as_parameters(read_tensors(files.load_weights(base))), device)


def as_parameters(arrays: Arrays) -> Parameters:
    """Copy arrays to tensors."""
    return {name: torch.from_numpy(x.copy()) for name, x in arrays.items()}


def to_file(parameters: Parameters) -> bytes:
    """Return parameters as a safetensors file; equal parameters give equal bytes."""
    return write_tensors({name: p.detach().cpu().numpy() for name, p in parameters.items()})
