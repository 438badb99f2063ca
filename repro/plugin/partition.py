"""Divides programs among shards, by costs that every shard comes to without asking the others.

Claims that share programs stay together while they fit into a fair share of the whole. What is
larger is cut between programs, never within one; a claim whose programs then lie in several shards
is judged when these are merged.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

T = TypeVar("T")

MERGE = 0
"""The place of a claim that no shard judges, because its programs lie in several."""


@dataclass(frozen=True)
class Partition:
    """The programs and the claims of each shard; shards are counted from 1."""

    shards: int
    programs: Mapping[str, int]
    """The shard of each program."""
    claims: Mapping[str, int]
    """The shard of each claim, or `MERGE`."""
    seconds: Sequence[float]
    """The cost of each shard, the first one's first."""

    @cached_property
    def digest(self) -> str:
        """A text that two partitions share only where they put everything in the same places."""
        text = json.dumps([self.shards, dict(self.programs), dict(self.claims)], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def partition(
    claims: Mapping[str, Set[str]],
    seconds: Mapping[str, float],
    *,
    bound: Iterable[Set[str]] = (),
    shards: int,
) -> Partition:
    """Divide programs that cost so many seconds; claims without any go to the first shard.

    Programs that are `bound` to each other are trained in one place: one starts from the other.

    >>> partition({"a": {"p"}, "b": {"q"}}, {"p": 2.0, "q": 1.0}, shards=2).claims
    {'a': 1, 'b': 2}
    """
    atoms = [frozenset(part) for part in _joined(seconds, bound)]
    costs = {atom: sum(seconds[name] for name in sorted(atom)) for atom in atoms}
    atom_of = {name: atom for atom in atoms for name in atom}
    wants = {claim: {atom_of[name] for name in names} for claim, names in sorted(claims.items())}
    fair = sum(costs[atom] for atom in sorted(costs, key=min)) / shards
    groups = [
        group
        for part in _joined(atoms, [wanted for wanted in wants.values() if wanted])
        for group in _cut(part, costs, wants.values(), fair)
    ]
    loads = [0.0] * shards
    placed: dict[frozenset[str], int] = {}
    for group in sorted(groups, key=lambda group: (-_cost(group, costs), min(map(min, group)))):
        least = loads.index(min(loads))
        loads[least] += _cost(group, costs)
        placed |= dict.fromkeys(group, least + 1)
    return Partition(
        shards,
        programs={name: placed[atom_of[name]] for name in sorted(seconds)},
        claims={claim: _place({placed[each] for each in wants[claim]}) for claim in wants},
        seconds=loads,
    )


def _place(shards: Set[int]) -> int:
    if not shards:
        return 1
    return MERGE if len(shards) > 1 else min(shards)


def _cost(group: Set[frozenset[str]], costs: Mapping[frozenset[str], float]) -> float:
    return sum(costs[atom] for atom in sorted(group, key=min))


def _joined(names: Iterable[T], ties: Iterable[Set[T]]) -> list[set[T]]:
    """Return names in sets: those that ties join, directly or by way of others, are in one."""
    above = {name: name for name in names}

    def top(name: T) -> T:
        while above[name] != name:
            above[name] = above[above[name]]
            name = above[name]
        return name

    for tie in ties:
        first, *others = tie
        for other in others:
            above[top(other)] = top(first)
    joined: dict[T, set[T]] = {}
    for name in above:
        joined.setdefault(top(name), set()).add(name)
    return list(joined.values())


def _cut(
    part: set[frozenset[str]],
    costs: Mapping[frozenset[str], float],
    wants: Iterable[Set[frozenset[str]]],
    fair: float,
) -> Iterator[set[frozenset[str]]]:
    """Yield a part as a whole, or in groups of at most a fair share, a large program by itself.

    A group begins with what costs most, and takes what shares the most claims with it.
    """
    if _cost(part, costs) <= fair or len(part) == 1:
        yield part
        return
    claims: dict[frozenset[str], list[Set[frozenset[str]]]] = {}
    for wanted in wants:
        for atom in wanted & part:
            claims.setdefault(atom, []).append(wanted)
    left = dict.fromkeys(sorted(part, key=lambda atom: (-costs[atom], min(atom))))
    while left:
        group: set[frozenset[str]] = set()
        shared: dict[frozenset[str], int] = {next(iter(left)): 0}
        cost = 0.0
        while shared:
            taken = min(shared, key=lambda atom: (-shared[atom], -costs[atom], min(atom)))
            del shared[taken]
            if group and cost + costs[taken] > fair:
                continue
            group.add(taken)
            cost += costs[taken]
            del left[taken]
            for atom in (atom for wanted in claims[taken] for atom in wanted):
                if atom in left:
                    shared[atom] = shared.get(atom, 0) + 1
        yield group
