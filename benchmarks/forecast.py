"""The time left that a session says, against the time that it then takes; nothing is trained.

    python -m repro evidence add evidence/ci-generated.jsonl.gz --store full
    python benchmarks/forecast.py --store full               # a session of two slots, in a minute
    python benchmarks/forecast.py --store full --load 2      # under load in its first half
    python benchmarks/forecast.py --store full --log log     # what a session said, in its own log

A session is simulated: it plans, orders and forecasts as ever, over a store that starts empty, but
its runs take the time that they took in the full store, and have its results. With `--load 2` all
that starts in the first half takes twice as long, as on a machine that others use too; with 0.5,
half as long.

With `--log` nothing is simulated: the lines of progress in the log of a session that filled this
store, by itself and from empty, are held against the times at which its runs ended. A line says how
many runs are stored, which is when it was written.
"""

from __future__ import annotations

import argparse
import re
import statistics
from collections.abc import Sequence
from contextlib import redirect_stdout
from datetime import datetime
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from simulated_session import Said, simulated

from repro.arm import Run
from repro.plugin.plugin import SESSION
from repro.runs.work import Work
from repro.store import Result, Store

TARGET = 0.25


class Simulation:
    """Takes the session's place: lets it work with the results of its store, not on them."""

    def __init__(self, *, slots: int, load: float) -> None:
        self._slots, self._load = slots, load
        self.said: list[Said] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        claims = session.config.stash[SESSION]
        if missing := claims.plan().missing():
            pytest.exit(f"{len(missing)} runs are not in this store; train them first", 1)
        results = _with_starts(claims.asked, claims.work)
        with TemporaryDirectory(prefix="forecast-") as folder:
            self.said = simulated(claims, results, Path(folder), slots=self._slots, load=self._load)
        return True


def _with_starts(asked: set[Run], work: Work) -> dict[Run, Result]:
    """Return the results of runs, and of those that they start from.

    Evidence has none of these, since it has no weights: they take what is forecast.
    """
    starts = {run.arm.starts_from for run in asked} - {None}
    found = {run: work.results.get(run) for run in asked}
    made_up = {
        run: Result("", {}, {"measures": {}}, {"seconds": work.forecast.seconds([run])}, b"0")
        for run in starts
        if run is not None
    }
    return made_up | {run: result for run, result in found.items() if result is not None}


PROGRESS = re.compile(
    r"^\[[█ ]+\] \d+/\d+ claims, (?:about (?:(\d+) h )?(\d+) min|under a minute) left"
    r".*?(\d+)/~?\d+ runs",
    re.MULTILINE,
)


def said_in(log: str, ended: Sequence[float], began: float) -> list[Said]:
    """Return what the lines of progress in a log said, by the times at which its runs ended.

    >>> line = "[█   ] 1/2 claims, about 3 min left: 1 reproduced | 1/~2 runs"
    >>> said_in(line, [60.0, 300.0], 0.0)
    [Said(moment=0.2, said=180.0, true=240.0)]
    """
    ended = sorted(ended)
    said = []
    for found in PROGRESS.finditer(log):
        hours, minutes, stored = found.groups()
        seconds = 30.0 if minutes is None else 3600.0 * int(hours or 0) + 60.0 * int(minutes)
        now = ended[int(stored) - 1] if 0 < int(stored) <= len(ended) else began
        if now < ended[-1]:
            moment = (now - began) / (ended[-1] - began)
            said.append(Said(moment, seconds, ended[-1] - now))
    return said


def _said_in_its_log(store: Path, log: Path) -> list[Said]:
    made = [result.provenance for result in Store(store).entries()]
    ended = [datetime.fromisoformat(each["finished"]).timestamp() for each in made]
    spans = zip(ended, made, strict=True)
    began = min(end - each["seconds"] * (each["trained_with"] + 1) for end, each in spans)
    return said_in(log.read_text(encoding="utf-8"), ended, began)


def _show(said: Sequence[Said]) -> None:
    print(f"{'gone':>5} {'said, s':>8} {'true, s':>8} {'error':>6}")
    shown = -1
    for each in said:
        if int(20 * each.moment) == shown:
            continue
        shown = int(20 * each.moment)
        print(f"{each.moment:5.0%} {each.said:8.0f} {each.true:8.0f} {each.error:+6.0%}")
    for quarter in range(4):
        errors = [abs(each.error) for each in said if int(4 * each.moment) == quarter]
        if errors:
            print(
                f"quarter {quarter + 1}: {statistics.median(errors):.0%} off in the median,"
                f" {max(errors):.0%} at most, at {len(errors)} moments"
            )
    later = [abs(each.error) for each in said if each.moment >= 0.25]
    if not later:
        return
    within = sum(error <= TARGET for error in later)
    print(
        f"from the first quarter on: {statistics.median(later):.0%} off in the median,"
        f" {max(later):.0%} at most; within {TARGET:.0%} at {within} of {len(later)} moments"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", required=True)
    parser.add_argument("--slots", type=int, default=2)
    parser.add_argument("--load", type=float, default=1.0)
    parser.add_argument("--log", type=Path, help="the log of the session that filled the store")
    chosen, rest = parser.parse_known_args()
    if chosen.log is not None:
        said = _said_in_its_log(Path(chosen.store), chosen.log)
        if not said:
            raise SystemExit(f"{chosen.log} has no lines of progress of these runs")
        _show(said)
        return
    simulation = Simulation(slots=chosen.slots, load=chosen.load)
    options = [
        *(rest or ["claims", "--ignore", "claims/documents"]),
        "--store",
        chosen.store,
        "-qq",
    ]
    quiet = ["-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
    with redirect_stdout(StringIO()) as complaint:  # it complains that nothing was judged
        pytest.main([*options, *quiet], plugins=[simulation])
    if not simulation.said:
        raise SystemExit(complaint.getvalue())
    _show(simulation.said)


if __name__ == "__main__":
    main()
