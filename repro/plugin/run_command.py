"""The command `run`: trains one run of each arm of a claim in the open, and stores nothing."""

from __future__ import annotations

import argparse
from typing import Any

from repro.arm import Run
from repro.core.device import resolve_device
from repro.evidence import EvidenceError
from repro.evidence.audit import Again, NotTrained
from repro.plugin.reading import add_claims, collected
from repro.recorded.source import RecordedArm
from repro.runs.identity import engine_of, name_of
from repro.text import shown


def add_to(commands: Any) -> None:
    """Add `run` to the commands of a parser.

    >>> add_to(argparse.ArgumentParser().add_subparsers())
    """
    parser = commands.add_parser("run", help="train one run of each arm of a claim, to be seen")
    add_claims(parser)
    parser.add_argument("--seed", type=int, help="the seed (default: the first of each arm)")
    parser.add_argument("--profile", help="ci (default) or paper")
    parser.add_argument("--device", default="auto", help="auto (default), cpu, cuda or mps")
    parser.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> int:
    """Train a run of each arm; the exit code is 1 where one failed."""
    device, session = resolve_device(chosen.device), collected(chosen, "profile")
    arms = dict.fromkeys(arm for item in session.trained for arm in session.read_ahead(item).arms)
    runs = [
        Run(arm, arm.seeds(1)[0] if chosen.seed is None else chosen.seed)
        for arm in arms
        if not isinstance(arm, RecordedArm)
    ]
    if not runs:
        raise EvidenceError("Nothing to train: these claims have no arms that train.")
    starts = [run.arm.starts_from for run in runs if run.arm.starts_from]
    engines = {run: engine_of(run.arm, device=device) for run in [*starts, *runs]}
    again, has_failed = Again(engines, device=device, shows=True), False
    for run in runs:
        print(shown(name_of(run)), flush=True)
        try:
            for name, value in again.values(run).get("measures", {}).items():
                print(shown(f"  {name} {value}"), flush=True)
        except NotTrained as error:
            has_failed = True
            print(error, flush=True)
    return int(has_failed)
