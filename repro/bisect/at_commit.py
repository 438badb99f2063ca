"""Measures one claim in the working tree of one commit: a process for each measurement.

python -m repro.bisect.at_commit CLAIM SEEDS FILE PYTEST-ARGUMENT …
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from repro.arm import Needs, Run
from repro.data.locate import DataError
from repro.evidence.errors import EvidenceError
from repro.judge import Design, Judge, MeasuringJudge, Verdict, distances, statements_of
from repro.judge.scale import ScaleError
from repro.plugin.claims import claim_id
from repro.plugin.reading import with_claims
from repro.plugin.session import ClaimSession
from repro.plugin.trials import Trials
from repro.report.progress import progress_line
from repro.runs.plan import Plan, RunsMissing, TrainingFailed
from repro.runs.progress import Status
from repro.store import StoreError

SECONDS_BETWEEN_LINES = 30.0


class Progress:
    """Prints a line now and then while runs train, past what pytest captures."""

    def __init__(self) -> None:
        self._out = os.fdopen(os.dup(1), "w")
        self._printed = time.monotonic()

    def show(self, status: Status) -> None:
        """Print how far training is, unless a line was just printed."""
        if time.monotonic() - self._printed < SECONDS_BETWEEN_LINES:
            return
        self._printed = time.monotonic()
        print(
            progress_line([status], {}, now=time.monotonic(), width=200), file=self._out, flush=True
        )


def measure(
    session: ClaimSession, claim: str, seeds: int, show: Callable[[Status], None]
) -> dict[str, Any]:
    """Train what a claim needs over so many seeds; return what it is, as `Measurement` keeps it."""
    assert session.work is not None
    item = _item(session, claim)
    read: list[Trials] = []

    def read_claim() -> None:
        trials = session.trials_of(item)
        trials.judge = MeasuringJudge(Design(looks=(seeds,)))
        read[:] = [trials]
        assert isinstance(item, pytest.Function)
        callspec = getattr(item, "callspec", None)
        item.obj(**(dict(callspec.params) if callspec else {}), trials=trials)

    plan = Plan([read_claim], is_settled=session.work.results.is_settled, asked=session.asked)
    session.work.train(plan, show)
    read_claim()
    [trials] = read
    found = [distances(verdict, seeds) for verdict in trials.findings]
    return {
        "excesses": [list(vars(each).values()) for part in found for each in part]
        if all(found)
        else [],
        "claimed": [verdict.statement for verdict in trials.findings],
        "results": _digests(trials, seeds),
        "told": [_told(verdict, seeds) for verdict in trials.findings] if all(found) else [],
        "trained": session.work.trained,
    }


def _item(session: ClaimSession, claim: str) -> pytest.Item:
    """Return the claim of a name, as the ledger has it or as pytest has."""
    named = [item for item in session.trained if claim in (claim_id(item), item.nodeid)]
    if not named:
        raise EvidenceError(f"there is no claim {claim} that can be trained")
    return named[0]


def _digests(trials: Trials, seeds: int) -> list[str]:
    """Return a digest of what the runs of each seed gave."""
    by_seed: list[list[Any]] = [[] for _ in range(seeds)]
    for arm in dict.fromkeys(trials.arms):
        for i, seed in enumerate(arm.seeds(seeds)):
            result = trials.results.get(Run(arm, seed))
            by_seed[i].append(None if result is None else result.values)
    return [
        hashlib.sha256(json.dumps(each, sort_keys=True).encode()).hexdigest() for each in by_seed
    ]


def _told(verdict: Verdict, seeds: int) -> str:
    """Return what was measured in words, as a judge of so many seeds says it."""
    judge = Judge(Design(looks=(seeds,)))
    return "; ".join(judge.decide(each).measured for each in statements_of(verdict))


def main(arguments: Sequence[str]) -> int:
    """Write the measurement, or the reason that there is none, into a file as JSON."""
    claim, seeds, into, *options = arguments
    said: dict[str, Any]
    progress = Progress()
    try:
        said = with_claims(
            [], options, lambda session: measure(session, claim, int(seeds), progress.show)
        )
    except (EvidenceError, StoreError, TrainingFailed, RunsMissing, Needs, DataError) as error:
        said = {"failed": str(error)}
    except ScaleError as error:
        said = {"failed": f"it cannot be judged: {error}"}
    except Exception as error:  # of the claim itself: it is another claim there, or a broken one
        said = {"failed": f"its test ends in {type(error).__name__}: {error}"}
    Path(into).write_text(json.dumps(said), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
