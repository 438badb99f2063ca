"""The gradients that reach the optimisers: looked at directly, since Adam hides their scale."""

import pytest
import torch

from repro.arm import Run
from repro.core.program import LoopProgram, StackedProgram
from repro.recipe import Moment
from repro.studies.depth_ladder.study import STUDY
from tests.studies.small import LADDER as ARM

CPU = torch.device("cpu")
LIMITS = (1e-3, None, 0.05, 1e3)
RUNS = [Run(ARM.but(recipe=ARM.recipe.but(clip=limit)), seed) for seed, limit in enumerate(LIMITS)]


def norms_at_the_optimiser(program_type, runs, step=0):
    """The norm of each run's whole gradient, as its optimiser sees it when this is the step."""
    data = STUDY.load(ARM, CPU)
    program = program_type(STUDY, runs, data, CPU)
    seen = {}

    def look(gradients=None, at=None):
        seen.update(gradients or {n: p.grad[None].clone() for n, p in program.trained.items()})

    program.optimiser.step = look
    lines = torch.stack([data.epoch(run.seed, 0)[:32] for run in runs])
    program.advance(data.batch(lines), Moment(step=step, per_epoch=10, total=50))
    return sum(g.flatten(1).square().sum(1) for g in seen.values()).sqrt()


def test_each_run_is_clipped_by_its_own_norm_and_limit():
    together = norms_at_the_optimiser(StackedProgram, RUNS)
    alone = torch.cat([norms_at_the_optimiser(LoopProgram, [run]) for run in RUNS])
    free = norms_at_the_optimiser(StackedProgram, [Run(ARM, run.seed) for run in RUNS])
    torch.testing.assert_close(together, alone, rtol=1e-4, atol=0.0)
    for norm, limit, whole in zip(together.tolist(), LIMITS, free.tolist(), strict=True):
        assert norm == pytest.approx(min(whole, limit or whole), rel=1e-4)
    assert free.min() > 0.05


def test_a_limit_in_stages_is_that_of_the_epoch():
    staged = Run(ARM.but(recipe=ARM.recipe.but(clip=((0, 0.01), (2, 0.03), (3, 0.02)))), 1)
    for step, limit in ((0, 0.01), (19, 0.01), (20, 0.03), (29, 0.03), (30, 0.02)):
        for program_type in (LoopProgram, StackedProgram):
            norms = norms_at_the_optimiser(program_type, [staged], step)
            assert norms.tolist() == pytest.approx([limit], rel=1e-4), step
