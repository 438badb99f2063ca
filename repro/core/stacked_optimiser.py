"""Adam and AdamW over many runs at once.

The parameters of R runs are tensors [R, ...]. Neighbouring runs that train a parameter with the
same rates form a span of rows, and torch's fused update treats a span as one tensor. Runs that do
not train a parameter are in no span: their rows are never written.

The fused update is called directly, since for small networks `torch.optim` takes longer than the
update itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from repro.core.study import StackedModel
from repro.recipe import Moment, Recipe

CACHE_LINE = 64  # bytes

STEPS_AHEAD = 256
"""The learning rates of this number of steps are copied at once, since each copy waits."""

UPDATES = {
    "adam": torch.ops.aten._fused_adam_.tensor_lr,
    "adamw": torch.ops.aten._fused_adamw_.tensor_lr,
}
BETAS, EPSILON = (0.9, 0.999), 1e-8  # the defaults of torch.optim

Kind = tuple[float, float, int]
"""Learning rate, weight decay and steps of warm-up; rows of one kind are updated together."""


class Rates:
    """The learning rates of a step, in a fixed tensor.

    >>> rates = Rates(lambda step, total: [1e-3 * (1 - step / total)], torch.zeros(1))
    >>> rates.set(Moment(step=30, per_epoch=25, total=100))
    >>> rates.now
    tensor([0.0007])
    """

    def __init__(self, of: Callable[[int, int], list[float]], now: Tensor) -> None:
        self.of, self.now = of, now
        self._first, self._ahead = 0, now.new_zeros(0, len(now))

    def set(self, at: Moment) -> None:
        """Write the rates of a moment to `now`."""
        if not 0 <= at.step - self._first < len(self._ahead):
            steps = range(at.step, min(at.step + STEPS_AHEAD, at.total))
            rows = [self.of(step, at.total) for step in steps]
            self._first, self._ahead = at.step, self.now.new_tensor(rows)
        self.now.copy_(self._ahead[at.step - self._first])


@dataclass(frozen=True)
class Span:
    """Neighbouring rows of one parameter that are updated as one tensor."""

    name: str
    start: int
    stop: int
    rows: Tensor
    exp_avg: Tensor
    exp_avg_sq: Tensor


class StackedAdam:
    """One fused Adam or AdamW for all runs of a program."""

    def __init__(self, model: StackedModel, recipes: Sequence[Recipe]) -> None:
        self.moments = {
            name: (torch.zeros_like(p), torch.zeros_like(p))
            for name, p in model.parameters.items()
            if any(model.trained_rows(name))
        }
        device = next(iter(model.parameters.values())).device
        self.steps = torch.zeros((), device=device)
        self.update = UPDATES[recipes[0].optimiser]
        self.rebuild(model, recipes)

    def rebuild(self, model: StackedModel, recipes: Sequence[Recipe]) -> None:
        """Make the spans again, after rows have left."""
        self.groups: dict[Kind, list[Span]] = {}
        for name, (m, v) in self.moments.items():
            parameter, scales = model.parameters[name], model.lr_scales(name)
            kinds = [
                (recipe.lr * scale, recipe.weight_decay, recipe.warmup) if trained else None
                for recipe, scale, trained in zip(
                    recipes, scales, model.trained_rows(name), strict=True
                )
            ]
            for start, stop in _spans(kinds, parameter):
                kind = kinds[start]
                assert kind is not None
                rows = [x[start:stop] for x in (parameter, m, v)]
                self.groups.setdefault(kind, []).append(Span(name, start, stop, *rows))
        schedules = {recipe.warmup: recipe for recipe in recipes}
        groups = list(self.groups)
        # CUDA's update takes a float32 rate; a CPU uses float64, as exact as a Python float
        exact = torch.float64 if self.steps.device.type == "cpu" else torch.float32
        self.rates = Rates(
            lambda step, total: [
                lr * schedules[warmup].lr_factor(step, total) for lr, _, warmup in groups
            ],
            torch.zeros(len(groups), dtype=exact, device=self.steps.device),
        )

    def step(self, gradients: Mapping[str, Tensor]) -> None:
        """Update every trained row with the current rates."""
        self.steps += 1
        rates = self.rates.now.unbind()
        for ((_, decay, _), spans), rate in zip(self.groups.items(), rates, strict=True):
            self.update(
                [span.rows for span in spans],
                # the fused update ignores strides
                [gradients[span.name][span.start : span.stop].contiguous() for span in spans],
                [span.exp_avg for span in spans],
                [span.exp_avg_sq for span in spans],
                [],
                [self.steps] * len(spans),
                lr=rate,
                beta1=BETAS[0],
                beta2=BETAS[1],
                weight_decay=decay,
                eps=EPSILON,
                amsgrad=False,
                maximize=False,
            )

    def state(self, row: int) -> dict[str, Tensor]:
        """Return the optimiser's state of a run."""
        first = {f"exp_avg/{name}": m[row] for name, (m, _) in self.moments.items()}
        second = {f"exp_avg_sq/{name}": v[row] for name, (_, v) in self.moments.items()}
        return first | second | {"step": self.steps}

    def restore(self, row: int, state: Mapping[str, Tensor]) -> None:
        """Set the optimiser's state of a run."""
        for name, (m, v) in self.moments.items():
            m[row], v[row] = state[f"exp_avg/{name}"], state[f"exp_avg_sq/{name}"]
        self.steps.copy_(state["step"])

    def keep(self, rows: Sequence[int]) -> None:
        """Go on with only these rows; call `rebuild` afterwards."""
        index = list(rows)
        self.moments = {name: (m[index], v[index]) for name, (m, v) in self.moments.items()}


def _spans(kinds: Sequence[Kind | None], parameter: Tensor) -> list[tuple[int, int]]:
    """Return spans of neighbouring rows of one kind, as (start, stop).

    A row that is not a whole number of cache lines is a span of its own: other instructions compute
    the last elements of a tensor, so the bits of a row would depend on the rows beside it.
    """
    row_bytes = parameter[0].numel() * parameter.element_size() if len(parameter) else 0
    joined = row_bytes % CACHE_LINE == 0
    spans: list[tuple[int, int]] = []
    for row, kind in enumerate(kinds):
        if kind is None:
            continue
        if joined and spans and spans[-1][1] == row and kinds[spans[-1][0]] == kind:
            spans[-1] = (spans[-1][0], row + 1)
        else:
            spans.append((row, row + 1))
    return spans
