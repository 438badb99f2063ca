"""What only an NVIDIA card can show: `pytest tests -m cuda`, a minute on one."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from repro.arm import Run
from repro.backends.trainer import train_batch
from repro.core.device import free_memory
from repro.core.program import StackedProgram
from repro.core.replay import Replay, cuda_graph
from repro.core.train import train
from repro.own.brought import LoadedExamples
from repro.own.training_run import Files
from repro.recipe import Moment
from repro.runs.pool import Trained
from repro.studies import study_of
from repro.studies.depth_ladder.study import STUDY as LADDER
from tests.own.modules import Small
from tests.run_files import KeptFiles, train_until
from tests.studies import small

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no NVIDIA card here"),
    # torch says it once of its attention; whether a stack repeats its bits is tested below
    pytest.mark.filterwarnings("ignore:Memory Efficient attention defaults to a non-determ"),
    # a worker that loads examples is forked, and CUDA has threads: Python 3.12 and later say so
    pytest.mark.filterwarnings(
        "ignore:.*use of fork\\(\\) may lead to deadlocks:DeprecationWarning"
    ),
]
CUDA = torch.device("cuda")
STACKS = {
    "ladder": small.LADDER,
    "ladder, fa": small.LADDER.but(rule="fa", trained=1),
    "context": small.CONTEXT.but(dropout=0.1),
    "exit": small.EXIT.but(recipe=small.EXIT.recipe.but(epochs=2)),
    "module": Small(),
}
each_stack = pytest.mark.parametrize("arm", STACKS.values(), ids=STACKS)


def values_of(arm, *, engine, files=None):
    runs = [Run(arm, seed) for seed in (1, 2, 3)]
    return dict(train(study_of(arm), runs, engine=engine, device=CUDA, files=files))


def final_losses(values):
    return torch.tensor([found["history"]["loss"][-1] for found in values.values()])


@each_stack
def test_a_stack_is_replayed_and_trains_as_the_loop_does(arm):
    runs = [Run(arm, seed) for seed in (1, 2)]
    data = small.loaded(arm, CUDA)
    program = StackedProgram(study_of(arm), runs, data, CUDA)
    lines = torch.stack([data.epoch(run.seed, 0)[: arm.recipe.batch] for run in runs]).to(CUDA)
    for step in range(5):
        program.advance(data.batch(lines), Moment(step=step, per_epoch=5, total=10))
    assert program.replay.replay is not None
    stacked, loop = (values_of(arm, engine=engine) for engine in ("stacked", "loop"))
    torch.testing.assert_close(final_losses(stacked), final_losses(loop), rtol=1e-3, atol=1e-4)


@each_stack
def test_the_same_stack_trains_to_the_same_numbers_twice(arm):
    first, again = (values_of(arm, engine="stacked") for _ in range(2))
    assert first == again


def test_a_stack_goes_on_from_its_checkpoint():
    arm = small.LADDER.but(recipe=small.LADDER.recipe.but(epochs=3))
    runs, files = [Run(arm, seed) for seed in (1, 2, 3)], KeptFiles()
    train_until(15, LADDER, runs, engine="stacked", device=CUDA, files=files)
    assert len(files) == 3
    resumed = values_of(arm, engine="stacked", files=files)
    whole = values_of(arm, engine="stacked")
    torch.testing.assert_close(final_losses(resumed), final_losses(whole), rtol=1e-4, atol=1e-5)


def test_a_module_that_draws_is_not_recorded_and_trains_on():
    values = values_of(Small(kind="dropout"), engine="stacked")
    assert torch.isfinite(final_losses(values)).all()


def test_a_recording_that_fails_leaves_the_stream_as_it_was():
    def waits(x):
        return x * float(x.sum())

    replay, stream, x = Replay(cuda_graph), torch.cuda.current_stream(), torch.ones(3, device=CUDA)
    found = [replay(waits, x) for _ in range(4)]
    assert replay.replay is None
    assert torch.cuda.current_stream() == stream
    assert torch.stack(found).tolist() == [[3.0] * 3] * 4
    values_of(small.LADDER, engine="stacked")  # and what comes after is recorded again


def test_a_full_card_narrows_the_stack_and_is_given_back():
    runs = [Run(small.LADDER.but(width=512, images=64), seed) for seed in range(16)]
    _, total = torch.cuda.mem_get_info()
    free_memory("cuda")
    torch.cuda.reset_peak_memory_stats()
    [*_, alone] = train_batch(runs[:1], engine="stacked", device="cuda", files=Files())
    assert isinstance(alone, Trained)
    room = 2 * torch.cuda.max_memory_reserved()  # which 16 runs exceed
    free_memory("cuda")
    torch.cuda.set_per_process_memory_fraction(room / total)
    try:
        events = list(train_batch(runs, engine="stacked", device="cuda", files=Files()))
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    done = [event for event in events if isinstance(event, Trained)]
    assert len(done) == 16, events[-1]
    assert all(event.provenance["trained_with"] < 15 for event in done)


def test_workers_load_while_a_card_trains():
    torch.ones(1, device=CUDA)  # CUDA is in use: a forked worker may not touch it
    examples = [(torch.full((4,), float(n)), n) for n in range(64)]
    loaded = LoadedExamples(examples, workers=2, device=CUDA)
    lines = loaded.epoch(1, 0)
    for at in range(0, 64, 16):
        part = lines[None, at : at + 16]
        _, x, y = loaded.batch(part.to(CUDA))
        assert x.device.type == "cuda"
        assert y.tolist() == part[..., 0].tolist()


def test_a_session_trains_on_the_card_with_one_trainer(tmp_path):
    project = shutil.copytree(Path(__file__).parents[2] / "examples" / "own_module", tmp_path / "p")
    command = [sys.executable, "-m", "pytest", "-k", "wider", "-n", "4", "--device", "cuda", "-v"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    assert "1 passed" in done.stdout, done.stdout + done.stderr
    results = list((project / ".repro").rglob("*.json"))
    assert any('"device":"cuda"' in path.read_text().replace(" ", "") for path in results)
