"""The time left that a session says, against the time that it then takes; nothing is trained.

    pytest claims -n 4 --store full                          # a whole session, from an empty store
    python benchmarks/forecast.py --store full               # replays it, in less than a minute
    python benchmarks/forecast.py --store full --slots 2     # the same runs, side by side on paper
    python benchmarks/forecast.py --store full --log log     # what the session said, in its own log

A store is the record of its session: the provenance of each run says when it ended (`finished`),
what it took of its process (`seconds`), and with how many others (`trained_with`). At moments from
the start to the end, the claims are read with the runs that had ended by then, and the forecast is
asked as the session asks it. A program counts as timed from when its first run began.

With `--slots` the runs of each look start in the order of their programs' cost, so many jobs at a
time, and take what they took. That is for stores that several sessions filled, such as one made by
`python -m repro evidence add`; it leaves out what a session loses between runs. With `--load 2` all
that starts in the first half takes twice as long, as on a machine that others use too.

With `--log` nothing is replayed: the lines of progress in the log of a session that filled this
store, by itself and from empty, are held against the times at which its runs ended. A line says how
many runs are stored, which is when it was written.
"""

from __future__ import annotations

import argparse
import heapq
import os
import re
import statistics
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from datetime import datetime
from io import StringIO
from pathlib import Path

import pytest

from repro.arm import Arm, Run
from repro.core.speed import Speed
from repro.plugin.plugin import SESSION
from repro.plugin.session import ClaimSession
from repro.runs.forecast import Forecast
from repro.runs.progress import Status, seconds_left
from repro.store import Result, Store

MOMENTS = 40
TARGET = 0.25
BATCH = 8
CHEAP = 0.3
"""The share of programs that come first for being cheap."""
LOOKS = (5, 8, 12)


@dataclass(frozen=True)
class Span:
    """When a run was trained, and how many seconds of its process it took as one of several."""

    start: float
    end: float
    company: int
    seconds: float


@dataclass(frozen=True)
class Said:
    """The time left that was said at a moment, and the true one."""

    moment: float
    said: float
    true: float

    @property
    def error(self) -> float:
        return (self.said - self.true) / self.true


class Replay:
    """Takes the session's place: asks the forecast at moments of a session that is over."""

    def __init__(self, slots: int | None, load: float) -> None:
        self._slots, self._load = slots, load
        self.said: list[Said] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        claims = session.config.stash[SESSION]
        if missing := claims.plan().missing():
            pytest.exit(f"{len(missing)} runs are not in this store; train them first", 1)
        found = {run: claims.work.results.get(run) for run in claims.asked}
        results = {run: result for run, result in found.items() if result is not None}
        if self._slots is None:
            spans = {run: _as_it_was(result) for run, result in results.items()}
        else:
            spans = _on_paper(results, self._slots, self._load)
        self.said = _replay(claims, results, spans, self._slots or os.cpu_count() or 1)
        return True


def _as_it_was(result: Result) -> Span:
    made = result.provenance
    company = made["trained_with"] + 1
    end = datetime.fromisoformat(made["finished"]).timestamp()
    return Span(end - made["seconds"] * company, end, company, made["seconds"])


def _on_paper(results: dict[Run, Result], slots: int, load: float) -> dict[Run, Span]:
    """Return when each run would be trained: look by look, cheap programs first, then the dear."""
    took = {run: result.provenance["seconds"] for run, result in results.items()}
    programs: dict[tuple[int, str], list[Run]] = {}
    for run in sorted(results, key=lambda run: (run.arm.program, run.seed)):
        programs.setdefault((_look(run), run.arm.program), []).append(run)
    cost = {key: sum(took[run] for run in runs) for key, runs in programs.items()}
    cheap = sorted(cost.values())[int(CHEAP * len(cost))]
    order = sorted(programs, key=lambda key: (key[0], cost[key] > cheap, -cost[key], key[1]))
    free, whole = [0.0] * slots, sum(took.values()) / slots
    spans: dict[Run, Span] = {}
    for key in order:
        for first in range(0, len(programs[key]), BATCH):
            batch = programs[key][first : first + BATCH]
            start = heapq.heappop(free)
            factor = load if start < whole / 2 else 1.0
            end = start + factor * sum(took[run] for run in batch)
            heapq.heappush(free, end)
            spans |= {run: Span(start, end, len(batch), factor * took[run]) for run in batch}
    return spans


def _look(run: Run) -> int:
    """Return the place of the look that first asks for a run; the first for seeds of no look."""
    seeds = run.arm.seeds(LOOKS[-1])
    place = seeds.index(run.seed) if run.seed in seeds else 0
    return sum(place >= look for look in LOOKS)


def _replay(
    claims: ClaimSession, results: dict[Run, Result], spans: dict[Run, Span], slots: int
) -> list[Said]:
    """Ask at each moment what the session would have said."""
    work = claims.work
    assert work is not None
    began, ended = min(s.start for s in spans.values()), max(s.end for s in spans.values())
    timed: dict[str, float] = {}
    for run, span in spans.items():
        timed[run.arm.program] = min(span.start, timed.get(run.arm.program, ended))
    now = began
    for run, span in spans.items():
        results[run].provenance["seconds"] = span.seconds
    speed_of = work.engines.of

    def get(run: Run) -> Result | None:
        return results[run] if run in spans and spans[run].end <= now else None

    def read() -> dict[Run, Result]:
        return {run: result for run, result in results.items() if spans[run].end <= now}

    def of(arm: Arm) -> Speed | None:
        return speed_of(arm) if timed.get(arm.program, ended) <= now else None

    work.results.get, work.results.read, work.engines.of = get, read, of
    claims.asked = set()
    plan = claims.plan()
    plan._settled = lambda place: None  # nothing is announced
    forecast = Forecast(work.engines, work.results)
    said = []
    for moment in range(MOMENTS):
        now = began + (ended - began) * moment / MOMENTS
        missing, likely = plan.missing(), plan.likely()
        under_way = sum(
            min(now - span.start, forecast.seconds([run]) * span.company) / span.company
            for run, span in spans.items()
            if span.start <= now < span.end
        )
        status = Status(
            claims=plan.claims,
            decided=plan.decided,
            asked=len(plan.asked),
            missing=len(missing),
            likely=sum(likely.values()),
            looked_at=now,
            seconds_left=forecast.of_all(missing) + forecast.of_likely(likely),
            began=began,
            done=sum(span.seconds for span in spans.values() if span.end <= now),
            slots=slots,
            under_way=under_way,
        )
        said.append(Said(moment / MOMENTS, seconds_left([status], now=now), ended - now))
    return said


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
    for each in said[:: max(1, len(said) // 20)]:
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
    parser.add_argument("--slots", type=int)
    parser.add_argument("--load", type=float, default=1.0)
    parser.add_argument("--log", type=Path, help="the log of the session that filled the store")
    chosen = parser.parse_args()
    if chosen.log is not None:
        said = _said_in_its_log(Path(chosen.store), chosen.log)
        if not said:
            raise SystemExit(f"{chosen.log} has no lines of progress of these runs")
        _show(said)
        return
    replay = Replay(chosen.slots, chosen.load)
    options = ["claims", "--ignore", "claims/documents", "--store", chosen.store, "-qq"]
    quiet = ["-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
    with redirect_stdout(StringIO()) as complaint:  # it complains that nothing was judged
        pytest.main([*options, *quiet], plugins=[replay])
    if not replay.said:
        raise SystemExit(complaint.getvalue())
    _show(replay.said)


if __name__ == "__main__":
    main()
