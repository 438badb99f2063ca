"""A batch on a node of a cluster: checked against the keys that were asked for, and trained.

Slurm's jobs and Ray's tasks begin here. A node computes the key of each run itself: other code,
data or versions are noticed, and nothing is stored under a key that does not say how it was made.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from repro.arm import Run
from repro.backends.trainer import Files, train_batch
from repro.core.progress import Progress
from repro.runs.identity import Identity, identity, name_of
from repro.runs.pool import Batch, Failed, Narrowed, Trained
from repro.store import run_key


def identity_here(run: Run, batch: Batch, device: str) -> Identity:
    """Return the identity that a run of a batch has on this machine."""
    return identity(run, device=device, starts_from=batch.start.key if batch.start else None)


def train_here(
    batch: Batch, *, device: str, files: Files
) -> Iterator[Progress | Trained | Failed | Narrowed]:
    """Train the runs of a batch that have the same key here; the others fail."""
    runs = []
    for run, key in zip(batch.runs, batch.keys, strict=True):
        try:
            here = identity_here(run, batch, device)
        except Exception as error:  # an arm reads its data, and users write arms
            why = f"cannot be trained on the node that it was sent to: {error}"
            yield Failed(run, f"{name_of(run)}, {why}")
            continue
        if run_key(here) == key:
            runs.append(run)
        else:
            yield Failed(run, _other_key(run, here))
    if runs:
        yield from train_batch(runs, engine=batch.engine, device=device, files=files)


def _other_key(run: Run, here: Identity) -> str:
    about = {name: here[name] for name in ("torch", "data", "code")}
    return (
        f"{name_of(run)}, would be stored under another key by the node that it was sent to, whose"
        f" code, data or versions are not those of the process that asked; there: {about}"
    )


def part_of(batch: Batch, keys: set[str]) -> Batch:
    """Return a batch with these of its runs alone."""
    pairs = [(run, key) for run, key in zip(batch.runs, batch.keys, strict=True) if key in keys]
    return replace(batch, runs=[run for run, _ in pairs], keys=[key for _, key in pairs])


def code_paths(project: Path) -> list[str]:
    """Return where Python finds modules below a project, in the order in which it looks.

    Folders of virtual environments are no part of it.

    >>> code_paths(Path.cwd())
    ['.', 'claims']
    """
    places = [Path(place).absolute() for place in sys.path]
    below = [path for path in places if path.is_relative_to(project)]
    own = [path for path in below if not any((p / "pyvenv.cfg").is_file() for p in path.parents)]
    return list(dict.fromkeys(str(path.relative_to(project)) for path in own))
