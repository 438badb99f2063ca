"""Adam and AdamW over many runs at once.

The parameters of R runs are tensors [R, ...]. Neighbouring runs that train a parameter by the same
rates form a span of rows, and a span is one tensor to torch's fused optimiser. Runs that
do not train a parameter are in no span: their rows are never written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from repro.core.study import StackedModel
from repro.recipe import Moment, Recipe

CACHE_LINE = 64  # bytes

Kind = tuple[float, float, int]
"""Learning rate, weight decay and steps of warm-up: rows alike in these are updated as one."""


@dataclass(frozen=True)
class Span:
    """Rows of one parameter that are updated as one tensor."""

    name: str
    start: int
    stop: int
    rows: Tensor


class StackedOptimiser:
    """One fused optimiser for all runs of a program."""

    def __init__(self, model: StackedModel, recipes: Sequence[Recipe]) -> None:
        self.moments = {
            name: (torch.zeros_like(p), torch.zeros_like(p))
            for name, p in model.parameters.items()
            if any(model.trained_rows(name))
        }
        self.steps = torch.zeros(())
        self.rebuild(model, recipes)

    def rebuild(self, model: StackedModel, recipes: Sequence[Recipe]) -> None:
        """Lay the spans out anew, after rows have gone or been restored."""
        groups: dict[Kind, list[Span]] = {}
        for name in self.moments:
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
                span = Span(name, start, stop, parameter[start:stop])
                groups.setdefault(kind, []).append(span)
        self.schedules = {recipe.warmup: recipe for recipe in recipes}
        self.spans = [span for group in groups.values() for span in group]
        optimiser = (
            torch.optim.AdamW if recipes and recipes[0].optimiser == "adamw" else torch.optim.Adam
        )
        self.optimiser = optimiser(
            [
                {
                    "params": [span.rows for span in group],
                    "lr": 0.0,
                    "base": lr,
                    "weight_decay": decay,
                    "warmup": warmup,
                }
                for (lr, decay, warmup), group in groups.items()
            ]
            or [torch.zeros(0)],
            fused=True,
        )
        for span in self.spans:
            m, v = self.moments[span.name]
            self.optimiser.state[span.rows] = {
                "step": self.steps.clone(),
                "exp_avg": m[span.start : span.stop],
                "exp_avg_sq": v[span.start : span.stop],
            }

    def step(self, gradients: Mapping[str, Tensor], at: Moment) -> None:
        """Update every trained row."""
        for group in self.optimiser.param_groups if self.spans else ():
            factor = self.schedules[group["warmup"]].lr_factor(at.step, at.total)
            group["lr"] = group["base"] * factor
        for span in self.spans:
            # the fused optimiser reads memory in order, whatever the strides say
            span.rows.grad = gradients[span.name][span.start : span.stop].contiguous()
        self.optimiser.step()
        self.steps += 1

    def keep(self, rows: Sequence[int]) -> None:
        """Go on with these rows alone; call `rebuild` after."""
        index = list(rows)
        self.moments = {name: (m[index], v[index]) for name, (m, v) in self.moments.items()}


def _spans(kinds: Sequence[Kind | None], parameter: Tensor) -> list[tuple[int, int]]:
    """Neighbouring rows of equal kind, as (start, stop).

    A row that is not a whole number of cache lines stands alone: the last elements of a tensor go
    through other instructions than the rest, so its bits would depend on which rows share it.
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
