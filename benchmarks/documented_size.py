"""One run of each source at its documented size, trained part of the way: speed and memory.

    python benchmarks/documented_size.py                       # some minutes on one core
    python benchmarks/documented_size.py --device cuda --only sharing
    REPRO_DATA=/path/to/data python benchmarks/documented_size.py

Each run trains for `--seconds` in a process of its own, one run at a time as the plain loop does.
`hours` is what the whole run takes at that speed, without measuring; `guess` is what `--plan` says
before anything was timed. Peak memory is the process's own on a CPU, and torch's on a CUDA device.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import time
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import torch

from repro.arm import Arm, Run
from repro.core.device import ran_out_of_memory, resolve_device
from repro.core.program import ENGINES, parameters_of
from repro.core.weights import load_data
from repro.recipe import Moment
from repro.runs.progress import RATE
from repro.studies.context_vector.arms import ADVANCED, BASELINE
from repro.studies.depth_ladder.arms import D256_L4, D512_L2
from repro.studies.early_exit.arms import STANDARD, WIKITEXT
from repro.studies.find import study_of
from repro.studies.finetuning.arms import ROWS
from repro.studies.parameter_sharing.arms import BASELINE as DECODER

ARMS: dict[str, Arm] = {
    "000 early exit, standard": STANDARD.but(data=WIKITEXT),
    "001 context vector, baseline": BASELINE,
    "001 context vector, advanced": ADVANCED,
    "002 sharing, decoder": DECODER,
    "003 finetuning, random weights": ROWS[8],
    "004 ladder, BP d=256": D256_L4.ladder()[-1],
    "004 ladder, FA d=256": D256_L4.but(rule="fa").ladder()[-1],
    "004 ladder, DFA d=256": D256_L4.but(rule="dfa").ladder()[-1],
    "004 ladder, BP d=512": D512_L2.ladder()[-1],
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--only", default="", help="only those with this in their names")
    chosen = parser.parse_args()
    print("| run | parameters | steps | seconds a step | hours | guess | peak memory |")
    print("| --- | --: | --: | --: | --: | --: | --: |")
    for name in ARMS:
        if chosen.only in name:
            print(row(name, chosen.device, chosen.seconds), flush=True)


def row(name: str, device: str, seconds: float) -> str:
    """Return the row of one arm, trained in a process of its own."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        try:
            return pool.submit(measured, name, device, seconds).result()
        except (BrokenProcessPool, RuntimeError) as error:
            if not isinstance(error, BrokenProcessPool) and not ran_out_of_memory(error):
                raise
            return f"| {name} | | | | | | more than there is: {type(error).__name__} |"


def measured(name: str, device: str, seconds: float) -> str:
    """Return the row of one arm."""
    torch.set_num_threads(1)
    arm = ARMS[name].at("paper").located()
    there = torch.device(resolve_device(device))
    study = study_of(arm)
    data = load_data(study, arm, there, None)
    program = ENGINES["loop"](study, [Run(arm, 0)], data, there)
    batches = data.epoch(0, 0)[None].to(there).split(arm.recipe.batch, dim=1)
    full = [each for each in batches if each.shape[1] == arm.recipe.batch]
    steps, took = -1, 0.0  # the first step is left out
    while took < seconds:
        began = now(there)
        moment = Moment(step=steps + 1, per_epoch=len(full), total=arm.steps)
        program.advance(data.batch(full[(steps + 1) % len(full)]), moment)
        steps += 1
        took += (now(there) - began) if steps else 0.0
    a_step = took / steps
    parameters = sum(p.numel() for p in parameters_of(program.states()[0]).values())
    return (
        f"| {name} | {parameters:,} | {arm.steps:,} | {a_step:.3g} |"
        f" {arm.steps * a_step / 3600:.2g} | {arm.work / RATE / 3600:.2g} |"
        f" {peak(there) / 2**20:,.0f} MiB |"
    )


def now(device: torch.device) -> float:
    """Return this process's own time on a CPU, which others share; the clock's on a GPU."""
    if device.type != "cuda":
        return time.process_time()
    torch.cuda.synchronize()
    return time.perf_counter()


def peak(device: torch.device) -> float:
    """Return the bytes that were needed at most."""
    if device.type == "cuda":
        return float(torch.cuda.max_memory_allocated())
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
