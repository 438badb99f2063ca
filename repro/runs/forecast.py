"""The time that missing runs will take, by what was timed and by how early others stopped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from repro.arm import Run
from repro.runs.engines import Engines
from repro.runs.results import Results


def by_program(runs: Iterable[Run]) -> list[list[Run]]:
    """Group runs by what can be trained as one, in the order in which they come."""
    programs: dict[str, list[Run]] = {}
    for run in runs:
        programs.setdefault(run.arm.program, []).append(run)
    return list(programs.values())


class Forecast:
    """Seconds of one process for runs that are not trained yet."""

    def __init__(self, engines: Engines, results: Results) -> None:
        self._engines, self._results = engines, results

    def is_timed(self, run: Run) -> bool:
        """Return whether the program of a run was timed; else its seconds are a guess."""
        return self._engines.of(run.arm) is not None

    def seconds(self, runs: Sequence[Run]) -> float:
        """Return how long runs of one program take."""
        seconds = self._engines.seconds(runs)
        if not runs[0].arm.stops_early:
            return seconds
        shares = list(self._shares())
        return seconds * sum(shares) / len(shares) if shares else seconds

    def of_all(self, runs: Iterable[Run]) -> float:
        """Return how long runs of many programs take."""
        return sum(map(self.seconds, by_program(runs)))

    def _shares(self) -> Iterable[float]:
        """Yield the shares of their steps that runs took which could stop early."""
        for run, result in self._results.read():
            steps = result.values.get("steps")
            if run.arm.stops_early and run.arm.steps and steps is not None:
                yield steps / run.arm.steps
