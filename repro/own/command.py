"""Black boxes without a training function: commands that print their measures, and timings."""

from __future__ import annotations

import gc
import json
import os
import re
import shlex
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

from repro.own.outside import OutsideStudy
from repro.own.training_run import TrainingRun

NUMBER = "number"
"""The name of the group with the number of the epoch, in the pattern `epoch`."""


class CommandStudy(OutsideStudy):
    """A study whose runs are a command, with `{seed}` and the arm's settings filled in.

    The command runs in the folder of the study, without a shell; `python` is this Python. A setting
    of several values, such as `{betas}`, becomes several words, or values with commas if it is a
    part of a word. `{folder}` is a folder of the run, which an interruption leaves unchanged.

    Measures are read from the last printed line: one number, or a JSON object of numbers. With
    `pattern` they are the groups of its last match, named like metrics; with `json_file` they are
    read from that file in `{folder}`. Lines that match `epoch` report epochs. `flags` has the words
    to add for settings that are true, like argparse's `store_true`.

    >>> STUDY = CommandStudy(
    ...     "python train.py --seed {seed} --lr {lr}", flags={"nesterov": "--nesterov"},
    ...     pattern=r"test accuracy: (?P<accuracy>[\\d.]+)",
    ...     epoch=r"epoch (?P<number>\\d+): loss (?P<loss>[\\d.]+)",
    ...     timeout=3600, environment={"WANDB_MODE": "disabled"},
    ... )
    """

    def __init__(
        self,
        command: str,
        *,
        pattern: str | None = None,
        json_file: str | None = None,
        epoch: str | None = None,
        timeout: float | None = None,
        environment: Mapping[str, str] | None = None,
        flags: Mapping[str, str] | None = None,
    ) -> None:
        if pattern is not None and json_file is not None:
            raise ValueError("A CommandStudy reads a pattern or a json_file; give one of them.")
        if json_file is not None and not json_file.startswith("{folder}/"):
            raise ValueError(
                f"The json_file {json_file!r} of a CommandStudy would be shared by runs that are"
                " trained at once; let the command write into the folder of its run, such as"
                ' --out {folder}/results.json, and give json_file="{folder}/results.json".'
            )
        self.words, self.timeout = shlex.split(command), timeout
        self.pattern, self.json_file, self.epoch = pattern, json_file, epoch
        self.environment, self.flags = dict(environment or {}), dict(flags or {})
        super().__init__(self._train)

    def _train(self, arm: Any, seed: int, run: TrainingRun) -> Mapping[str, Any]:
        folder = arm.study_folder
        settings = {each.name: getattr(arm, each.name) for each in fields(arm)}
        given = {n: _Several(x) if isinstance(x, tuple) else x for n, x in settings.items()}
        given |= {"seed": seed, "folder": run.folder}
        words = [each for word in self.words for each in _words(word, given)]
        words += [flag for setting, flag in self.flags.items() if getattr(arm, setting)]
        written = folder / _filled_in(self.json_file, given) if self.json_file else None
        if written is not None:
            written.unlink(missing_ok=True)  # an earlier run may have written it
        lines = []
        for line in self._lines(words, folder):
            run.log(line)
            lines.append(line)
            if self.epoch and (found := re.search(self.epoch, line)):
                _report(run, found.groupdict())
        return self._read(lines, written, arm)

    def _lines(self, words: list[str], folder: Path) -> Iterator[str]:
        """Yield the lines that a command prints; raise if it fails or takes too long."""
        is_python = words[0] in ("python", "python3")
        process = subprocess.Popen(
            [sys.executable, *words[1:]] if is_python else words,
            cwd=folder,
            env={**os.environ, "PYTHONUNBUFFERED": "1", **self.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,  # so that its child processes can be ended, too
        )
        assert process.stdout is not None
        began, most = time.monotonic(), self.timeout or threading.TIMEOUT_MAX
        with process, _ended(process, most):
            for line in process.stdout:
                yield line.rstrip("\n")
            status = process.wait()
        if time.monotonic() - began > most:
            raise TimeoutError(f"{shlex.join(words)} took longer than {self.timeout:g} seconds")
        if status:
            raise RuntimeError(f"{shlex.join(words)} ended with status {status}")

    def _read(self, lines: list[str], written: Path | None, arm: Any) -> Mapping[str, Any]:
        if written is not None:
            try:
                found = json.loads(written.read_text(encoding="utf-8"))
            except (OSError, ValueError) as error:
                raise ValueError(f"{written} holds no JSON that can be read ({error})") from error
            return {name: found[name] for name in arm.metrics if name in found}
        if self.pattern is not None:
            matches = list(re.finditer(self.pattern, "\n".join(lines)))
            if not matches:
                raise ValueError(f"no line that it printed matches {self.pattern!r}")
            return matches[-1].groupdict()
        last = next((line for line in reversed(lines) if line.strip()), "")
        try:
            found = json.loads(last)
        except ValueError:
            found = None
        if isinstance(found, dict):
            return {name: found[name] for name in arm.metrics if name in found}
        if type(found) in (int, float) and len(arm.metrics) == 1:
            return {next(iter(arm.metrics)): found}
        raise ValueError(
            f"the last line that it printed is {last!r}; let it print a number, where"
            f" {type(arm).__name__} has one metric, or a JSON object such as"
            f" {json.dumps(dict.fromkeys(arm.metrics, 0.5))}, or give a pattern or a json_file."
        )


class TimingStudy(OutsideStudy):
    """A study that compares how long pieces of work take.

    `pieces` returns the pieces for an arm and a seed, as functions without arguments. They are done
    in the order A B B A A B B A …, so that a machine that becomes busier slows all of them. The
    first rounds warm up and do not count. The measure is a list: each piece's median time in
    seconds. Other work on the machine interrupts short pieces (milliseconds) less often than long
    ones. A piece that uses a GPU must wait for it.

    >>> STUDY = TimingStudy(lambda arm, seed: [lambda: ours(arm.size), lambda: theirs(arm.size)])
    >>> def test_at_most_a_fifth_slower(trials):
    ...     seconds = trials(Sorting()).seconds
    ...     assert seconds[0].is_at_most_times(1.2, of=seconds[1])
    """

    def __init__(
        self,
        pieces: Callable[[Any, int], Sequence[Callable[[], object]]],
        *,
        metric: str = "seconds",
        rounds: int = 20,
        warmup: int = 2,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        if rounds < 2 or rounds % 2 or warmup < 0:
            raise ValueError(
                f"A TimingStudy has rounds={rounds} and warmup={warmup}; give an even number of"
                " rounds, so that every piece comes first as often as last, and no warmup below 0."
            )
        self.pieces, self.metric, self.clock = pieces, metric, clock
        self.rounds, self.warmup = rounds, warmup
        super().__init__(self._train)

    def _train(self, arm: Any, seed: int, run: TrainingRun) -> dict[str, list[float]]:
        pieces = list(self.pieces(arm, seed))
        taken: list[list[float]] = [[] for _ in pieces]
        was_on = gc.isenabled()
        gc.disable()  # as `timeit` does
        try:
            for number in range(self.warmup + self.rounds):
                order = range(len(pieces)) if number % 2 == 0 else range(len(pieces))[::-1]
                for index in order:
                    began = self.clock()
                    pieces[index]()
                    taken[index].append(self.clock() - began)
        finally:
            if was_on:
                gc.enable()
        taken = [each[self.warmup :] for each in taken]
        medians = [statistics.median(each) for each in taken]
        for index, (median, each) in enumerate(zip(medians, taken, strict=True)):
            run.log(f"piece {index}: median {median:.6g} s, {min(each):.6g} to {max(each):.6g}")
            if median <= 0:
                raise ValueError(
                    f"piece {index} took no time that the clock can measure; let it repeat its work"
                    " until it takes a millisecond."
                )
        return {self.metric: medians}


class _Several(tuple[Any, ...]):
    """A setting of several values; as a part of a word they have commas between them."""

    def __format__(self, how: str) -> str:
        return ",".join(format(each, how) for each in self)


def _words(word: str, given: Mapping[str, Any]) -> list[str]:
    """Return a word of a command with settings filled in, or the words of several values."""
    alone = given.get(word[1:-1]) if word[:1] + word[-1:] == "{}" else None
    return list(map(str, alone)) if isinstance(alone, _Several) else [_filled_in(word, given)]


def _filled_in(text: str, given: Mapping[str, Any]) -> str:
    try:
        return text.format_map(given)
    except (KeyError, AttributeError, IndexError, ValueError) as error:
        raise ValueError(
            f"{text!r} names a setting that the arm does not have ({error}); it has"
            f" {sorted(given)}. Double braces that name no setting."
        ) from error


def _report(run: TrainingRun, found: Mapping[str, str | None]) -> None:
    measures = {name: float(x) for name, x in found.items() if name != NUMBER and x is not None}
    number = found.get(NUMBER)
    run.epoch(None if number is None else int(number), **measures)


@contextmanager
def _ended(process: subprocess.Popen[str], timeout: float) -> Iterator[None]:
    """End a process after `timeout` seconds, and at the end of the block."""
    timer = threading.Timer(timeout, _kill, [process])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        if process.poll() is None:
            _kill(process)


def _kill(process: subprocess.Popen[str]) -> None:
    """End a process and its child processes."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
