"""The stacked engine against the plain loop on the ladder's `ci` programs, in one thread.

    pytest benchmarks/bench_engines.py

Each group is a program; its two rows take the same runs through the same number of steps. The last
lines print stacked / loop in run-steps per second, and fail under 2.5 over all programs.
"""

import pytest
import torch

from repro.arm import Run
from repro.core.program import ENGINES
from repro.recipe import Moment
from repro.studies.depth_ladder.arms import D256_L4, D512_L2
from repro.studies.depth_ladder.study import STUDY

STEPS, SEEDS = 10, range(1, 5)
LEAST_RATIO = 2.5
CPU = torch.device("cpu")

PROGRAMS = {
    f"{rule} d={shape.width} L={shape.depth}": shape.but(rule=rule)
    for shape in (D256_L4, D512_L2)
    for rule in ("bp", "fa", "dfa")
}
seconds = {}  # of all runs' steps, by program and engine


def programs(engine, runs):
    """The runs as programs of an engine, each with the batches of its first steps."""
    data = STUDY.load(runs[0].arm, CPU)
    size = runs[0].arm.recipe.batch
    groups = [runs] if engine == "stacked" else [[run] for run in runs]
    for group in groups:
        lines = torch.stack([data.epoch(run.seed, 0) for run in group])
        batches = [data.batch(lines[:, s * size : (s + 1) * size]) for s in range(STEPS)]
        yield ENGINES[engine](STUDY, group, data, CPU), batches


@pytest.mark.parametrize("engine", ["loop", "stacked"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_engine(benchmark, name, engine):
    torch.set_num_threads(1)
    ladder = [arm.at("ci").located() for arm in PROGRAMS[name].ladder()[::-1]]
    work = list(programs(engine, [Run(arm, seed) for arm in ladder for seed in SEEDS]))

    def steps():
        for program, batches in work:
            for batch in batches:
                program.advance(batch, Moment(step=0, per_epoch=1, total=1))

    benchmark.group = name
    benchmark.pedantic(steps, rounds=7, warmup_rounds=1)
    seconds[name, engine] = benchmark.stats.stats.median


def test_stacking_pays(capsys):
    if len(seconds) < 2 * len(PROGRAMS):
        pytest.skip("needs the measurements of all programs: run the whole file")
    ratios = {name: seconds[name, "loop"] / seconds[name, "stacked"] for name in PROGRAMS}
    totals = [sum(seconds[name, engine] for name in PROGRAMS) for engine in ("loop", "stacked")]
    with capsys.disabled():
        print()
        for name, ratio in ratios.items():
            print(f"stacked / loop  {name:16}{ratio:6.2f}")
        print(f"stacked / loop  {'all':16}{totals[0] / totals[1]:6.2f}")
    assert totals[0] / totals[1] >= LEAST_RATIO
