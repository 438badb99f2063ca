"""Black boxes without a function that trains: commands that print what they measure, timed work."""

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
"""The group of an epoch's pattern that says which epoch it is."""


class CommandStudy(OutsideStudy):
    """A study whose runs are a command, in which `{seed}` and the arm's settings are filled in.

    It runs in the folder of the study, by this Python where it begins with `python`, and without a
    shell. A setting of several values, such as `{betas}`, gives as many words, or values with
    commas between them within a word. `{folder}` is a folder of the run that an interruption leaves
    as it is. Measures are read from the last line that it prints: one number, or a JSON object of
    numbers. Else from the last match of `pattern`, whose groups have the names of metrics, or from
    the file `json_file` in `{folder}`. Lines that match `epoch` are told as epochs. `flags` are
    words that are added for settings which are true, as of argparse's `store_true`.

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
            written.unlink(missing_ok=True)  # what an earlier run wrote is not this one's
        lines = []
        for line in self._lines(words, folder):
            run.log(line)
            lines.append(line)
            if self.epoch and (found := re.search(self.epoch, line)):
                _tell(run, found.groupdict())
        return self._read(lines, written, arm)

    def _lines(self, words: list[str], folder: Path) -> Iterator[str]:
        """Yield the lines that a command prints; raise where it fails or takes too long."""
        is_python = words[0] in ("python", "python3")
        process = subprocess.Popen(
            [sys.executable, *words[1:]] if is_python else words,
            cwd=folder,
            env={**os.environ, "PYTHONUNBUFFERED": "1", **self.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,  # so that what it starts can be ended with it
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
    """A study of how long pieces of work take, one beside the other.

    `pieces` returns for an arm and a seed the pieces as functions without arguments. They are done
    in the order A B B A A B B A …, so that a machine that becomes busier does so for all of them.
    The first rounds warm up and do not count; of the others each piece's median is measured, in
    seconds, as one value of a listed metric. Short pieces (milliseconds) are interrupted less often
    by others on the same machine than long ones. A GPU is waited for within the piece.

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
                places = range(len(pieces)) if number % 2 == 0 else range(len(pieces))[::-1]
                for place in places:
                    began = self.clock()
                    pieces[place]()
                    taken[place].append(self.clock() - began)
        finally:
            if was_on:
                gc.enable()
        taken = [each[self.warmup :] for each in taken]
        medians = [statistics.median(each) for each in taken]
        for place, (median, each) in enumerate(zip(medians, taken, strict=True)):
            run.log(f"piece {place}: median {median:.6g} s, {min(each):.6g} to {max(each):.6g}")
            if median <= 0:
                raise ValueError(
                    f"piece {place} took no time that the clock can tell; let it do its work often"
                    " enough to take a millisecond."
                )
        return {self.metric: medians}


class _Several(tuple[Any, ...]):
    """A setting of several values, in a text with commas between them."""

    def __format__(self, how: str) -> str:
        return ",".join(format(each, how) for each in self)


def _words(word: str, given: Mapping[str, Any]) -> list[str]:
    """Return a word of a command with settings filled in; several where it is one of several."""
    alone = given.get(word[1:-1]) if word[:1] + word[-1:] == "{}" else None
    return list(map(str, alone)) if isinstance(alone, _Several) else [_filled_in(word, given)]


def _filled_in(text: str, given: Mapping[str, Any]) -> str:
    try:
        return text.format_map(given)
    except (KeyError, AttributeError, IndexError, ValueError) as error:
        raise ValueError(
            f"{text!r} names a setting that the arm does not have ({error}); it has"
            f" {sorted(given)}. Write braces twice where they name no setting."
        ) from error


def _tell(run: TrainingRun, found: Mapping[str, str | None]) -> None:
    measures = {name: float(x) for name, x in found.items() if name != NUMBER and x is not None}
    number = found.get(NUMBER)
    run.epoch(None if number is None else int(number), **measures)


@contextmanager
def _ended(process: subprocess.Popen[str], timeout: float) -> Iterator[None]:
    """End a process after so many seconds, and at the end of the block."""
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
    """End a process and those that it has started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
