"""An optimiser or a schedule that a study brings of its own: its runs are trained one at a time."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from repro.arm import Run
from repro.core.program import LoopProgram, RunState
from repro.core.study import Data, Study
from repro.recipe import Moment, Recipe

OPTIMISER, SCHEDULE = "own/optimiser", "own/schedule"
"""The names in a run's state of what an optimiser and a schedule keep."""

OF_MODULE = ("parameter/", "buffer/")
"""The beginnings of the names, in a run's state, of a module's parameters and buffers."""


@dataclass(frozen=True)
class Brought:
    """The optimiser and the schedule that a study brings of its own: one of them, or both."""

    optimiser: Callable[..., torch.optim.Optimizer] | None = None
    schedule: Callable[..., Any] | None = None

    def __bool__(self) -> bool:
        return self.optimiser is not None or self.schedule is not None

    def require_heard(self, recipe: Recipe) -> None:
        """Raise ValueError where a recipe says what nothing would hear."""
        unheard = {
            "optimiser": ["optimiser", "weight_decay"] if self.optimiser is not None else [],
            "schedule": ["schedule", "warmup"] if self.schedule is not None else [],
        }
        usual = Recipe(epochs=recipe.epochs, batch=recipe.batch, lr=recipe.lr)
        for own, names in unheard.items():
            for name in names:
                if getattr(recipe, name) != getattr(usual, name):
                    raise ValueError(
                        f"The recipe says {name}={getattr(recipe, name)!r}, which the study's own"
                        f" {own} does not hear; leave it out there, and give it to the {own}."
                    )
        if recipe.precision == "float16":
            raise ValueError(
                "The recipe says precision='float16', which scales the loss; a study's own"
                " optimiser or schedule trains in 'float32' or 'bfloat16'."
            )


class BroughtLoop(LoopProgram):
    """One training by an optimiser and a schedule that are brought."""

    def __init__(
        self,
        study: Study,
        runs: Sequence[Run],
        data: Data,
        device: torch.device,
        *,
        brought: Brought,
    ) -> None:
        brought.require_heard(runs[0].arm.recipe)
        super().__init__(study, runs, data, device)
        arm = runs[0].arm
        if brought.optimiser is not None:
            own: Any = brought.optimiser(list(self.trained.values()), arm)
            self.optimiser = own
        for group in self.optimiser.param_groups:
            group["lr"] = group["base"] = group.get("base", group["lr"])
        self.schedule = (
            brought.schedule(self.optimiser, arm, max(1, arm.steps)) if brought.schedule else None
        )
        self.has_begun = False

    def advance(self, batch: tuple[torch.Tensor, ...], at: Moment) -> torch.Tensor:
        if self.schedule is not None:  # it has set the rates, which the recipe leaves as they are
            for group in self.optimiser.param_groups:
                group["base"] = group["lr"]
        losses = super().advance(batch, at)
        if self.schedule is not None and at.step + 1 < at.total:
            self.schedule.step()
        self.has_begun = True
        return losses

    def states(self) -> list[RunState]:
        state = {name: x for name, x in super().states()[0].items() if name.startswith(OF_MODULE)}
        if self.has_begun:
            state[OPTIMISER] = _as_bytes(self.optimiser.state_dict())
            if self.schedule is not None:
                state[SCHEDULE] = _as_bytes(self.schedule.state_dict())
        return [state] * len(self.runs)

    def restore(self, states: Sequence[RunState]) -> None:
        super().restore(states)
        state = states[0]
        self.has_begun = OPTIMISER in state
        if self.has_begun:
            self.optimiser.load_state_dict(_from_bytes(state[OPTIMISER]))
            if self.schedule is not None:
                self.schedule.load_state_dict(_from_bytes(state[SCHEDULE]))


def _as_bytes(state: Any) -> torch.Tensor:
    """Return what an optimiser keeps as a tensor of bytes, which a checkpoint can hold."""
    buffer = io.BytesIO()
    torch.save(state, buffer)
    return torch.frombuffer(bytearray(buffer.getvalue()), dtype=torch.uint8)


def _from_bytes(saved: torch.Tensor) -> Any:
    return torch.load(io.BytesIO(saved.cpu().numpy().tobytes()), weights_only=True)
