"""The words every layer shares: an arm is a study with settings fixed, a run an arm and a seed.

Arms are plain frozen data, so that they can be compared, hashed, written to disk and read at
collection time without importing torch.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

from repro.recipe import Recipe

Settings = dict[str, Any]


class Needs(Exception):
    """What a claim needs that is not here, and how to give it: the claim is not run."""


@dataclass(frozen=True)
class Metric:
    """How a measure is compared between runs.

    `scale` is where differences behave: `log` for what multiplies (perplexity, ratios), `log-odds`
    for shares (accuracy), `identity` for the rest.
    """

    scale: Literal["identity", "log", "log-odds"]
    examples: int | None = None
    """How many examples a share is counted on, for shares that can be 0 or 1."""
    listed: bool = False
    """Whether a run has several of it, such as one a block."""
    sampled: str | None = None
    """The measure that lists the examples that this one is the mean of, where a comparison is to
    count the error of having drawn these examples and no others."""


@dataclass(frozen=True, kw_only=True)
class Arm:
    """A study with its settings fixed, seed aside; each study declares its own subclass.

    >>> BP = LadderArm(width=256, depth=4, rule="bp", trained=4)
    >>> FROZEN = BP.but(trained=0)
    """

    study: ClassVar[str]
    """The importable module whose `STUDY` trains this arm."""

    code: ClassVar[tuple[str, ...]] = ()
    """Further modules that decide its runs: those that the study reaches in other packages."""

    documented_seeds: ClassVar[tuple[int, ...]] = ()
    """The seeds of the source; the judge takes these first."""

    metrics: ClassVar[dict[str, Metric]] = {}
    """What a run measures, by name, and how it is compared."""

    per_run: ClassVar[frozenset[str]] = frozenset()
    """Settings that may differ between runs trained as one program."""

    keeps_weights: ClassVar[bool] = False
    """Whether the parameters that its runs end with are stored, for other runs to start from."""

    data: str
    """The name of the data set."""

    recipe: Recipe

    def but(self, **changes: Any) -> Self:
        """The same arm with some settings changed."""
        known = {field.name for field in dataclasses.fields(self) if field.init}
        for name in changes:
            if name not in known:
                raise TypeError(
                    f"{type(self).__name__} has no setting {name!r}; it has {sorted(known)}."
                )
        return dataclasses.replace(self, **changes)

    def at(self, profile: str) -> Self:
        """This arm at the size of a profile; the documented size is `paper`."""
        if profile != "paper":
            raise ValueError(f"{type(self).__name__} does not say how small {profile!r} makes it.")
        return self

    def content(self) -> str:
        """The content hash of the data set, found without importing torch."""
        raise NotImplementedError(f"{type(self).__name__} does not say what its data is.")

    @property
    def steps(self) -> int:
        """Optimiser steps of a run."""
        raise NotImplementedError(f"{type(self).__name__} does not say how long it trains.")

    @property
    def stacks(self) -> bool:
        """Whether the study can train this arm in its stacked form."""
        return False

    @property
    def starts_from(self) -> Run | None:
        """The run whose parameters the runs of this arm start from, if there is one."""
        return None

    def located(self) -> Self:
        """This arm on the data that is here: the real set, else its generated twin.

        Raises `Needs` where neither will do.
        """
        return self

    def settings(self) -> Settings:
        """The settings as plain data: the arm's part of a run's identity."""
        return {"arm": type(self).__name__, **dataclasses.asdict(self)}

    @property
    def label(self) -> str:
        """A short name for tables and plots."""
        return type(self).__name__

    @property
    def effort(self) -> float:
        """Multiplications of one step on one example, roughly: for estimates and for order."""
        return 1.0

    def trained_as(self) -> Self:
        """This arm without the settings that only its evaluation reads, each at one usual value.

        Runs that differ in nothing else are trained once and measured apart.
        """
        return self

    @cached_property
    def program(self) -> str:
        """What two arms must have in common to be trained as one program."""
        settings = self.trained_as().settings()
        shared = {name: x for name, x in settings.items() if name not in self.per_run}
        recipe = {
            name: x for name, x in shared.get("recipe", {}).items() if name not in Recipe.PER_RUN
        }
        return json.dumps({**shared, "study": self.study, "recipe": recipe}, sort_keys=True)

    @classmethod
    def seeds(cls, count: int) -> list[int]:
        """The first `count` seeds: the documented ones, then 1, 2, 3, …"""
        further = (seed for seed in itertools.count(1) if seed not in cls.documented_seeds)
        return list(itertools.islice(itertools.chain(cls.documented_seeds, further), count))


@dataclass(frozen=True)
class Run:
    """An arm and a seed: the unit that is trained, stored and shared between claims."""

    arm: Arm
    seed: int

    @property
    def training(self) -> Run:
        """What runs have in common that can be trained as one."""
        return Run(self.arm.trained_as(), self.seed)


def require_hashable(arm: Arm) -> None:
    """Raises TypeError where a setting of an arm is not plain frozen data.

    >>> require_hashable(Spiral(widths=[8, 8]))
    TypeError: Spiral(widths=[8, 8]) cannot be hashed: a list can change; give a tuple.
    """
    for field in dataclasses.fields(arm):
        value = getattr(arm, field.name)
        try:
            hash(value)
        except TypeError as error:
            kind = type(value).__name__
            instead = {"list": "a tuple", "dict": "a tuple of pairs", "set": "a frozenset"}
            raise TypeError(
                f"{type(arm).__name__}({field.name}={value!r}) cannot be hashed: a {kind} can"
                f" change; give {instead.get(kind, 'frozen data')}."
            ) from error
