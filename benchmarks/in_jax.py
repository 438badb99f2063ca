"""Models of `opponents.py` in JAX: runs are the axis of `jax.vmap`, and AdamW is written out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch
from jax import Array

from repro.arm import Arm, Run
from repro.core.study import Data
from repro.data.word_windows import PAD
from repro.studies import study_of
from repro.studies.context_vector.model import CONTEXT_LIMIT, LEVELS
from repro.studies.early_exit.model import NORM_EPSILON, ROTARY_BASE

jax.config.update("jax_enable_x64", True)  # for the keys of dropout; parameters are float32

Parameters = dict[str, Array]

SPLIT_MIX = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


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


def early_exit(arm: Any, p: Parameters, x: Array, y: Array, epochs: Array) -> Array:
    halves = np.arange(arm.width).reshape(arm.heads, 2, -1).transpose(0, 2, 1).ravel()
    half = arm.width // arm.heads // 2
    angles = np.arange(x.shape[1])[:, None] * ROTARY_BASE ** (-np.arange(half) / half)
    turns = jnp.asarray(np.tile(np.exp(1j * angles), arm.heads), jnp.complex64)  # [T, d/2]
    is_later = jnp.triu(jnp.ones((x.shape[1], x.shape[1]), bool), 1)

    def heads(x: Array) -> Array:  # [B, T, d] -> [B, H, T, d/H]
        return x.reshape(*x.shape[:2], arm.heads, -1).swapaxes(1, 2)

    def rotated(weight: Array, x: Array) -> Array:
        pairs = (x @ weight[halves].T).reshape(*x.shape[:2], -1, 2)
        turned = jax.lax.complex(pairs[..., 0], pairs[..., 1]) * turns
        return heads(jnp.stack([turned.real, turned.imag], -1).reshape(x.shape))

    def norm(name: str, x: Array) -> Array:
        return x * jax.lax.rsqrt(jnp.square(x).mean(-1, keepdims=True) + NORM_EPSILON) * p[name]

    def attention(name: str, x: Array) -> Array:
        q, k = (rotated(p[f"{name}.{part}.weight"], x) for part in ("query", "key"))
        scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
        shares = jax.nn.softmax(jnp.where(is_later, -jnp.inf, scores), -1)
        mixed = shares @ heads(x @ p[f"{name}.value.weight"].T)
        return mixed.swapaxes(1, 2).reshape(x.shape) @ p[f"{name}.out.weight"].T

    h, loss = p["embedding.weight"][x], jnp.zeros(())
    for b, weight in enumerate(arm.weights_in(0)):
        name = f"blocks.{b}"
        h = norm(f"{name}.norm_attention.weight", h + attention(f"{name}.attention", h))
        gated = jax.nn.silu(h @ p[f"{name}.gate.weight"].T) * (h @ p[f"{name}.up.weight"].T)
        h = norm(f"{name}.norm_feed_forward.weight", h + gated @ p[f"{name}.down.weight"].T)
        if weight:
            loss += weight * cross_entropy(h @ p["head.weight"].T, y)
    return loss


def context_vectors(arm: Any, p: Parameters, x: Array, y: Array, keys: Array) -> Array:
    def linear(name: str, x: Array) -> Array:
        return x @ p[f"{name}.weight"].T + p[f"{name}.bias"]

    masks = kept(arm, keys, x.shape[1])  # [T, B, L*H]
    context, logits = jnp.zeros((len(x), arm.context), jnp.float32), []
    for step in range(x.shape[1]):
        h = jnp.concatenate([p["embedding.weight"][x[:, step]], context], -1)
        for layer, mask in enumerate(jnp.split(masks[step], arm.layers, axis=-1)):
            h = jax.nn.relu(linear(f"layers.{layer}", h)) * mask
        logits.append(linear("head", h))
        stays, enters = (jax.nn.sigmoid(linear(name, h)) for name in ("forget", "admit"))
        new = stays * context + enters * linear("delta", h)
        new = (new - new.mean(-1, keepdims=True)) * jax.lax.rsqrt(new.var(-1, keepdims=True) + 1e-5)
        new = new * p["norm.weight"] + p["norm.bias"]
        context = new.clip(-CONTEXT_LIMIT, CONTEXT_LIMIT)
    counts = y != PAD
    losses = -log_probability(jnp.stack(logits, 1), y) * counts
    return losses.sum() / counts.sum().astype(jnp.float32)


def kept(arm: Any, keys: Array, steps: int) -> Array:
    """The factors of units, as `kept` of the study: [B] -> [T, B, L*H]."""
    units, golden, first, second = arm.layers * arm.width, *map(np.uint64, SPLIT_MIX)
    draws = -(-units // 4)
    counter = jnp.arange(1, steps * draws + 1, dtype=jnp.uint64).reshape(steps, 1, draws)
    bits = keys.astype(jnp.uint64)[:, None] + counter * golden
    bits = (bits ^ (bits >> 30)) * first
    bits = (bits ^ (bits >> 27)) * second
    places = jax.lax.bitcast_convert_type(bits ^ (bits >> 31), jnp.int16)  # [T, B, draws, 4]
    places = places.reshape(steps, len(keys), -1)[..., :units]
    share = round(arm.dropout * LEVELS)
    is_kept = places >= share - LEVELS // 2
    return is_kept.astype(jnp.float32) * np.float32(LEVELS / (LEVELS - share))


def log_probability(logits: Array, y: Array) -> Array:
    return jnp.take_along_axis(jax.nn.log_softmax(logits), y[..., None], axis=-1)[..., 0]


def cross_entropy(logits: Array, y: Array) -> Array:
    return -log_probability(logits, y).mean()


MODELS: dict[str, Callable[..., Array]] = {
    "ladder": ladder,
    "early exit": early_exit,
    "context vectors": context_vectors,
}


def compiled(arm: Arm, loss: Callable[..., Array], parts: int) -> Callable[..., Any]:
    """One step of all runs, on batches of so many parts: losses, and AdamW."""
    recipe = arm.recipe

    def norm(gradients: Parameters) -> Array:
        return jnp.sqrt(sum(jnp.square(g).sum() for g in gradients.values()))

    def step(p: Parameters, m: Parameters, v: Parameters, t: Array, *batch: Array) -> Any:
        found, gradients = jax.value_and_grad(partial(loss, arm))(p, *batch)
        if (limit := recipe.clip_at(0)) is not None:
            shrink = jnp.minimum(1.0, limit / (norm(gradients) + 1e-6))
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
        losses, *state = advance(*state, np.float32(taken), *inputs)
        losses.block_until_ready()
        return len(runs)

    losses: Any = None
    step()
    rows = [tuple(part[row] for part in batch) for row in range(len(runs))]
    theirs = [model.loss(*row)[1].item() for model, row in zip(models, rows, strict=True)]
    assert jnp.allclose(losses, jnp.asarray(theirs), rtol=1e-4), runs[0].arm.label
    assert {x.dtype.name for part in state for x in part.values()} == {"float32"}
    return step
