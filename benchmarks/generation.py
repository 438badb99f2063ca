"""Early exit at inference: what is counted as saved, what is computed, and how much faster it is.

    python benchmarks/generation.py

Trains the configurations of source 000 that route, and one that does not, then has each continue
its validation text at full depth and with early exit, in turns. The answers of both are those of
the simulated routing, so what differs is the work alone.
"""

from __future__ import annotations

import argparse
import statistics
import time

import torch

from repro.arm import Run
from repro.core.device import one_thread
from repro.core.program import LoopProgram
from repro.recipe import Moment
from repro.studies.early_exit.arms import PRESETS, ExitArm
from repro.studies.early_exit.generate import Generated, generate
from repro.studies.early_exit.model import EarlyExitTransformer
from repro.studies.early_exit.study import STUDY

DOCUMENTED = {  # share of the computation saved, in the source's ranking
    "deep supervision, early exit": 0.534,
    "auxiliary loss": 0.348,
    "asymmetric 0.7": 0.350,
    "increasing rates": 0.279,
    "decreasing rates": 0.348,
}
CPU = torch.device("cpu")
PROMPT = 64


def trained(arm: ExitArm) -> EarlyExitTransformer:
    """The network after one epoch, the best of all these configurations."""
    data = STUDY.load(arm, CPU)
    program = LoopProgram(STUDY, [Run(arm, 42)], data, CPU)
    batches = data.epoch(42, 0).split(arm.recipe.batch)
    for step, lines in enumerate(batches):
        at = Moment(step=step, per_epoch=len(batches), total=len(batches))
        program.advance(data.batch(lines[None]), at)
    return program.model.module


def timed(
    network: EarlyExitTransformer, prompt: torch.Tensor, count: int, threshold: float
) -> tuple[Generated, float]:
    began = time.process_time()
    found = generate(network, prompt, count=count, threshold=threshold)
    return found, time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--characters", type=int, default=256, help="generated each time")
    parser.add_argument("--rounds", type=int, default=9, help="timed each way")
    options = parser.parse_args()
    one_thread()
    print(f"{'':30}{'documented':>11}{'left early':>11}{'computed':>9}{'calls':>7}{'speed-up':>10}")
    for name, saved in DOCUMENTED.items():
        arm = PRESETS[name]
        network, text = trained(arm), STUDY.load(arm, CPU).validation.flatten(0, 1)
        ratios = []
        for start in range(options.rounds):
            prompt = text[start, :PROMPT]
            full, slow = timed(network, prompt, options.characters, 0.0)
            early, fast = timed(network, prompt, options.characters, arm.routing_threshold)
            ratios.append(slow / fast)
        left = float((early.depths < arm.layers).float().mean())
        print(
            f"{name:30}{saved:>10.1%} {left:>10.1%} {early.applied / full.applied:>8.1%}"
            f" {early.calls / full.calls:>6.1%} {statistics.median(ratios):>8.2f}x"
        )
    print(
        "documented: share of the computation said to be saved; left early: tokens that left after"
        " layer 1;\ncomputed and calls: applications of a layer to a position, and calls of a"
        " layer, as shares of full depth"
    )


if __name__ == "__main__":
    main()
