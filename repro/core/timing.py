"""Measures how fast a program trains here: by which engine, with how many runs at once.

Stacking must earn its place, and how much it earns depends on the program and the machine. So each
program is timed for a few steps by both engines before it is trained for the first time.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import torch

from repro.arm import Arm, Run
from repro.core.device import ran_out_of_memory
from repro.core.files import RunFiles
from repro.core.program import ENGINES
from repro.core.speed import Speed, unknown_speed
from repro.core.study import Data, Study, TrainsOutside
from repro.core.weights import load_data
from repro.recipe import Moment

WIDTHS = {"cpu": (4, 8, 16), "mps": (8, 32), "cuda": (8, 32, 128)}
WARMUP_STEPS, TIMED_STEPS = 2, 6

WORTH_CHANGING = 0.9
"""A candidate is taken over an earlier one when it takes less than this share of its time."""


def measure_speed(
    study: Study | TrainsOutside,
    arms: Sequence[Arm],
    *,
    engine: str,
    device: torch.device,
    files: RunFiles | None = None,
) -> Speed:
    """Time a program's engines and widths; `engine` may be `auto`.

    What does not get through a few steps, such as a width that memory cannot hold, is left out.
    Where nothing does, the speed has no seconds: training will tell why.

    >>> measure_speed(STUDY, D256_L4.at("ci").ladder(), engine="auto", device=torch.device("cpu"))
    """
    has_no_choice = engine != "stacked" and not arms[0].stacks
    if isinstance(study, TrainsOutside) or (has_no_choice and not arms[0].steps):
        return Speed("loop", 1, 0.0)
    narrow, *wider = WIDTHS[device.type]
    candidates = [("loop", 1)]
    if arms[0].stacks:
        candidates = [("stacked", narrow), *candidates, *(("stacked", width) for width in wider)]
    if engine != "auto":
        candidates = [c for c in candidates if c[0] == engine]
    best = unknown_speed(engine)
    refused = ""
    with suppress(Exception):
        data = load_data(study, arms[0], device, files)
        for place, (name, width) in enumerate(candidates):
            if best.engine == "loop" and place > 1:
                break  # stacking a few has lost to the loop: wider ones take long to lose too
            runs = [Run(arms[i % len(arms)], i) for i in range(width)]
            runs.sort(key=lambda run: -run.arm.effort)
            try:
                seconds = _seconds(study, runs, data, name, device)
            except Exception as error:
                if name == "stacked" and not ran_out_of_memory(error):
                    refused = refused or f"{type(error).__name__}: {error}"
                continue
            if seconds < WORTH_CHANGING * best.seconds:
                best = Speed(name, width, seconds)
    return replace(best, not_stacked=refused if best.engine == "loop" else "")


def _seconds(study: Study, runs: list[Run], data: Data, engine: str, device: torch.device) -> float:
    """Seconds for one step of one run."""
    program, size = ENGINES[engine](study, runs, data, device), runs[0].arm.recipe.batch
    epoch = torch.stack([data.epoch(run.seed, 0) for run in runs]).to(device)
    batch = data.batch(epoch[:, :size])
    began, total = 0.0, WARMUP_STEPS + TIMED_STEPS
    for step in range(total):
        if step == WARMUP_STEPS:
            began = _now(device)
        program.advance(batch, Moment(step=step, per_epoch=total, total=total))
    return (_now(device) - began) / TIMED_STEPS / len(runs)


def _now(device: torch.device) -> float:
    """This process's own time on a CPU, which neighbours share; the clock's on an accelerator."""
    if device.type == "cpu":
        return time.process_time()
    if device.type == "cuda":
        torch.cuda.synchronize()
    if device.type == "mps":
        torch.mps.synchronize()
    return time.perf_counter()
