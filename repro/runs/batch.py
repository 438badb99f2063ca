"""Carries out jobs, on whatever machine: times a program, or trains a batch of its runs."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Protocol

from repro.arm import Arm, Run
from repro.core.device import one_thread, ran_out_of_memory
from repro.core.files import RunFiles
from repro.core.progress import Progress
from repro.core.speed import Speed, unknown_speed
from repro.imports import import_whole
from repro.own.arm import OutsideArm
from repro.own.outside import OutsideStudy
from repro.own.training_run import TrainingFiles
from repro.runs.crashes import exit_refused
from repro.runs.events import Failed, Narrowed, Trained
from repro.runs.identity import name_of
from repro.runs.opened import Opened
from repro.runs.packages import packages_of
from repro.runs.printed import Printed, details_of, printing_into
from repro.runs.provenance import provenance
from repro.store import StoreError
from repro.studies.find import study_of


class Files(RunFiles, TrainingFiles, Protocol):
    """The files of a batch's runs, whether they train here or outside."""


def measure_program(arms: Sequence[Arm], *, engine: str, device: str, files: Files) -> Speed:
    """Time arms of one program here and now."""
    import_whole("torch")
    import torch

    from repro.core.timing import measure_speed

    one_thread()
    try:
        study = study_of(arms[0])
    except Exception:  # training will tell why
        return unknown_speed(engine)
    return measure_speed(study, arms, engine=engine, device=torch.device(device), files=files)


def train_batch(
    runs: Sequence[Run],
    *,
    engine: str,
    device: str,
    files: Files,
) -> Iterator[Progress | Trained | Failed | Narrowed]:
    """Train runs of one program together, or in halves where memory cannot hold them all."""
    shortage: list[str] = []
    ended: set[Run] = set()
    for event in _train_together(runs, engine, device, files, shortage):
        if not isinstance(event, Progress):
            ended.add(event.run)
        yield event
    if not shortage:
        return
    left = [run for run in runs if run not in ended]
    if len(runs) == 1:
        for run in left:
            yield Failed(
                run,
                f"{name_of(run)} does not fit into memory on its own ({shortage[0]}); free some,"
                " or train it on a larger device.",
            )
        return
    half = -(-len(runs) // 2)
    yield Narrowed(runs[0].arm.program, half)
    for first in range(0, len(left), half):
        part = left[first : first + half]
        yield from train_batch(part, engine=engine, device=device, files=files)


def _train_together(
    runs: Sequence[Run],
    engine: str,
    device: str,
    files: Files,
    shortage: list[str],
) -> Iterator[Progress | Trained | Failed]:
    """Train runs until they are done or memory runs out, whose words go into `shortage`.

    They are not raised: the exception would keep the memory of what was left unfinished.
    """
    import_whole("torch")
    import torch

    from repro.core.train import Finished, training

    one_thread()
    began = time.monotonic()
    left = list(runs)
    printed = Printed()
    try:
        study, at = study_of(runs[0].arm), torch.device(device)
        outside = study if isinstance(study, OutsideStudy) else None
        opened = Opened(runs[0].arm, but=[files.folder(run) for run in runs if outside])
        with exit_refused():
            events = (
                training(study, runs, engine=engine, device=at, files=files)
                if outside is None
                else outside.training(runs, files)
            )
            for event in opened.during(printing_into(printed, events)):
                if isinstance(event, Finished):
                    left.remove(event.run)
                    how = provenance(device, (time.monotonic() - began) / len(runs), len(runs))
                    how["packages"] = {**how["packages"], **packages_of(event.run.arm)}
                    if isinstance(event.run.arm, OutsideArm):
                        how["threads"] = event.run.arm.threads
                        how["devices"] = event.run.arm.devices
                    if opened.unnamed:
                        how["opened"] = opened.unnamed
                    yield Trained(event.run, event.values, how, event.weights)
                else:
                    yield event
    except StoreError:  # it is the store that fails, and no run
        raise
    except Exception as error:
        if ran_out_of_memory(error):
            shortage.append(str(error))
            return
        why = f"{type(error).__name__}: {error}"
        details = details_of(error, printed.text)
        for run in left:
            yield Failed(run, f"{name_of(run)}, failed to train: {why}", details)
