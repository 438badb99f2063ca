"""The core against what people would use instead, for each study's `ci` programs.

    python benchmarks/opponents.py                  # ten minutes
    python benchmarks/opponents.py --only ladder
    python benchmarks/opponents.py --quick          # one program, a tenth of the time

Prints the table of `benchmarks/NOTES.md`: steps of runs in a CPU second, by the core over the
opponent; above 1 the core needs less. The core and its opponents take turns on one thread of one
process. A program whose data is missing is skipped. All take batches of the core's data, and nobody
evaluates. Opponents:

`loop`     the core's own plain engine, one run after another; the core itself where nothing stacks
`default`  plain PyTorch as it is: one model after another, autograd, AdamW
`best`     the same with the fused optimiser
`jax`      `jax.vmap` of a compiled step, for whatever number of runs is fastest (`in_jax.py`, with
           the extra `benchmark`; `-` where it is not installed, or has no model of the program)
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import cycle

import torch

from repro.arm import Arm, Needs, Run
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
IN_JAX = {
    "ladder, BP d=256": "ladder",
    "early exit, sentences": "early exit",
    "early exit, WikiText": "early exit",
    "context vectors, baseline": "context vectors",
    "context vectors, advanced": "context vectors",
}
WIDTHS = (1, 4, 8, 16)
"""The runs that JAX takes at once."""

OPPONENTS = ("loop", "default", "best", "jax")
ROUNDS = 5

CHUNK = 5
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


def rate(step: Step, *, seconds: float) -> float:
    """Return the steps of runs in a CPU second, over so many CPU seconds of this process."""
    step()  # the caches hold what the one before it needed
    began, done = time.process_time(), 0
    while time.process_time() - began < seconds:
        done += step()
    return done / (time.process_time() - began)


def row(name: str, *, seconds: float) -> str:
    """Return the ratios of one program as a line."""
    arms = arms_of(name)
    engine = engine_of(arms[0])
    width = widest(arms[0], "cpu") if engine == "stacked" else 1  # a loop's runs train in turn
    core = by_core(name, engine=engine, width=width)
    opponents = {
        "loop": by_core(name, engine="loop", width=1) if engine == "stacked" else core,
        "default": by_plain_loop(name, fused=None),
        "best": by_plain_loop(name, fused=True),
    }
    if has_jax(name):
        each = [by_jax(name, width=width) for width in WIDTHS]
        opponents["jax"] = max(each, key=partial(rate, seconds=seconds))
    found: dict[str, list[float]] = {kind: [] for kind in OPPONENTS}
    for _ in range(ROUNDS):  # in turns, since a machine is not equally fast for long
        ours = rate(core, seconds=seconds)
        for kind, step in opponents.items():
            found[kind].append(ours / rate(step, seconds=seconds))
    return f"{name:28}{f'{engine} x{width}':>12}" + "".join(map(in_words, found.values()))


def has_jax(name: str) -> bool:
    return name in IN_JAX and importlib.util.find_spec("jax") is not None


def in_words(ratios: list[float]) -> str:
    """Return the median of ratios, and half their range."""
    if not ratios:
        return f"{'-':>14}"
    half = (max(ratios) - min(ratios)) / 2
    return f"{f'{statistics.median(ratios):.2f} ± {half:.2f}':>14}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", metavar="TEXT", help="programs named so")
    parser.add_argument("--quick", action="store_true", help="one program, a tenth of the time")
    options = parser.parse_args()
    names = [name for name in PROGRAMS if options.only in name]
    print(f"core over opponent, steps of runs a CPU second; {ROUNDS} rounds, ± half their range")
    print(f"{'program':28}{'engine':>12}" + "".join(f"{kind:>14}" for kind in OPPONENTS))
    for name in names[: 1 if options.quick else None]:
        try:
            print(row(name, seconds=0.05 if options.quick else 0.5), flush=True)
        except Needs as error:
            print(f"{name:28}skipped: it {error}", flush=True)


if __name__ == "__main__":
    flags = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"  # one thread
    os.environ.setdefault("XLA_FLAGS", flags)
    torch.set_num_threads(1)
    main()
