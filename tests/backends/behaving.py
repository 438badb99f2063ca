"""Black boxes that crash, wait, print or ask, and pools that train them."""

import ctypes
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from repro.arm import Metric, Run
from repro.core.progress import Progress
from repro.own.arm import OutsideArm
from repro.own.outside import OutsideStudy
from repro.recipe import Recipe
from repro.runs.identity import identity
from repro.runs.pool import Batch, Ended, Failed, Kept, Stored, Trained
from repro.studies.depth_ladder.arms import LadderArm


@dataclass(frozen=True, kw_only=True)
class Behaving(OutsideArm):
    study: ClassVar[str] = "tests.backends.behaving"
    metrics: ClassVar[dict[str, Metric]] = {"pid": Metric("log")}
    does: str = ""
    at: int = 0
    """The seed that does it."""
    into: str = ""
    epochs: int = 0
    devices: int = 1
    threads: int = 1
    data: str = "none"


def sleep_in_a_command(arm):
    command = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)"])
    Path(arm.into, "command").write_text(str(command.pid))
    command.wait()


DOES = {
    "segfault": lambda arm: ctypes.string_at(0),
    "exit": lambda arm: os._exit(3),
    "sleep": lambda arm: time.sleep(100),
    "print": lambda arm: print("to be kept", file=sys.stderr) or 1 / 0,
    "break": lambda arm: breakpoint(),
    "input": lambda arm: input("more? "),
    "command": sleep_in_a_command,
}


def train(arm, seed, run):
    if arm.into:
        Path(arm.into, f"{seed}-{os.getpid()}").touch()
    if arm.does in DOES and seed == arm.at:
        DOES[arm.does](arm)
    begun = run.folder / "epochs"
    for number in range(1 + (int(begun.read_text()) if begun.exists() else 0), arm.epochs + 1):
        time.sleep(0.05)
        begun.write_text(str(number))
        run.epoch(number, seed=seed)
    return {"pid": os.getpid(), "epochs here": run._arm.epochs}


STUDY = OutsideStudy(train)

SMALL = LadderArm(
    width=16, depth=2, rule="bp", trained=1, data="cifar10-twin", pixels=8, images=64, shift=1,
    weight_std=0.1, embedding_std=0.1, recipe=Recipe(epochs=1, batch=32, lr=1e-3),
)  # fmt: skip
LONG = SMALL.but(recipe=SMALL.recipe.but(epochs=300))


def batch(arm, seeds=range(2), *, number=1, engine="loop"):
    runs = [Run(arm, seed) for seed in seeds]
    return Batch(number, {run: identity(run, device="cpu") for run in runs}, engine)


def heard(pool, *, until=Ended, count=1, seconds=60):
    """What a pool tells and shows until there are so many events of a type."""
    events, ends_at = [], time.monotonic() + seconds
    pool.show = lambda number, progress: events.append(progress)
    while sum(isinstance(event, until) for event in events) < count:
        assert time.monotonic() < ends_at, events
        for event in pool.events(0.5):
            events.append(in_full(pool, event))  # progress comes between them
    return events


def in_full(pool, event):
    """An event, with the result where it says that there is one."""
    if not isinstance(event, Stored | Kept):
        return event
    result = event.result if isinstance(event, Kept) else pool._store.at(event.key)
    return Trained(event.run, result.values, result.provenance)


def trained(events):
    return {event.run.seed: event.values for event in events if isinstance(event, Trained)}


def failed(events):
    return {event.run.seed: event for event in events if isinstance(event, Failed)}


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def eventually(condition, seconds=30):
    ends_at = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends_at
        time.sleep(0.02)


def first_step(events):
    return min(event.step for event in events if isinstance(event, Progress))


def result_of(pool, arm, *given, **named):
    pool.submit(batch(arm, *given, **named))
    return heard(pool)
