"""Statements, the terms that all have to hold for them, and the sides that terms compare.

A term is weighed at each look, described for the verdict, and held against a ledger.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import numpy as np

from repro.judge.effect import Effect
from repro.judge.evidence import Evidence, Excess
from repro.judge.looks import Design
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
    is_fixed = True
    is_exact = True
    pairing = None

    @property
    def label(self) -> str:
        return f"{self.value:g}"

    def values(self, seeds: int, /) -> Array:
        return np.full(seeds, self.value)

    def examples(self, seeds: int, /) -> Array | None:
        return None


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


class Term(ABC):
    """One part of a statement, which is weighed and described by itself."""

    scale: Scale

    @property
    @abstractmethod
    def sides(self) -> tuple[Side, ...]: ...
    @abstractmethod
    def weigh(self, readings: Readings) -> Evidence: ...
    @abstractmethod
    def describe(self, evidence: Evidence, readings: Readings, context: Context) -> Effect:
        """Describe it for the verdict; `effect_of` fills in what all terms have."""

    @abstractmethod
    def distance(self, readings: Readings) -> Excess | None:
        """Return how far past its bound it is, over seeds alone; None where it has no distance.

        The examples of the data are the same ones in the ledger that it is compared with.
        """

    def is_trivial(self, readings: Readings) -> Any:
        """Return True where no measurement could fail it, so that there is nothing to judge."""
        return False

    @cached_property
    def is_paired(self) -> bool:
        """False where it compares runs that are independent of each other."""
        return len({side.pairing for side in self.sides if not side.is_fixed}) < 2

    @cached_property
    def is_exact(self) -> bool:
        """True where every seed gives the same."""
        return all(side.is_exact for side in self.sides)


def effect_of(evidence: Evidence, context: Context, **described: Any) -> Effect:
    """Return the description of a term with what all terms have."""
    return Effect(
        p_for=float(evidence.p_for),
        p_against=float(evidence.p_against),
        boundary=context.boundary,
        boundary_against=context.boundary_against,
        seeds=evidence.seeds,
        alike=bool(evidence.alike),
        counts=evidence.counts,
        **described,
    )


@dataclass(frozen=True)
class Statement:
    """A sentence that can be judged, and the terms that all have to hold.

    `implied` are comparisons that follow from the terms: they need not be shown, but each can
    refute the statement. `documented` is the number of a source, where the sentence repeats one.
    """

    text: str
    terms: tuple[Term, ...]
    implied: tuple[Term, ...] = ()
    documented: float | None = None

    @property
    def sides(self) -> tuple[Side, ...]:
        """Every side once, in the order of first mention."""
        return tuple(dict.fromkeys(side for term in self.terms for side in term.sides))

    @property
    def scale(self) -> str:
        """The scales its terms are compared on."""
        return ", ".join(dict.fromkeys(term.scale.name for term in self.terms))
