"""What `gpu_check.sh` runs: see there. Each part that fails says why, and the others go on."""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.func import functional_call, grad_and_value, vmap

from repro.arm import Arm, Needs, Run
from repro.core.models import stacked
from repro.core.program import ENGINES, Program
from repro.core.study import Data
from repro.core.train import allow_tf32
from repro.core.weights import load_data
from repro.data.images import ImageSet
from repro.recipe import Moment
from repro.runs.identity import engine_of
from repro.studies import study_of
from repro.studies.context_vector.arms import ADVANCED, BASELINE
from repro.studies.depth_ladder import data as ladder_data
from repro.studies.depth_ladder.arms import D256_L4, D512_L2
from repro.studies.early_exit.arms import PRESETS

RULES = ("bp", "fa", "dfa")
SEEDS = (42, 123, 456)
Row = dict[str, Any]


class Check:
    """One afternoon's numbers: parts by name, and the card's memory and load beside them."""

    def __init__(self, *, rehearse: bool, seconds: float, tests: bool) -> None:
        self.rehearse, self.seconds, self.tests = rehearse, seconds, tests
        self.device = torch.device("cpu" if rehearse else "cuda")
        self.profile = "ci" if rehearse else "paper"
        self.began = time.monotonic()
        self.found: dict[str, Any] = {}
        self.load: list[list[float]] = []
        """By the half second: seconds since the beginning, load in %, memory in MiB, watts."""

    def run(self) -> None:
        watch = None if self.rehearse else self._watch()
        for part in (self.versions, self.cuda_tests, self.repeats, self.programs, self.ladder):
            began = time.monotonic()
            try:
                self.found[part.__name__] = part()
            except Exception:  # of one part: the others are worth the card's time
                self.found[part.__name__] = {"failed": traceback.format_exc()}
            self.found[part.__name__]["seconds"] = round(time.monotonic() - began, 1)
            print(f"{part.__name__}: {self.found[part.__name__]}", flush=True)
        if watch is not None:
            watch.terminate()
        self.found["load"] = self.load

    def versions(self) -> Row:
        """What computes."""
        found = {"python": platform.python_version(), "torch": torch.__version__}
        if self.rehearse:
            return found
        card = torch.cuda.get_device_properties(0)
        size = 8192
        a, b = (torch.randn(size, size, device=self.device) for _ in range(2))
        rates = {}
        for name, tf32 in (("float32", False), ("tf32", True)):
            allow_tf32(tf32)
            took = self._timed(lambda: torch.mm(a, b), 0.5)
            rates[f"{name} TFLOP/s"] = round(2 * size**3 / took / 1e12, 1)
        allow_tf32(False)
        memory = f"{card.total_memory / 2**30:.0f} GiB"
        return {**found, "card": card.name, "memory": memory, "cuda": torch.version.cuda, **rates}

    def cuda_tests(self) -> Row:
        """`pytest tests -m cuda`."""
        if not self.tests:
            return {}
        command = [sys.executable, "-m", "pytest", "tests/core/test_core_cuda.py", "-m", "cuda"]
        command += ["-q", "-p", "no:cacheprovider"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=150, check=False)
        return {"exit": done.returncode, "said": done.stdout[-3000:] + done.stderr[-500:]}

    def repeats(self) -> Row:
        """The same steps twice, and what it costs to ask CUDA for kernels that repeat."""
        arms = [arm.at(self.profile) for arm in D256_L4.ladder()[::-1]]
        found: Row = {}
        for asked in (True, False):
            torch.use_deterministic_algorithms(asked, warn_only=True)
            states, rates = [], []
            for _ in range(2):
                program, data = self._prepared(arms, SEEDS[:1])
                batches = self._batches(data, program.runs)
                for step in range(30):
                    program.advance(next(batches), self._moment(arms[0], step))
                states.append({n: x.clone() for n, x in program.states()[0].items()})
                rates.append(self._rate(program, batches, arms[0], self.seconds / 3))
            same = all(torch.equal(states[0][name], states[1][name]) for name in states[0])
            found["asked" if asked else "not asked"] = {"same bits": same, "steps/s": max(rates)}
        torch.use_deterministic_algorithms(True, warn_only=True)
        return found

    def programs(self) -> Row:
        """Steps of runs in a second: stacked, and one run at a time as a plain loop does."""
        exits = [arm for arm in PRESETS.values() if arm.layers == 3][: 2 if self.rehearse else None]
        sentences = [arm.but(data="repeated-sentences") for arm in exits]
        plain = [a.but(recipe=a.recipe.but(precision="float32")) for a in (BASELINE, ADVANCED)]
        return {
            **({} if self.rehearse else self._compared("000 on the sentences", sentences, SEEDS)),
            **self._compared("000 on WikiText-2", exits, SEEDS[:1]),
            **self._compared("001 baseline, float32", plain[:1], SEEDS),
            **self._compared("001 advanced, float32", plain[1:], SEEDS),
            **self._compared("001 baseline", [BASELINE], SEEDS[:1]),
        }

    def ladder(self) -> Row:
        """All 72 runs of source 004: hours stacked, one at a time, and by `torch.func`."""
        found: Row = {}
        hours = 0.0
        for shape, name in ((D256_L4, "d=256"), (D512_L2, "d=512")):
            for rule in RULES:
                arms = [arm.at(self.profile) for arm in shape.but(rule=rule).ladder()[::-1]]
                row = self._speed(arms, SEEDS)
                found[f"{rule} {name}"] = row
                hours += row["hours"]
        found["72 runs, hours"] = hours
        top = D256_L4.at(self.profile)
        arms = [arm.at(self.profile) for arm in D256_L4.ladder()[::-1]]
        found["bp d=256, 12 seeds"] = self._speed(arms, range(12))
        found["bp d=256, k=4, loop"] = self._speed([top], SEEDS[:1], engine="loop")
        found["bp d=256, k=4, 15 seeds"] = self._speed([top], range(15))
        found["bp d=256, k=4, 15 seeds, torch.func"] = self._by_torch_func(top, range(15))
        tf32 = [arm.but(recipe=arm.recipe.but(precision="tf32")) for arm in arms]
        allow_tf32(True)
        found["bp d=256, tf32"] = self._speed(tf32, SEEDS)
        allow_tf32(False)
        return found

    def _compared(self, name: str, arms: Sequence[Arm], seeds: Sequence[int]) -> Row:
        try:
            here = [a.at("ci" if a.at("ci") == a else self.profile).located() for a in arms]
        except Needs as error:
            return {name: str(error)}
        engine = engine_of(here[0], device="cuda")
        found = {f"{name}, loop": self._speed(here[:1], seeds[:1], engine="loop")}
        if engine == "stacked":
            found[f"{name}, stacked"] = self._speed(here, seeds)
        return found

    def _speed(self, arms: Sequence[Arm], seeds: Sequence[int], *, engine: str = "stacked") -> Row:
        """Steps in a second of runs that train as one, and the hours that all of them take."""
        if not self.rehearse:
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        try:
            program, data = self._prepared(arms, seeds, engine=engine)
            batches = self._batches(data, program.runs)
            order = self._timed(lambda: self._order(data, program.runs), 0.0)
            for step in range(3):
                program.advance(next(batches), self._moment(arms[0], step))
            rate = self._rate(program, batches, arms[0], self.seconds)
        except (RuntimeError, ValueError) as error:
            return {"failed": f"{type(error).__name__}: {error}"[:300], "hours": 0.0}
        rows = len(program.runs)
        found = {"runs": rows, "steps/s": round(rate, 1), "runs x steps/s": round(rows * rate)}
        epochs = arms[0].recipe.epochs
        found["hours"] = round((arms[0].steps / rate + epochs * order) / 3600, 4)
        found["order of an epoch, s"] = round(order, 3)
        if not self.rehearse:
            found["MiB"] = round(torch.cuda.max_memory_allocated() / 2**20)
        replay = getattr(program, "replay", None)
        found["replayed"] = replay is not None and replay.replay is not None
        return found

    def _prepared(
        self, arms: Sequence[Arm], seeds: Sequence[int], *, engine: str = "stacked"
    ) -> tuple[Program, Data]:
        runs = [Run(arm, seed) for arm in arms for seed in seeds]
        study = study_of(arms[0])
        data = load_data(study, arms[0], self.device, None)
        return ENGINES[engine](study, runs, data, self.device), data

    def _order(self, data: Data, runs: Sequence[Run]) -> torch.Tensor:
        return torch.stack([data.epoch(run.seed, 0) for run in runs]).to(self.device)

    def _batches(self, data: Data, runs: Sequence[Run]) -> Iterator[tuple[torch.Tensor, ...]]:
        size, epoch = runs[0].arm.recipe.batch, self._order(data, runs)
        while True:
            for at in range(0, epoch.shape[1] - size + 1, size):
                yield data.batch(epoch[:, at : at + size])

    def _moment(self, arm: Arm, step: int) -> Moment:
        return Moment(step=step, per_epoch=max(1, arm.steps // arm.recipe.epochs), total=arm.steps)

    def _rate(
        self,
        program: Program,
        batches: Iterator[tuple[torch.Tensor, ...]],
        arm: Arm,
        seconds: float,
    ) -> float:
        steps = iter(range(3, arm.steps))
        took = self._timed(
            lambda: program.advance(next(batches), self._moment(arm, next(steps))), seconds
        )
        return 1 / took

    def _by_torch_func(self, arm: Arm, seeds: Sequence[int]) -> Row:
        """The plain module mapped over runs by `torch.func`, and one fused AdamW over all."""
        runs = [Run(arm, seed) for seed in seeds]
        study = study_of(arm)
        data = load_data(study, arm, self.device, None)
        models = [study.reference(run, data, self.device) for run in runs]
        module = models[0].module
        held = stacked([dict(model.module.named_parameters()) for model in models])
        optimiser = torch.optim.AdamW(list(held.values()), lr=1e-3, weight_decay=0.01, fused=True)

        def loss(parameters: dict[str, torch.Tensor], x: torch.Tensor, y: torch.Tensor) -> Any:
            logits = functional_call(module, parameters, (x,))
            return torch.nn.functional.cross_entropy(logits, y)

        gradients_of, batches = vmap(grad_and_value(loss)), self._batches(data, runs)

        def step() -> None:
            gradients, _ = gradients_of(held, *next(batches))
            for name, parameter in held.items():
                parameter.grad = gradients[name]
            optimiser.step()

        rate = 1 / self._timed(step, self.seconds)
        return {"runs": len(runs), "steps/s": round(rate, 1), "runs x steps/s": len(runs) * rate}

    def _timed(self, work: Callable[[], object], seconds: float) -> float:
        """Seconds that a piece of work takes, done for some seconds without waiting in between."""
        work()
        self._wait()
        began, done = time.perf_counter(), 0
        while done == 0 or time.perf_counter() - began < seconds:
            for _ in range(10 if seconds else 1):
                work()
                done += 1
            if self.rehearse or done % 50 == 0:
                self._wait()
        self._wait()
        return (time.perf_counter() - began) / done

    def _wait(self) -> None:
        if not self.rehearse:
            torch.cuda.synchronize()

    def _watch(self) -> subprocess.Popen[str]:
        names = "utilization.gpu,memory.used,power.draw"
        command = ["nvidia-smi", f"--query-gpu={names}", "--format=csv,noheader,nounits", "-lms"]
        watch = subprocess.Popen([*command, "500"], stdout=subprocess.PIPE, text=True)

        def read() -> None:
            assert watch.stdout is not None
            for line in watch.stdout:
                numbers = [float(x) for x in line.split(",") if x.strip()[:1].isdigit()]
                self.load.append([round(time.monotonic() - self.began, 1), *numbers])

        threading.Thread(target=read, daemon=True).start()
        return watch


@cache
def random_images(name: str, *, size: int) -> ImageSet:
    """As many images as CIFAR-10 has, of random pixels: steps take no longer for what they show."""
    draw = np.random.default_rng(0)
    count = {"train": 50_000, "test": 10_000}
    return ImageSet(
        name,
        *(
            array
            for n in count.values()
            for array in (
                draw.integers(0, 256, (n, size, size, 3), dtype=np.uint8),
                draw.integers(0, 10, n, dtype=np.int64),
            )
        ),
    )


def page(found: dict[str, Any]) -> str:
    """What was found, as one page of text."""
    lines = []
    for part, rows in found.items():
        if part == "load":
            continue
        lines.append(part)
        for name, value in rows.items():
            said = value
            if isinstance(value, dict):
                said = ", ".join(f"{key} {number}" for key, number in value.items())
            lines.append(f"  {name}: {said}")
    load = [row[1] for row in found.get("load", []) if len(row) > 1]
    if load:
        lines.append(f"load of the card: {sum(load) / len(load):.0f} % on average")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rehearse", action="store_true", help="on a CPU, with small sizes")
    parser.add_argument("--into", type=Path, metavar="DIR", help="where gpu.json and gpu.txt go")
    parser.add_argument("--seconds", type=float, default=3.0, help="for each speed")
    parser.add_argument("--no-tests", action="store_true")
    chosen = parser.parse_args()
    if not (chosen.rehearse or torch.cuda.is_available()):
        parser.error("torch finds no CUDA device here; --rehearse goes without")
    torch.set_num_threads(1)
    ladder_data.load_images = random_images
    seconds = 0.2 if chosen.rehearse else chosen.seconds
    check = Check(rehearse=chosen.rehearse, seconds=seconds, tests=not chosen.no_tests)
    check.run()
    into = chosen.into or Path(tempfile.mkdtemp())
    into.mkdir(parents=True, exist_ok=True)
    (into / "gpu.json").write_text(json.dumps(check.found, indent=1))
    (into / "gpu.txt").write_text(page(check.found))
    print(page(check.found))
    failed = [part for part, rows in check.found.items() if part != "load" and "failed" in rows]
    return 1 if failed or check.found["cuda_tests"].get("exit") else 0


if __name__ == "__main__":
    sys.exit(main())
