"""Checks that a study draws its random numbers from the streams of its runs.

Numbers from torch's global generator depend on earlier code in the same process. A run that uses
them could not be resumed, batched with other runs, or trained again to the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import nn

from repro.arm import Arm, Run
from repro.core.study import Data, Study

_LOOKED_AT: set[Arm] = set()
"""Arms whose initialisation this process has checked."""


class BadRandomness(Exception):
    """A study uses the wrong random numbers, or none; the message says what to do."""


def _uses_cuda() -> bool:
    return bool(torch.cuda.is_initialized())  # type: ignore[no-untyped-call]


@contextmanager
def drawing_from(seed: int) -> Iterator[None]:
    """Seed torch's global generators within the block, and restore them after it."""
    # without use of CUDA its generator is left out: a forked loader process must not touch CUDA
    cuda = [torch.cuda.current_device()] if _uses_cuda() else []
    with torch.random.fork_rng(devices=cuda):
        torch.manual_seed(seed)
        yield


@contextmanager
def no_global_draws(arm: Arm, doing: str, device: torch.device) -> Iterator[None]:
    """Raise `BadRandomness` if the block draws from torch's global generators."""
    before = _states_of_generators(device)
    yield
    if not _same(before, _states_of_generators(device)):
        raise BadRandomness(
            f"{arm.study} draws from torch's global generators while {doing}, so its results would"
            " depend on what else was trained; draw from stream(run.seed, NAME) instead, with"
            " generator=…"
        )


def look_at_initialisation(study: Study, run: Run, data: Data, device: torch.device) -> None:
    """Raise `BadRandomness` if the seed does not determine the first state of a run."""
    if run.training.arm in _LOOKED_AT:
        return
    with drawing_from(1):
        first = _state(study, run, data, device)
    with drawing_from(2):
        again = _state(study, run, data, device)
        other = _state(study, Run(run.arm, run.seed + 1), data, device)
    if not _same(first, again):
        raise BadRandomness(
            f"{run.arm.study} initialises its parameters from torch's global generator, so two runs"
            " of one seed would differ; draw them from stream(run.seed, NAME) instead, with"
            " generator=…"
        )
    if _same(first, other):
        raise BadRandomness(
            f"{run.arm.study} trains every seed alike: the same initial parameters, the same order"
            " of the data. What is the same in every run has no spread to judge by; draw one of"
            " them from stream(seed, NAME)."
        )
    _LOOKED_AT.add(run.training.arm)


def _states_of_generators(device: torch.device) -> list[torch.Tensor]:
    here = [torch.get_rng_state()]
    return [*here, torch.cuda.get_rng_state(device)] if device.type == "cuda" else here


def _state(study: Study, run: Run, data: Data, device: torch.device) -> list[torch.Tensor]:
    module: nn.Module = study.reference(run, data, device).module
    return [*module.state_dict().values(), data.epoch(run.seed, 0)]


def _same(first: Sequence[torch.Tensor], second: Sequence[torch.Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
