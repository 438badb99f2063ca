"""Checks that a study draws its random numbers from the streams of its runs.

What is drawn from torch's global generator depends on whatever ran before in the same process. A
run that used it could not be resumed, trained in other company, or trained again to the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import nn

from repro.arm import Arm, Run
from repro.core.study import Data, Study

_LOOKED_AT: set[Arm] = set()
"""Arms whose initialisation this process has looked at."""


class BadRandomness(Exception):
    """A study draws where it must not, or nothing where it should; says what to do."""


def _uses_cuda() -> bool:
    return bool(torch.cuda.is_initialized())  # type: ignore[no-untyped-call]


@contextmanager
def drawing_from(seed: int) -> Iterator[None]:
    """Let torch's global generators draw from a seed; afterwards they are as before."""
    # where nothing has used CUDA it draws nothing, as in a process that was forked to load data
    cuda = [torch.cuda.current_device()] if _uses_cuda() else []
    with torch.random.fork_rng(devices=cuda):
        torch.manual_seed(seed)
        yield


@contextmanager
def no_global_draws(arm: Arm, doing: str, device: torch.device) -> Iterator[None]:
    """Raises `BadRandomness` where the block drew from torch's global generators."""
    before = _states_of_generators(device)
    yield
    if not _same(before, _states_of_generators(device)):
        raise BadRandomness(
            f"{arm.study} draws from torch's global generators while {doing}, so its results would"
            " depend on what else was trained; draw from stream(run.seed, NAME) instead, with"
            " generator=…"
        )


def look_at_initialisation(study: Study, run: Run, data: Data, device: torch.device) -> None:
    """Raises `BadRandomness` where the first state of a run is not decided by its seed."""
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
