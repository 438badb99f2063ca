"""SGD over many runs at once, with momentum (also Nesterov's) and weight decay.

Every operation is one multiplication or one addition per element, so that the bits of a row do not
depend on the rows beside it. A fused multiply-add would round the last elements of a tensor in
another way than the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from repro.core.stacked_optimiser import Rates
from repro.core.study import StackedModel
from repro.recipe import Recipe


class StackedSgd:
    """One update for all runs of a program; each row is updated as by `torch.optim.SGD`."""

    def __init__(self, model: StackedModel, recipes: Sequence[Recipe]) -> None:
        self.moments = {
            name: torch.zeros_like(p)
            for name, p in model.parameters.items()
            if any(model.trained_rows(name))
        }
        self.rebuild(model, recipes)

    def rebuild(self, model: StackedModel, recipes: Sequence[Recipe]) -> None:
        """Make the rates again, after rows have left."""
        self.model, self.recipes = model, list(recipes)
        device = next(iter(model.parameters.values())).device
        self.rates = Rates(
            lambda step, total: [recipe.lr * recipe.lr_factor(step, total) for recipe in recipes],
            torch.zeros(len(recipes), device=device),
        )
        self.decays = torch.tensor([r.weight_decay for r in recipes], device=device)
        self.scales = {
            name: torch.tensor(
                [
                    scale * trained
                    for scale, trained in zip(
                        model.lr_scales(name), model.trained_rows(name), strict=True
                    )
                ],
                device=device,
            )
            for name in self.moments
        }

    def step(self, gradients: Mapping[str, Tensor]) -> None:
        """Update every trained row with the current rates."""
        momentum, nesterov = self.recipes[0].momentum, self.recipes[0].nesterov
        for name, buffer in self.moments.items():
            if name not in gradients:
                continue
            count = len(gradients[name])
            by_row = (count, *[1] * (buffer.ndim - 1))
            parameter = self.model.parameters[name][:count]
            gradient = gradients[name] + self.decays[:count].view(by_row) * parameter
            if momentum:
                buffer[:count].mul_(momentum).add_(gradient)
                gradient = gradient + momentum * buffer[:count] if nesterov else buffer[:count]
            rates = self.rates.now[:count] * self.scales[name][:count]
            parameter.sub_(rates.view(by_row) * gradient)

    def state(self, row: int) -> dict[str, Tensor]:
        """Return the optimiser's state of a run."""
        return {f"momentum/{name}": buffer[row] for name, buffer in self.moments.items()}

    def restore(self, row: int, state: Mapping[str, Tensor]) -> None:
        """Set the optimiser's state of a run."""
        for name, buffer in self.moments.items():
            buffer[row] = state[f"momentum/{name}"]

    def keep(self, rows: Sequence[int]) -> None:
        """Go on with only these rows; call `rebuild` afterwards."""
        index = list(rows)
        self.moments = {name: buffer[index] for name, buffer in self.moments.items()}
