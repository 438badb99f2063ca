"""Statements, the terms that all have to hold for them, and the sides that terms compare.

The statements of the vocabulary differ only in their terms: paired differences that should be
positive (`paired`), or a standard deviation that should be small (`spread`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from repro.judge.design import Design
from repro.judge.effect import Effect
from repro.judge.evidence import Evidence
from repro.judge.scale import Array, Scale


class Side(Protocol):
    """One side of a comparison: a measured arm, or a fixed number."""

    @property
    def label(self) -> str: ...
    @property
    def is_fixed(self) -> bool: ...
    @property
    def is_exact(self) -> bool:
        """True where nothing in the values depends on the seed: they are read off."""

    @property
    def pairing(self) -> object:
        """The runs that its values are of: sides of the same runs are paired, seed by seed."""

    def values(self, seeds: int, /) -> Array: ...
    def examples(self, seeds: int, /) -> Array | None:
        """The examples that the values are means of, [seeds, examples].

        None where they are not to count as drawn from more.
        """


Readings: TypeAlias = Mapping[Side, Array]
"""The values of each side, over the same seeds in the same order where they are paired.

A side whose `pairing` is its own may have fewer values than others; a fixed one has the most.
"""


@dataclass(frozen=True)
class Fixed:
    """A number that does not depend on the seed, such as a documented value."""

    value: float

    @property
    def label(self) -> str:
        return f"{self.value:g}"

    @property
    def is_fixed(self) -> bool:
        return True

    @property
    def is_exact(self) -> bool:
        return True

    @property
    def pairing(self) -> object:
        return None

    def values(self, seeds: int, /) -> Array:
        return np.full(seeds, self.value)

    def examples(self, seeds: int, /) -> Array | None:
        return None


class Term(Protocol):
    """One part of a statement, which is weighed and reported by itself."""

    @property
    def scale(self) -> Scale: ...
    @property
    def sides(self) -> tuple[Side, ...]: ...
    def weigh(self, readings: Readings, /) -> Evidence: ...
    def is_trivial(self, readings: Readings, /) -> Any:
        """Return True where no measurement could fail it, so that there is nothing to judge."""

    def report(self, evidence: Evidence, readings: Readings, context: Context, /) -> Effect:
        """Describe it for the verdict."""

    def seeds_needed(self, effect: Effect, /) -> int | None:
        """The seeds that would settle it with 80 % power, were this effect the true one."""


@dataclass(frozen=True)
class Context:
    """The part of a statement that a term needs in order to be described."""

    design: Design
    terms: int
    """The number of terms that all have to hold."""
    boundary: float
    """The p at which it holds at this look."""
    boundary_against: float
    """The p of its opposite at which it fails at this look."""
    settled: bool
    """True where the verdict fell at this look, so that the estimate is one that stopped seeds."""


@dataclass(frozen=True)
class Statement:
    """A sentence that can be judged, and the terms that all have to hold.

    `implied` are comparisons that follow from the terms: they need not be shown, but each can
    refute the statement. `ranking` names the sides in the order that the sentence claims, if it
    claims one. `documented` is the number of a source, where the sentence repeats one.
    """

    text: str
    terms: tuple[Term, ...]
    implied: tuple[Term, ...] = ()
    ranking: tuple[Side, ...] = ()
    documented: float | None = None

    @property
    def sides(self) -> tuple[Side, ...]:
        """Every side once, in the order of first mention."""
        return tuple(dict.fromkeys(side for term in self.terms for side in term.sides))

    @property
    def scale(self) -> str:
        """The scales its terms are compared on."""
        return ", ".join(dict.fromkeys(term.scale.name for term in self.terms))


def joined(statements: Sequence[Statement]) -> Statement:
    """Return the statement that all of these hold."""
    return Statement(
        ", and ".join(statement.text for statement in statements),
        tuple(term for statement in statements for term in statement.terms),
        tuple(term for statement in statements for term in statement.implied),
    )
