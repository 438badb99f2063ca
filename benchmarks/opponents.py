"""The core against what people would use instead, for each study's `ci` programs.

    python benchmarks/opponents.py                  # ten minutes; nothing else should be running
    python benchmarks/opponents.py --only ladder
    python benchmarks/opponents.py --quick          # one program, half a second each

Prints the table of `benchmarks/NOTES.md`: steps of runs in a second, by the core over the opponent;
above 1 the core is faster. All take batches of the core's data, and nobody evaluates. Opponents:

`loop`     the core's own plain engine, one run after another, on one thread
`default`  plain PyTorch as it is: one model after another, autograd, AdamW, torch's threads
`best`     what can be done without changing that loop: one thread a process, as many processes as
           `--processes`, the fused optimiser; the core has as many processes
`jax`      `jax.vmap` of a compiled step, on one thread (`in_jax.py`, with the extra `benchmark`;
           `-` where it is not installed, or has no model of the program)
"""

from __future__ import annotations

import argparse
import importlib.util
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

from repro.arm import Arm, Run
from repro.core.initial import as_gpt2
from repro.core.program import ENGINES
from repro.core.study import Data
from repro.core.weights import load_data, to_file
from repro.recipe import Moment
from repro.runs.identity import engine_of
from repro.runs.queue import widest
from repro.studies import study_of
from repro.studies.context_vector.arms import ADVANCED, BASELINE
from repro.studies.depth_ladder.arms import D256_L4, D512_L2
from repro.studies.early_exit.arms import ASYMMETRIC, ONE_LAYER, STANDARD, WIKITEXT
from repro.studies.finetuning.arms import FIRST_ROW, ROWS, FinetuneArm
from repro.studies.finetuning.model import Gpt
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
IN_JAX = {"ladder, BP d=256": "ladder"}
WIDTHS = (1, 4, 8, 16)
"""The runs that JAX takes at once: whatever is fastest."""

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


def data_of(arm: Arm) -> Data:
    return load_data(
        study_of(arm), arm, CPU, Untrained(arm) if isinstance(arm, FinetuneArm) else None
    )


def arms_of(name: str) -> list[Arm]:
    return [arm.at("ci").located() for arm in PROGRAMS[name]]


def batches(data: Data, runs: Sequence[Run]) -> Iterator[tuple[torch.Tensor, ...]]:
    """Yield the batches of one epoch after another."""
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
    """Return what takes a step of one model, as a researcher would write it."""
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


def by_jax(name: str, *, width: int) -> Step:
    from in_jax import MODELS, stepping  # where jax is installed

    arm = arms_of(name)[0]
    data, runs = data_of(arm), [Run(arm, seed) for seed in range(width)]
    return stepping(MODELS[IN_JAX[name]], runs, next(batches(data, runs)), data)


def rate(prepare: Callable[[], Step], threads: int, seconds: float, start: Barrier) -> float:
    """Return the steps of runs in a second, in this process, while the others are at it too."""
    torch.set_num_threads(threads)
    step = prepare()
    for _ in range(3):
        step()
    start.wait()
    began, done = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        done += step()
    return done / (time.perf_counter() - began)


def together(
    prepare: Callable[[], Step], *, seconds: float, threads: int = 1, processes: int = 1
) -> float:
    """Return the steps of runs in a second, of so many processes."""
    context = multiprocessing.get_context("spawn")
    with (
        context.Manager() as manager,
        ProcessPoolExecutor(processes, mp_context=context) as pool,
    ):
        start = manager.Barrier(processes)
        given = [(prepare, threads, seconds, start)] * processes
        return sum(pool.map(rate, *zip(*given, strict=True)))


def row(name: str, *, seconds: float, processes: int) -> str:
    """Return the ratios of one program as a line."""
    arms, measure = arms_of(name), partial(together, seconds=seconds)
    engine, width = engine_of(arms[0]), widest(arms[0], "cpu")
    core = partial(by_core, name, engine=engine, width=width)
    alone, ours = measure(core), measure(core, processes=processes)
    loop = measure(partial(by_core, name, engine="loop", width=1))
    default = measure(partial(by_plain_loop, name, fused=None), threads=os.cpu_count() or 1)
    best = measure(partial(by_plain_loop, name, fused=True), processes=processes)
    ratios = f"{alone / loop:>8.2f}{alone / default:>10.2f}{ours / best:>8.2f}"
    if name in IN_JAX and importlib.util.find_spec("jax"):
        jax = max(measure(partial(by_jax, name, width=width)) for width in WIDTHS)
        ratios += f"{alone / jax:>8.2f}"
    else:
        ratios += f"{'-':>8}"
    return f"{name:28}{f'{engine} x{width}':>12}{ratios}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", metavar="TEXT", help="programs named so")
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--quick", action="store_true", help="one program, half a second each")
    options = parser.parse_args()
    names = [name for name in PROGRAMS if options.only in name]
    print(f"{os.cpu_count()} cores, {options.processes} processes; core over opponent")
    print(f"{'program':28}{'engine':>12}{'loop':>8}{'default':>10}{'best':>8}{'jax':>8}")
    for name in names[: 1 if options.quick else None]:
        seconds = 0.5 if options.quick else 3.0
        print(row(name, seconds=seconds, processes=options.processes), flush=True)


if __name__ == "__main__":
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")  # one thread, as we do
    main()
