"""A network in JAX fits a wave from sines of its input, and goes on from where it was interrupted.

JAX draws from keys alone, and no global generator: the key is made from the run's seed.
"""

import pickle
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import jax
import jax.numpy as jnp

from repro import Metric, OutsideArm, OutsideStudy

SINES, WIDTH, STEPS = 32, 64, 300


@dataclass(frozen=True, kw_only=True)
class Wave(OutsideArm):
    study: ClassVar[str] = "waves"
    metrics: ClassVar[dict[str, Metric]] = {"error": Metric("log")}
    frequency: float = 10.0  # the spread of the frequencies of its sines
    epochs: int = 5
    data: str = "a wave"


def wave(x):
    return jnp.sin(8 * x) + 0.5 * jnp.sin(21 * x + 1)


X, UNSEEN = jnp.linspace(-1, 1, 40), jnp.linspace(-1, 1, 400)


def initial(key, arm):
    frequencies, first, last = jax.random.split(key, 3)
    return {
        "frequencies": arm.frequency * jax.random.normal(frequencies, (SINES,)),
        "first": jax.random.normal(first, (2 * SINES, WIDTH)) / SINES**0.5,
        "last": jax.random.normal(last, (WIDTH,)) / WIDTH**0.5,
    }


def answers(parameters, x):  # [N] -> [N]
    angles = x[:, None] * jax.lax.stop_gradient(parameters["frequencies"])
    sines = jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], axis=1)
    return jnp.tanh(sines @ parameters["first"]) @ parameters["last"]


def error(parameters, x):
    return jnp.mean((answers(parameters, x) - wave(x)) ** 2)


@partial(jax.jit, static_argnames="steps")
def one_epoch(parameters, steps):
    """Take these steps of gradient descent, as one program."""

    def step(parameters, _):
        gradients = jax.grad(error)(parameters, X)
        return jax.tree.map(lambda p, g: p - 0.05 * g, parameters, gradients), None

    return jax.lax.scan(step, parameters, length=steps)[0]


def train(arm, seed, run):
    saved = run.folder / "state.pkl"
    if saved.exists():
        begun, parameters = pickle.loads(saved.read_bytes())
    else:
        begun, parameters = 0, initial(jax.random.key(seed), arm)
    for epoch in range(begun + 1, arm.epochs + 1):
        parameters = one_epoch(parameters, STEPS)
        run.epoch(epoch, loss=error(parameters, X), error=error(parameters, UNSEEN))
        saved.write_bytes(pickle.dumps((epoch, parameters)))
    return {"error": error(parameters, UNSEEN)}


STUDY = OutsideStudy(train)
