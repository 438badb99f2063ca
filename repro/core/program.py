"""The two engines: programs that train runs step by step, in a plain loop or stacked.

`train` drives both by the same few methods, so that schedules, checks, checkpoints and early
stopping exist once. A program has one row for each run; a row leaves when its run is done.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

from repro.arm import Run
from repro.core.replay import replay_on
from repro.core.stacked_optimiser import StackedAdam
from repro.core.stacked_sgd import StackedSgd
from repro.core.study import Data, Measures, Study
from repro.recipe import Moment, Recipe

RunState = dict[str, Tensor]
"""All tensors that a run needs to go on from a step, by name, without the run axis."""

CLIP_EPSILON = 1e-6  # as in torch.nn.utils.clip_grad_norm_


def parameters_of(state: RunState) -> dict[str, Tensor]:
    """Return the parameters in a run's state, by their names in the module."""
    mark = "parameter/"
    return {name.removeprefix(mark): x for name, x in state.items() if name.startswith(mark)}


class Program(Protocol):
    """Trains several runs step by step together."""

    runs: list[Run]

    def advance(self, batch: tuple[Tensor, ...], at: Moment) -> Tensor:
        """Take one optimiser step on a batch [R, B, ...]; return the losses before it, [R]."""

    def measure(self) -> list[Measures]:
        """Evaluate every run."""

    def states(self) -> list[RunState]:
        """Return the state of each run, for `restore`."""

    def restore(self, states: Sequence[RunState]) -> None:
        """Set the state of each run."""

    def keep(self, rows: Sequence[int]) -> None:
        """Go on with only these rows."""


class LoopProgram:
    """One training, as a researcher would write it: a module, autograd, a `torch.optim` optimiser.

    Several runs may share it if they differ only in their evaluation of the same parameters.
    """

    def __init__(self, study: Study, runs: Sequence[Run], data: Data, device: torch.device) -> None:
        self.runs = list(runs)
        self.recipe: Recipe = runs[0].arm.recipe
        self.measured = [study.reference(run, data, device) for run in runs]
        self.model = self.measured[0]
        self.parameters = dict(self.model.module.named_parameters())
        self.trained = {name: p for name, p in self.parameters.items() if p.requires_grad}
        scales = self.model.lr_scales()
        by_scale: dict[float, list[Tensor]] = {}
        for name, p in self.trained.items():
            by_scale.setdefault(scales.get(name, 1.0), []).append(p)
        self.optimiser = _optimiser(
            [
                {"params": group, "lr": 0.0, "base": self.recipe.lr * scale}
                for scale, group in by_scale.items()
            ],
            self.recipe,
        )
        self.scaler = torch.amp.GradScaler(device.type, enabled=self.recipe.precision == "float16")

    def advance(self, batch: tuple[Tensor, ...], at: Moment) -> Tensor:
        for group in self.optimiser.param_groups:
            group["lr"] = group["base"] * self.recipe.lr_factor(at.step, at.total)
        objective, loss = self.model.loss(*(part[0] for part in batch))
        self.optimiser.zero_grad()
        self.scaler.scale(objective).backward()  # type: ignore[no-untyped-call]
        self.scaler.unscale_(self.optimiser)
        limit = self.recipe.clip_at(at.epoch)
        if limit is not None:
            torch.nn.utils.clip_grad_norm_(self.trained.values(), limit)
        self.scaler.step(self.optimiser)
        self.scaler.update()
        return loss.detach().expand(len(self.runs))

    def measure(self) -> list[Measures]:
        state = self.model.module.state_dict()
        for model in self.measured:
            if model is not self.model:
                model.module.load_state_dict(state)
        with torch.no_grad():
            return [model.measure() for model in self.measured]

    def states(self) -> list[RunState]:
        state: RunState = {f"parameter/{name}": p.detach() for name, p in self.parameters.items()}
        state |= {f"buffer/{name}": x for name, x in self.model.module.named_buffers()}
        for name, p in self.trained.items():
            for part, value in self.optimiser.state[p].items():
                if value is not None:
                    state[f"{part}/{name}"] = value
        if self.scaler.is_enabled():
            known = self.scaler.state_dict()
            state["loss_scale"] = torch.tensor([known["scale"], known["_growth_tracker"]])
        return [state] * len(self.runs)

    def restore(self, states: Sequence[RunState]) -> None:
        state = states[0]
        with torch.no_grad():
            for name, p in self.parameters.items():
                p.copy_(state[f"parameter/{name}"])
            for name, buffer in self.model.module.named_buffers():
                buffer.copy_(state[f"buffer/{name}"])
        for name, p in self.trained.items():
            self.optimiser.state[p] = {
                part: state[f"{part}/{name}"].to(p.device, copy=True)
                for part in ("step", "exp_avg", "exp_avg_sq", "momentum_buffer")
                if f"{part}/{name}" in state
            }
        if self.scaler.is_enabled():
            scale, steps_since_change = state["loss_scale"].tolist()
            self.scaler.load_state_dict(
                self.scaler.state_dict()
                | {"scale": scale, "_growth_tracker": int(steps_since_change)}
            )

    def keep(self, rows: Sequence[int]) -> None:
        self.runs = [self.runs[row] for row in rows]
        self.measured = [self.measured[row] for row in rows]


