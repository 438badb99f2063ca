"""The search for the first commit at which a claim's effect is another than at the good end.

It halves the range as `git bisect` does, but a step is a test of two samples. A commit counts as
changed where its effect is clearly not that of the good end, in the direction of the bad one, and
as unchanged where it is clearly not that of the bad end. Where it is neither, it takes more seeds,
and with the last of them still neither, it is left out like a commit that cannot be measured. Where
all results are the same to the last bit as at a commit that is settled, so is the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from repro.bisect.errors import SearchError, Unmeasurable
from repro.judge import Excess, chance_of_less

REFERENCE = 20
"""The seeds of the good end."""

LOOKS = (5, 8, 12, 20, 30)
"""The seeds of all others, in turn."""

DECISIVE = 12
"""The fewest seeds at which the ends can be told apart."""

ENDS_DIFFER = 0.001
"""The chance at each look that ends are told apart which are the same."""

CLEARLY = 0.002
"""The chance at each look that a commit is taken for changed, or for unchanged, and is not."""


@dataclass(frozen=True)
class Measurement:
    """The measurement of a claim at one commit, over some seeds."""

    excesses: tuple[Excess, ...]
    """The distance of each comparison past its bound; empty where a value is not finite."""
    claimed: tuple[str, ...] = ()
    """The statements of the claim."""
    results: tuple[str, ...] = ()
    """A digest of the results of each seed."""
    told: tuple[str, ...] = ()
    """The measured values in words, for each statement."""
    trained: int = 0
    """The runs that had to be trained for it."""

    @property
    def seeds(self) -> int:
        return len(self.results)

    def is_same(self, other: Measurement) -> bool:
        """Return whether both are the same to the last bit, over the seeds that both have."""
        seeds = min(self.seeds, other.seeds)
        same_results = self.results[:seeds] == other.results[:seeds]
        return seeds > 0 and same_results and self.claimed == other.claimed


class State(Enum):
    """The state in which the search finds a commit."""

    UNCHANGED = "as at the good end"
    CHANGED = "changed"
    OPEN = "open"
    UNMEASURABLE = "cannot be measured"


@dataclass(frozen=True)
class Difference:
    """The comparison by which the ends differ most, and the way in which they do."""

    place: int
    is_less: bool
    """True where the bad end has the smaller distance."""
    chance: float
    """The chance of it in any comparison, were both ends the same."""


@dataclass
class Found:
    """The end of a search."""

    good: Measurement
    bad: Measurement
    difference: Difference | None = None
    """None where the ends are not told apart, or where the bad end has no finite value."""
    unclear: Difference | None = None
    """The clearest difference of ends that are not told apart."""
    last_unchanged: int = 0
    first_changed: int = 0
    """The places of the commits between which it changed; equal where it did not."""
    before: Measurement | None = None
    after: Measurement | None = None
    """The claim at those two, over as many seeds as told the ends apart."""
    left_out: dict[int, str] = field(default_factory=dict)
    """The places of commits that could not be settled, each with the reason."""

    @property
    def suspects(self) -> range:
        """The places of the commits of which one changed it."""
        return range(self.last_unchanged + 1, self.first_changed + 1)


Measure = Callable[[int, int], Measurement]
"""Measures the commit at a place over so many seeds; raises `Unmeasurable`."""

Tell = Callable[[int, State, str], None]
"""Takes the place of a commit, what it was found to be, and how."""


def find_change(commits: int, measure: Measure, tell: Tell = lambda *_: None) -> Found:
    """Find the first of so many commits that differs from the first one as the last one does.

    Raises `SearchError` where the ends cannot be measured.
    """
    try:
        good, bad = measure(0, REFERENCE), measure(commits - 1, LOOKS[0])
    except Unmeasurable as error:
        raise SearchError(f"The claim cannot be measured at an end of the range: {error}") from None
    if not good.excesses:
        raise SearchError("The claim has no finite value at the good end: choose another one.")
    tell(0, State.UNCHANGED, _seeds(good))
    found = Found(good, bad)
    if bad.is_same(good):
        tell(commits - 1, State.UNCHANGED, "the same to the last bit")
        return found
    if bad.excesses:
        difference, found.bad = _difference(good, bad, commits - 1, measure)
        if difference.chance >= ENDS_DIFFER:
            found.unclear = difference
            tell(commits - 1, State.OPEN, f"no difference over {_seeds(found.bad)}")
            return found
        found.difference = difference
    tell(commits - 1, State.CHANGED, _seeds(found.bad))
    _Halving(found, commits, measure, tell).run()
    return found


def _difference(
    good: Measurement, bad: Measurement, place: int, measure: Measure
) -> tuple[Difference, Measurement]:
    """Return how the ends differ most, and the bad one over the seeds that it took to see it."""
    for seeds in (look for look in LOOKS if look >= DECISIVE):
        bad = measure(place, seeds)
        if len(bad.excesses) != len(good.excesses):
            raise SearchError(
                f"The claim compares {len(good.excesses)} things at the good end and"
                f" {len(bad.excesses)} at the bad one: choose a range in which it stays as it is."
            )
        chances = [
            (2 * len(good.excesses) * float(chance_of_less(*pair)), i, is_less)
            for i, (there, here) in enumerate(zip(good.excesses, bad.excesses, strict=True))
            for pair, is_less in (((there, here), True), ((here, there), False))
        ]
        chance, i, is_less = min(chances)
        if chance < ENDS_DIFFER:
            break
    return Difference(i, is_less, min(chance, 1.0)), bad


@dataclass
class _Halving:
    """The search between two ends that differ."""

    found: Found
    commits: int
    measure: Measure
    tell: Tell

    def run(self) -> None:
        found = self.found
        found.last_unchanged, found.first_changed = 0, self.commits - 1
        self._settled = [(found.good, State.UNCHANGED), (found.bad, State.CHANGED)]
        while (place := self._next()) is not None:
            state = self._state(place)
            if state is State.UNCHANGED:
                found.last_unchanged = place
            elif state is State.CHANGED:
                found.first_changed = place
        seeds = max(found.bad.seeds, DECISIVE)
        found.before = self.measure(found.last_unchanged, seeds)
        found.after = self.measure(found.first_changed, seeds)

    def _next(self) -> int | None:
        """Return the place that halves what is left; None where nothing between can be settled."""
        low, high = self.found.last_unchanged, self.found.first_changed
        between = [x for x in range(low + 1, high) if x not in self.found.left_out]
        return min(between, key=lambda place: abs(2 * place - low - high), default=None)

    def _state(self, place: int) -> State:
        try:
            for seeds in LOOKS:
                measured = self.measure(place, seeds)
                state, why = self._judge(measured)
                if state is not State.OPEN:
                    return self._settle(place, measured, state, why)
        except Unmeasurable as error:
            return self._leave_out(place, State.UNMEASURABLE, str(error))
        return self._leave_out(place, State.OPEN, f"between both ends over {_seeds(measured)}")

    def _judge(self, measured: Measurement) -> tuple[State, str]:
        for known, state in self._settled:
            if measured.is_same(known):
                return state, "the same to the last bit as one that is settled"
        if not measured.excesses:
            return State.CHANGED, "it has no finite value"
        difference, good = self.found.difference, self.found.good.excesses
        if difference is None:
            return State.UNCHANGED, "it has finite values"
        if len(measured.excesses) != len(good):
            raise Unmeasurable("its claim has another number of comparisons")
        here = measured.excesses[difference.place]
        there, changed = good[difference.place], self.found.bad.excesses[difference.place]
        if _is_beyond(there, here, is_less=difference.is_less):
            return State.CHANGED, _seeds(measured)
        if _is_beyond(changed, here, is_less=not difference.is_less):
            return State.UNCHANGED, _seeds(measured)
        return State.OPEN, ""

    def _settle(self, place: int, measured: Measurement, state: State, why: str) -> State:
        self._settled.append((measured, state))
        self.tell(place, state, why)
        return state

    def _leave_out(self, place: int, state: State, why: str) -> State:
        self.found.left_out[place] = why
        self.tell(place, state, why)
        return state


def _is_beyond(there: Excess, here: Excess, *, is_less: bool) -> bool:
    """Return whether a distance is clearly less than another, or more."""
    pair = (there, here) if is_less else (here, there)
    return float(chance_of_less(*pair)) < CLEARLY


def _seeds(measured: Measurement) -> str:
    return f"{measured.seeds} seeds, {measured.trained} runs trained"
