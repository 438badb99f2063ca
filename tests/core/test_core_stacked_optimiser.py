"""One optimiser over many runs against one `torch.optim` optimiser a run."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from repro.core.stacked_optimiser import STEPS_AHEAD, Rates, StackedAdam
from repro.recipe import Moment, Recipe

RUNS, SHAPE, STEPS = 4, (3, 16), 3


class Stack:
    """Two parameters of four runs, each trained in some rows at rates of its own."""

    def __init__(self, trained, scales):
        generator = torch.Generator().manual_seed(1)
        self.parameters = {n: torch.randn(RUNS, *SHAPE, generator=generator) for n in trained}
        self.trained, self.scales = trained, scales

    def trained_rows(self, name):
        return self.trained[name]

    def lr_scales(self, name):
        return self.scales[name]


def rows(values):
    return st.fixed_dictionaries({n: st.lists(values, min_size=4, max_size=4) for n in "ab"})


@given(
    trained=rows(st.booleans()),
    scales=rows(st.sampled_from([0.0, 0.5, 1.0, 2.0])),
    recipes=st.lists(
        st.builds(
            Recipe,
            epochs=st.just(1),
            batch=st.just(1),
            lr=st.sampled_from([1e-3, 1e-2]),
            weight_decay=st.sampled_from([0.0, 0.1]),
            warmup=st.sampled_from([0, 2, 5]),
        ),
        min_size=4,
        max_size=4,
    ),
)
@pytest.mark.parametrize("kind", ["adamw", "adam"])
def test_every_run_moves_as_it_would_on_its_own(kind, trained, scales, recipes):
    recipes = [recipe.but(optimiser=kind, schedule="cosine") for recipe in recipes]
    stack = Stack(trained, scales)
    start = {name: p.clone() for name, p in stack.parameters.items()}
    generator = torch.Generator().manual_seed(2)
    gradients = [
        {
            "a": torch.randn(RUNS, *SHAPE, generator=generator),
            "b": torch.randn(RUNS, *SHAPE[::-1], generator=generator).transpose(1, 2),
        }
        for _ in range(STEPS)
    ]
    together = StackedAdam(stack, recipes)
    for step, gradient in enumerate(gradients):
        together.rates.set(Moment(step=step, per_epoch=STEPS, total=STEPS))
        together.step(gradient)
    for row, recipe in enumerate(recipes):
        for name in trained:
            alone = start[name][row].clone().requires_grad_()
            if trained[name][row]:
                optimiser = {"adamw": torch.optim.AdamW, "adam": torch.optim.Adam}[kind](
                    [alone], lr=0.0, weight_decay=recipe.weight_decay
                )
                for step, gradient in enumerate(gradients):
                    rate = recipe.lr * scales[name][row] * recipe.lr_factor(step, STEPS)
                    optimiser.param_groups[0]["lr"] = rate
                    alone.grad = gradient[name][row].clone()
                    optimiser.step()
            torch.testing.assert_close(stack.parameters[name][row], alone.detach())


@given(st.lists(st.integers(0, 999), min_size=1, max_size=20))
def test_rates_are_those_of_the_step_wherever_training_goes_on(steps):
    recipe = Recipe(epochs=10, batch=1, lr=0.1, schedule="cosine", warmup=5)
    rates = Rates(lambda step, total: [recipe.lr_factor(step, total)], torch.zeros(1).double())
    for step in [*steps, *range(steps[0], min(1000, steps[0] + 2 * STEPS_AHEAD))]:
        rates.set(Moment(step=step, per_epoch=100, total=1000))
        assert rates.now.item() == recipe.lr_factor(step, 1000)