def _optimiser(groups: list[dict[str, Any]], recipe: Recipe) -> torch.optim.Optimizer:
    decay = recipe.weight_decay
    if recipe.optimiser == "sgd":
        momentum, nesterov = recipe.momentum, recipe.nesterov
        return torch.optim.SGD(groups, momentum=momentum, nesterov=nesterov, weight_decay=decay)
    kind = torch.optim.AdamW if recipe.optimiser == "adamw" else torch.optim.Adam
    return kind(groups, weight_decay=decay, fused=True)


class StackedProgram:
    """Many runs as one program: batched matrix products, and an optimiser over spans of rows."""

    def __init__(self, study: Study, runs: Sequence[Run], data: Data, device: torch.device) -> None:
        self.runs = list(runs)
        if runs[0].arm.recipe.precision == "float16":
            raise ValueError(
                f"{runs[0].arm.label} scales its loss, which the stacked engine does not; use"
                " --engine loop."
            )
        self.device = device
        self.model = study.stacked(runs, data, device)
        kind = StackedSgd if runs[0].arm.recipe.optimiser == "sgd" else StackedAdam
        self.optimiser = kind(self.model, self._recipes())
        self._prepare()

    def _prepare(self) -> None:
        """Set up the parts that depend on the rows; called again when rows leave."""
        self.clips = any(recipe.clip is not None for recipe in self._recipes())
        self.limits = torch.zeros(len(self.runs), device=self.device)  # [R] of gradient norms
        self.limits_now: list[float] = []
        rows = {name: self.model.trained_rows(name) for name in self.model.parameters}
        self.frozen = {  # [R] of the parameters that some runs do not train
            name: ~torch.tensor(trained, device=self.device)
            for name, trained in rows.items()
            if not all(trained)
        }
        self.replay = replay_on(self.device)

    def _recipes(self) -> list[Recipe]:
        return [run.arm.recipe for run in self.runs]

    def advance(self, batch: tuple[Tensor, ...], at: Moment) -> Tensor:
        if self.clips:
            self._set_limits(at)
        self.optimiser.rates.set(at)
        with torch.no_grad():
            if self.replay is None or not self.model.can_be_recorded:
                return self.take_step(*batch)
            return self.replay(self.take_step, *batch)

    def _set_limits(self, at: Moment) -> None:
        """Copy the limits of an epoch to the device; only if they changed, since a copy waits."""
        limits = [recipe.clip_at(at.epoch) for recipe in self._recipes()]
        now = [math.inf if x is None else x for x in limits]
        if now != self.limits_now:
            self.limits.copy_(torch.tensor(now))
            self.limits_now = now

    def take_step(self, *batch: Tensor) -> Tensor:
        """Take a step on the device; all numbers that change between steps are in tensors."""
        losses, gradients = self.model.gradients(*batch)
        if self.clips:
            self._clip(gradients)
        self.optimiser.step(gradients)
        return losses

    def _clip(self, gradients: dict[str, Tensor]) -> None:
        squares = torch.zeros_like(self.limits)
        for name, gradient in gradients.items():
            square = gradient.flatten(1).square().sum(1)
            if name in self.frozen:
                square = square.masked_fill(self.frozen[name][: len(square)], 0.0)
            squares[: len(square)] += square
        factor = (self.limits / (squares.sqrt() + CLIP_EPSILON)).clamp(max=1.0)  # [R]
        for gradient in gradients.values():
            gradient.mul_(factor[: len(gradient)].view(-1, *[1] * (gradient.ndim - 1)))

    def measure(self) -> list[Measures]:
        with torch.no_grad():
            return self.model.measure()

    def states(self) -> list[RunState]:
        return [
            {f"parameter/{name}": p[row] for name, p in self.model.parameters.items()}
            | self.optimiser.state(row)
            for row in range(len(self.runs))
        ]

    def restore(self, states: Sequence[RunState]) -> None:
        for row, state in enumerate(states):
            for name, parameter in self.model.parameters.items():
                parameter[row] = state[f"parameter/{name}"]
            self.optimiser.restore(row, state)

    def keep(self, rows: Sequence[int]) -> None:
        self.runs = [self.runs[row] for row in rows]
        self.model.keep(rows)
        self.optimiser.keep(rows)
        self.optimiser.rebuild(self.model, self._recipes())
        self._prepare()


@runtime_checkable
class BringsLoop(Protocol):
    """A study with its own training loop for single runs."""

    def loop(self, runs: Sequence[Run], data: Data, device: torch.device) -> Program:
        """Return the program of one training."""


def _loop(study: Study, runs: Sequence[Run], data: Data, device: torch.device) -> Program:
    if isinstance(study, BringsLoop):
        return study.loop(runs, data, device)
    return LoopProgram(study, runs, data, device)


ENGINES: dict[str, Callable[[Study, Sequence[Run], Data, torch.device], Program]] = {
    "loop": _loop,
    "stacked": StackedProgram,
}
