"""The order in which programs are trained: verdicts early, and nobody idle at the end.

The dearest first is what ends soonest where several train side by side: the cheap ones fill the
gaps at the end. But then no claim is settled for long. So the cheapest claims come first, as many
of them as make the whole at most a twentieth longer; that is found by trying it out on paper.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Name = TypeVar("Name", bound=Hashable)

WORTH = 1.05
"""The whole may take this many times as long, for early verdicts."""

TRIED = (1.0, 0.8, 0.6, 0.4, 0.3, 0.2, 0.15, 0.1, 0.05)
"""Shares of the programs that are tried to come first, the largest that is worth it."""


@dataclass(frozen=True)
class Program(Generic[Name]):
    """Runs that are trained as one, in so many jobs one after another or side by side."""

    name: Name
    seconds: float
    jobs: int = 1
    starts_from: Name | None = None
    """The program whose end it waits for."""


def in_order(
    programs: Sequence[Program[Name]], claims: Sequence[Sequence[Name]], *, slots: int
) -> list[Program[Name]]:
    """Return programs in the order in which to start them.

    `claims` has the names of the programs that each claim waits for. Programs that others wait for
    are dear, however short they are themselves.

    >>> dear, cheap = Program("dear", 100.0, jobs=20), Program("cheap", 1.0)
    >>> [each.name for each in in_order([dear, cheap], [["dear"], ["cheap"]], slots=2)]
    ['cheap', 'dear']
    """
    waited_for = {each.starts_from for each in programs}
    dear = sorted(programs, key=lambda each: (each.name not in waited_for, -each.seconds))
    cheap = _by_claims(programs, claims)
    shortest = makespan(dear, slots=slots)
    for share in TRIED:
        first = cheap[: round(share * len(cheap))]
        chosen = dict.fromkeys(each.name for each in first)
        order = [*first, *(each for each in dear if each.name not in chosen)]
        if makespan(order, slots=slots) <= WORTH * shortest:
            return order
    return dear


def makespan(programs: Sequence[Program[Name]], *, slots: int) -> float:
    """Return how long programs take that are started in this order by so many at a time.

    >>> makespan([Program("a", 4.0, jobs=2), Program("b", 2.0)], slots=2)
    4.0
    """
    free = [0.0] * slots
    ends: dict[Name, float] = {}
    waiting = list(programs)
    known = {each.name for each in programs}
    while waiting:
        place = next(
            (i for i, each in enumerate(waiting) if _is_ready(each, known, ends, free[0])), None
        )
        if place is None:  # all that is left waits: go on when the first of what trains has ended
            heapq.heappushpop(free, min(end for end in ends.values() if end > free[0]))
            continue
        program = waiting.pop(place)
        for _ in range(program.jobs):
            end = heapq.heappop(free) + program.seconds / program.jobs
            heapq.heappush(free, end)
            ends[program.name] = max(end, ends.get(program.name, 0.0))
    return max(free)


def _is_ready(
    program: Program[Name], known: set[Name], ends: dict[Name, float], now: float
) -> bool:
    start = program.starts_from
    return start not in known or (start in ends and ends[start] <= now)


def _by_claims(
    programs: Sequence[Program[Name]], claims: Sequence[Sequence[Name]]
) -> list[Program[Name]]:
    """Return programs as the claims come that wait for them, the cheapest claim first."""
    by_name = {each.name: each for each in programs}

    def cost(claim: Sequence[Name]) -> float:
        return sum(by_name[name].seconds for name in claim if name in by_name)

    first = dict.fromkeys(name for claim in sorted(claims, key=cost) for name in claim)
    wanted = [by_name[name] for name in first if name in by_name]
    rest = [each for each in programs if each.name not in first]
    return [*wanted, *sorted(rest, key=lambda each: each.seconds)]
