"""Models of `opponents.py` in JAX: runs are the axis of `jax.vmap`, and AdamW is written out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import torch
from jax import Array

from repro.arm import Arm, Run
from repro.core.study import Data
from repro.studies import study_of

Parameters = dict[str, Array]


def ladder(arm: Any, p: Parameters, x: Array, y: Array) -> Array:
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


def cross_entropy(logits: Array, y: Array) -> Array:
    log_p = jax.nn.log_softmax(logits)
    return -jnp.take_along_axis(log_p, y[..., None], axis=-1).mean()


MODELS: dict[str, Callable[..., Array]] = {"ladder": ladder}


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


def stepping(
    loss: Callable[..., Array], runs: Sequence[Run], batch: tuple[torch.Tensor, ...], data: Data
) -> Callable[[], int]:
    """Return what takes a step of these runs, once its first losses are found to be PyTorch's."""
    models = [study_of(run.arm).reference(run, data, torch.device("cpu")) for run in runs]
    states = [dict(model.module.named_parameters()) for model in models]
    p = {
        name: jnp.stack([jnp.asarray(state[name].detach().numpy()) for state in states])
        for name in states[0]
    }
    state = p, *({name: jnp.zeros_like(x) for name, x in p.items()} for _ in range(2))
    inputs, taken = [jnp.asarray(x.numpy()) for x in batch], 0
    advance = compiled(runs[0].arm, loss, len(batch))

    def step() -> int:
        nonlocal state, taken, losses
        taken += 1
        losses, *state = advance(*state, float(taken), *inputs)
        losses.block_until_ready()
        return len(runs)

    losses: Any = None
    step()
    rows = [tuple(part[row] for part in batch) for row in range(len(runs))]
    theirs = [model.loss(*row)[1].item() for model, row in zip(models, rows, strict=True)]
    assert jnp.allclose(losses, jnp.asarray(theirs), rtol=1e-4), runs[0].arm.label
    return step
