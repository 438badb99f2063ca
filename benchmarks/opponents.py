"""The core against the loop that a researcher would write, for each study's `ci` programs.

    python benchmarks/opponents.py                  # some minutes; nothing else should be running
    python benchmarks/opponents.py --only ladder

The opponent is plain PyTorch: one model after another, autograd, AdamW. `default` leaves everything
as it is: one process, torch's threads. `best` does what can be done without changing the loop: one
thread a process, as many processes as `--processes`, the fused optimiser. Each ratio is of steps of
runs in a second, by the core over the opponent, with as many processes; above 1 the core is faster.
Both take batches of their own data, and neither evaluates.

`of the peak` is what one process of the core does in matrix products (the whole step's time counts,
whatever it is spent on) over the fastest product of two square matrices on the same core.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from multiprocessing.synchronize import Barrier

import torch
from torch.utils.flop_counter import (
    FlopCounterMode,
    sdpa_backward_flop_count,
    sdpa_flop_count,
)

from repro.arm import Arm, Run
from repro.core.initial import as_gpt2
from repro.core.program import ENGINES
from repro.core.study import Data
from repro.core.weights import load_data, to_file
from repro.recipe import Moment
from repro.runs.identity import engine_of
from repro.runs.queue import widest
from repro.studies.context_vector.arms import ADVANCED, BASELINE
from repro.studies.depth_ladder.arms import D256_L4, D512_L2
from repro.studies.early_exit.arms import ASYMMETRIC, ONE_LAYER, STANDARD, WIKITEXT
from repro.studies.find import study_of
from repro.studies.finetuning.arms import FIRST_ROW, ROWS, FinetuneArm
from repro.studies.finetuning.gpt import Gpt
from repro.studies.parameter_sharing.arms import BASELINE as DECODER

CPU = torch.device("cpu")
PROGRAMS: dict[str, Sequence[Arm]] = {
    "ladder, BP d=256": D256_L4.ladder()[::-1],
    "ladder, FA d=256": D256_L4.but(rule="fa").ladder()[::-1],
    "ladder, DFA d=512": D512_L2.but(rule="dfa").ladder()[::-1],
    "early exit, sentences": [STANDARD, ASYMMETRIC],
    "early exit, WikiText": [STANDARD.but(data=WIKITEXT), ASYMMETRIC.but(data=WIKITEXT)],
    "early exit, one layer": [ONE_LAYER.but(data=WIKITEXT)],
    "context vectors, baseline": [BASELINE],
    "context vectors, advanced": [ADVANCED],
    "finetuning, all": [FIRST_ROW.but(trained="all", start="random")],
    "finetuning, last block": [ROWS[1]],
    "sharing, decoder": [DECODER],
    "sharing, encoder": [DECODER.but(kind="encoder")],
}

SECONDS = 3.0
"""How long each is measured."""

CHUNK = 20
"""Steps of the plain loop before it goes on with another of its models."""

Step = Callable[[], int]
"""Takes some steps, and says of how many runs."""


@dataclass(frozen=True)
class Untrained:
    """In place of what arms start from, which here needs only be as large."""

    arm: FinetuneArm

    def load_weights(self, run: Run) -> bytes:
        gpt = Gpt(self.arm.shape, vocabulary=self.arm.vocabulary)
        as_gpt2(gpt, run.seed, layers=self.arm.shape.layers)
        return to_file({name: p.detach() for name, p in gpt.named_parameters()})

    def load_checkpoint(self, run: Run) -> bytes | None:
        return None

    def save_checkpoint(self, run: Run, payload: bytes) -> None:
        raise AssertionError("nothing is trained to its end here")

    def drop_checkpoint(self, run: Run, why: str) -> None:
        raise AssertionError("nothing is loaded here")


def start_of(arm: Arm) -> Untrained | None:
    return Untrained(arm) if isinstance(arm, FinetuneArm) else None


def data_of(arm: Arm) -> Data:
    return load_data(study_of(arm), arm, CPU, start_of(arm))


def arms_of(name: str) -> list[Arm]:
    return [arm.at("ci").located() for arm in PROGRAMS[name]]


def batches(data: Data, runs: Sequence[Run]) -> Iterator[tuple[torch.Tensor, ...]]:
    """The batches of one epoch after another."""
    size = runs[0].arm.recipe.batch
    for number in range(10**6):
        epoch = torch.stack([data.epoch(run.seed, number) for run in runs])
        for start in range(0, epoch.shape[1] - size + 1, size):
            yield data.batch(epoch[:, start : start + size])


def by_core(name: str, *, engine: str, width: int) -> Step:
    arms = arms_of(name)
    runs = sorted(
        (Run(arms[i % len(arms)], i) for i in range(width)), key=lambda run: -run.arm.effort
    )
    data = data_of(arms[0])
    program = ENGINES[engine](study_of(arms[0]), runs, data, CPU)
    coming = batches(data, runs)

    def step() -> int:
        program.advance(next(coming), Moment(step=1, per_epoch=10, total=1000))
        return len(runs)

    return step


def plain_loop(run: Run, data: Data, *, fused: bool | None) -> Callable[[], None]:
    """Takes a step of one model, as a researcher would write it."""
    model, recipe = study_of(run.arm).reference(run, data, CPU), run.arm.recipe
    parameters = [p for p in model.module.parameters() if p.requires_grad]
    kind = {"adamw": torch.optim.AdamW, "adam": torch.optim.Adam}[recipe.optimiser]
    optimiser = kind(parameters, lr=recipe.lr, weight_decay=recipe.weight_decay, fused=fused)
    limit, coming = recipe.clip_at(0), batches(data, [run])

    def step() -> None:
        objective, _ = model.loss(*(part[0] for part in next(coming)))
        optimiser.zero_grad()
        objective.backward()
        if limit is not None:
            torch.nn.utils.clip_grad_norm_(parameters, limit)
        optimiser.step()

    return step


def by_plain_loop(name: str, *, fused: bool | None) -> Step:
    arms = arms_of(name)
    data = data_of(arms[0])
    models = cycle([plain_loop(Run(arm, 1), data, fused=fused) for arm in arms])

    def step() -> int:
        model = next(models)
        for _ in range(CHUNK):
            model()
        return CHUNK

    return step


def rate(prepare: Callable[[], Step], threads: int, start: Barrier) -> float:
    """Steps of runs in a second, in this process, while the others are at it too."""
    torch.set_num_threads(threads)
    step = prepare()
    for _ in range(3):
        step()
    start.wait()
    began, done = time.perf_counter(), 0
    while time.perf_counter() - began < SECONDS:
        done += step()
    return done / (time.perf_counter() - began)


def together(prepare: Callable[[], Step], *, threads: int, processes: int) -> float:
    """Steps of runs in a second, of so many processes."""
    context = multiprocessing.get_context("spawn")
    with (
        context.Manager() as manager,
        ProcessPoolExecutor(processes, mp_context=context) as pool,
    ):
        start = manager.Barrier(processes)
        return sum(pool.map(rate, *zip(*[(prepare, threads, start)] * processes, strict=True)))


def products(prepare: Callable[[], Step]) -> float:
    """Operations of the matrix products in a step of one run."""
    torch.set_num_threads(1)
    step = prepare()
    aten = torch.ops.aten
    attention = {
        aten._scaled_dot_product_flash_attention_for_cpu: lambda q, k, v, *_, **__: sdpa_flop_count(
            q, k, v
        ),
        aten._scaled_dot_product_flash_attention_for_cpu_backward: lambda g, q, k, v, *_, **__: (
            sdpa_backward_flop_count(g, q, k, v)
        ),
    }
    with FlopCounterMode(display=False, custom_mapping=attention) as counter:
        runs = step()
    return counter.get_total_flops() / runs


def peak() -> float:
    """Operations a second of the fastest product of two square matrices, on one core."""
    torch.set_num_threads(1)
    best = 0.0
    for size in (128, 256, 512, 1024):
        a = torch.randn(size, size)
        for _ in range(10):
            began = time.perf_counter()
            torch.mm(a, a)
            best = max(best, 2 * size**3 / (time.perf_counter() - began))
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", metavar="TEXT", help="programs named so")
    parser.add_argument("--processes", type=int, default=4)
    options = parser.parse_args()
    cores, processes = os.cpu_count() or 1, options.processes
    print(f"{cores} cores, {processes} processes; core / plain loop, in steps of runs a second")
    print(f"{'program':28}{'engine':>12}{'default':>10}{'best':>8}{'of the peak':>14}")
    for name in (name for name in PROGRAMS if options.only in name):
        arms = arms_of(name)
        torch.set_num_threads(1)
        engine, width = engine_of(arms[0]), widest(arms[0], "cpu")
        core = partial(by_core, name, engine=engine, width=width)
        alone = together(core, threads=1, processes=1)
        share = alone * products(core) / peak()
        default = together(partial(by_plain_loop, name, fused=None), threads=cores, processes=1)
        ours = together(core, threads=1, processes=processes)
        best = together(partial(by_plain_loop, name, fused=True), threads=1, processes=processes)
        print(
            f"{name:28}{f'{engine} x{width}':>12}"
            f"{alone / default:>10.2f}{ours / best:>8.2f}{share:>14.0%}",
            flush=True,
        )


if __name__ == "__main__":
    main()
