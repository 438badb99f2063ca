"""The core against `jax.vmap`, on the ladder and on the transformer of early exit.

    pip install -e ".[benchmark]"
    python benchmarks/in_jax.py

Both take the same runs through the same batches on one core: here by one compiled function, with
the runs as the axis of `vmap` (1, 4, 8 or 16 of them, whatever is fastest), and AdamW written out.
Their losses on the first batch must agree; then steps of runs a second are compared, above 1 the
core is faster. Compiling is not counted.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import torch
from jax import Array

from repro.arm import Arm, Run
from repro.core.program import ENGINES
from repro.core.study import Data, Study
from repro.recipe import Moment
from repro.runs.identity import engine_of
from repro.runs.queue import widest
from repro.studies.depth_ladder.arms import D256_L4, D512_L2
from repro.studies.early_exit.arms import STANDARD, WIKITEXT
from repro.studies.early_exit.model import NORM_EPSILON, ROTARY_BASE
from repro.studies.find import study_of

CPU = torch.device("cpu")
SECONDS, ROUNDS = 2.0, 3
WIDTHS = (1, 4, 8, 16)
Parameters = dict[str, Array]


def ladder_loss(arm: Any, p: Parameters, x: Array, y: Array) -> Array:
    def norm(h: Array) -> Array:
        return (h - h.mean(-1, keepdims=True)) * jax.lax.rsqrt(h.var(-1, keepdims=True) + 1e-5)

    def linear(name: str, x: Array) -> Array:
        return x @ p[f"{name}.weight"].T + p[f"{name}.bias"]

    h = linear("embed", x)
    for b in range(arm.depth):
        h = h + linear(
            f"blocks.{b}.down", jax.nn.gelu(linear(f"blocks.{b}.up", norm(h)), approximate=False)
        )
    logits = linear("head", norm(h) * p["norm.weight"] + p["norm.bias"])
    return cross_entropy(logits, y)


def transformer_loss(arm: Any, p: Parameters, x: Array, y: Array, _epoch: Array) -> Array:
    batch, length = x.shape
    half = arm.width // arm.heads // 2
    angles = jnp.arange(length)[:, None] * ROTARY_BASE ** (-jnp.arange(half) / half)  # [T, d/2H]
    cos, sin = jnp.cos(angles)[:, None], jnp.sin(angles)[:, None]
    past = jnp.tril(jnp.ones((length, length), dtype=bool))

    def norm(name: str, h: Array) -> Array:
        scale = jax.lax.rsqrt(jnp.square(h).mean(-1, keepdims=True) + NORM_EPSILON)
        return h * scale * p[f"{name}.weight"]

    def heads(h: Array) -> Array:  # [B, T, d] -> [B, T, H, d/H]
        return h.reshape(batch, length, arm.heads, -1)

    def turned(h: Array) -> Array:
        a, b = h[..., :half], h[..., half:]
        return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)

    h = p["embedding.weight"][x]
    for n in range(arm.layers):
        name = f"blocks.{n}.attention"
        q, k, v = (heads(h @ p[f"{name}.{part}.weight"].T) for part in ("query", "key", "value"))
        scores = jnp.einsum("bthd,bshd->bhts", turned(q), turned(k)) * (2 * half) ** -0.5
        mixed = jnp.einsum("bhts,bshd->bthd", jax.nn.softmax(jnp.where(past, scores, -jnp.inf)), v)
        h = norm(
            f"blocks.{n}.norm_attention", h + mixed.reshape(h.shape) @ p[f"{name}.out.weight"].T
        )
        gate, up, down = (p[f"blocks.{n}.{part}.weight"].T for part in ("gate", "up", "down"))
        h = norm(f"blocks.{n}.norm_feed_forward", h + (jax.nn.silu(h @ gate) * (h @ up)) @ down)
    return cross_entropy(h @ p["head.weight"].T, y)


def cross_entropy(logits: Array, y: Array) -> Array:
    log_p = jax.nn.log_softmax(logits)
    return -jnp.take_along_axis(log_p, y[..., None], axis=-1).mean()


PROGRAMS: dict[str, tuple[Arm, Callable[..., Array]]] = {
    "ladder, BP d=256": (D256_L4, ladder_loss),
    "ladder, BP d=512": (D512_L2, ladder_loss),
    "early exit, sentences": (STANDARD, transformer_loss),
    "early exit, WikiText": (STANDARD.but(data=WIKITEXT), transformer_loss),
}


def compiled(arm: Arm, loss: Callable[..., Array], parts: int) -> Callable[..., Any]:
    """One step of all runs, on batches of so many parts: losses, and AdamW."""
    recipe = arm.recipe

    def norm(gradients: Parameters) -> Array:
        return jnp.sqrt(sum(jnp.square(g).sum() for g in gradients.values()))

    def step(p: Parameters, m: Parameters, v: Parameters, t: Array, *batch: Array) -> Any:
        found, gradients = jax.value_and_grad(partial(loss, arm))(p, *batch)
        if recipe.clip is not None:
            shrink = jnp.minimum(1.0, recipe.clip / (norm(gradients) + 1e-6))
            gradients = {name: g * shrink for name, g in gradients.items()}
        m = {name: 0.9 * m[name] + 0.1 * g for name, g in gradients.items()}
        v = {name: 0.999 * v[name] + 0.001 * g * g for name, g in gradients.items()}
        p = {
            name: x * (1 - recipe.lr * recipe.weight_decay)
            - recipe.lr * (m[name] / (1 - 0.9**t)) / (jnp.sqrt(v[name] / (1 - 0.999**t)) + 1e-8)
            for name, x in p.items()
        }
        return found, p, m, v

    every = jax.vmap(step, in_axes=(0, 0, 0, None, *[0] * parts))
    return jax.jit(every, donate_argnums=(0, 1, 2))


def first_batch(data: Data, runs: Sequence[Run]) -> tuple[torch.Tensor, ...]:
    epoch = torch.stack([data.epoch(run.seed, 0) for run in runs])
    return data.batch(epoch[:, : runs[0].arm.recipe.batch])


def by_core(study: Study, runs: list[Run], data: Data, engine: str) -> Callable[[], object]:
    """Takes a step of these runs."""
    program, batch = ENGINES[engine](study, runs, data, CPU), first_batch(data, runs)
    return partial(program.advance, batch, Moment(step=1, per_epoch=9, total=99))


class ByJax:
    """Takes a step of these runs; the first one's losses are held against PyTorch's."""

    def __init__(
        self, study: Study, runs: list[Run], data: Data, loss: Callable[..., Array]
    ) -> None:
        models, batch = [study.reference(run, data, CPU) for run in runs], first_batch(data, runs)
        states = [dict(model.module.named_parameters()) for model in models]
        p = {
            name: jnp.stack([jnp.asarray(state[name].detach().numpy()) for state in states])
            for name in states[0]
        }
        m, v = ({name: jnp.zeros_like(x) for name, x in p.items()} for _ in range(2))
        self.inputs, self.state, self.at = [jnp.asarray(x.numpy()) for x in batch], (p, m, v), 0
        self.step = compiled(runs[0].arm, loss, len(batch))
        theirs = [
            model.loss(*(part[row] for part in batch))[1].item() for row, model in enumerate(models)
        ]
        assert jnp.allclose(self(), jnp.asarray(theirs), rtol=1e-4), runs[0].arm.label

    def __call__(self) -> Array:
        self.at += 1
        losses, *self.state = self.step(*self.state, float(self.at), *self.inputs)
        return losses.block_until_ready()


def rate(step: Callable[[], object], runs: int) -> float:
    """Steps of runs a second, at best."""
    step()
    best = 0.0
    for _ in range(ROUNDS):
        began, done = time.perf_counter(), 0
        while time.perf_counter() - began < SECONDS:
            step()
            done += runs
        best = max(best, done / (time.perf_counter() - began))
    return best


def main() -> None:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # before jax counts the cores it has
    torch.set_num_threads(1)
    print(f"{'program':24}{'engine':>14}{'core / jax':>12}")
    for name, (documented, loss) in PROGRAMS.items():
        arm = documented.at("ci").located()
        study = study_of(arm)
        engine, width = engine_of(arm), widest(arm, "cpu")
        data = study.load(arm, CPU)
        runs = [Run(arm, seed) for seed in range(max(width, *WIDTHS))]
        core = rate(by_core(study, runs[:width], data, engine), width)
        jaxs = max(rate(ByJax(study, runs[:width], data, loss), width) for width in WIDTHS)
        print(f"{name:24}{f'{engine} x{width}':>14}{core / jaxs:>12.2f}", flush=True)


if __name__ == "__main__":
    main()
