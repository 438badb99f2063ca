"""The stacked engine against the plain loop on the ladder's `ci` programs, in one thread.

    python benchmarks/engines.py

Prints run-steps per second of both and their ratio, from one run of this command.
"""

import time

import torch

from repro.arm import Run
from repro.core.program import ENGINES
from repro.studies.depth_ladder.arms import D256_L4, D512_L2
from repro.studies.depth_ladder.study import STUDY

STEPS = 40
SEEDS = range(4)


def seconds_per_run_step(engine, runs):
    data = STUDY.load(runs[0].arm, torch.device("cpu"))
    program = ENGINES[engine](STUDY, runs, data, torch.device("cpu"))
    lines = torch.stack([data.epoch(run.seed, 0) for run in runs])
    size = runs[0].arm.recipe.batch
    for step in range(STEPS + 5):
        if step == 5:
            began = time.process_time()
        program.advance(data.batch(lines[:, step * size : (step + 1) * size]), 1.0)
    return (time.process_time() - began) / STEPS / len(runs)


def main():
    torch.set_num_threads(1)
    totals = {"loop": 0.0, "stacked": 0.0}
    print(f"{'program':24}{'loop':>12}{'stacked':>12}{'ratio':>8}   run-steps per second")
    for shape in (D256_L4, D512_L2):
        for rule in ("bp", "fa", "dfa"):
            arms = [arm.at("ci").located() for arm in shape.but(rule=rule).ladder()[::-1]]
            loop = sum(seconds_per_run_step("loop", [Run(arm, 1)]) for arm in arms) / len(arms)
            runs = [Run(arm, seed) for arm in arms for seed in SEEDS]
            stacked = seconds_per_run_step("stacked", runs)
            totals["loop"] += loop * len(arms)
            totals["stacked"] += stacked * len(arms)
            name = f"{rule} d={shape.width} L={shape.depth}"
            print(f"{name:24}{1 / loop:12.0f}{1 / stacked:12.0f}{loop / stacked:8.2f}")
    print(f"{'all':24}{'':24}{totals['loop'] / totals['stacked']:8.2f}")


if __name__ == "__main__":
    main()
