"""Arms and runs: an arm is a study with its settings fixed, a run is an arm and a seed.

Arms are plain frozen data: they can be compared, hashed, written to disk, and used while pytest
collects tests, without importing torch.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Self

from repro.recipe import Recipe

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    AnyArm = TypeVar("AnyArm", bound="Arm", covariant=True, default="Arm")
else:  # only type checkers need the default, by which a bare `Run` is a `Run[Arm]`
    from typing import TypeVar

    AnyArm = TypeVar("AnyArm", covariant=True)

Settings = dict[str, Any]

Values = dict[str, Any]
"""A run's result as plain data: `measures`, `history` and `steps`, or `diverged_at`."""


def _with_types(value: object) -> object:
    """Return a setting with the types of all its parts, for `repr`."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return type(value), [_with_types(getattr(value, field.name)) for field in fields]
    if isinstance(value, tuple | list):
        return [_with_types(each) for each in value]
    return type(value), value


def _given(settings: Any, plain: Settings) -> Settings:
    """Return the plain settings of a data class without those at their defaults, at every depth."""
    given = dict(plain)
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if repr(_with_types(value)) == repr(_with_types(field.default)):
            del given[field.name]
        elif dataclasses.is_dataclass(value):
            given[field.name] = _given(value, given[field.name])
    return given


class Needs(Exception):
    """A claim cannot be run because something is missing; the message says what."""


class Untestable(Needs):
    """A claim cannot be tested by anybody: its source does not say enough.

    >>> raise Untestable("the GPU is not named")
    Traceback (most recent call last):
    repro.arm.Untestable: cannot be tested: the GPU is not named
    """

    def __init__(self, why: str) -> None:
        super().__init__(f"cannot be tested: {why}")


@dataclass(frozen=True)
class Metric:
    """The scale and other properties of a metric.

    Choose the `scale` on which equal differences mean the same: `log` for factors (perplexity,
    time), `log-odds` for shares (accuracy), `identity` for others. `share` is for runs that fail or
    succeed (0 or 1).

    >>> METRICS = {
    ...     "perplexity": Metric("log"),
    ...     "accuracy": Metric("log-odds", examples=10_000),
    ...     "parameters": Metric("identity", exact=True),
    ...     "loss_of_block": Metric("identity", listed=True),
    ... }
    """

    scale: Literal["identity", "log", "log-odds", "share"]
    examples: int | None = None
    """The number of examples behind a share, for shares that can be 0 or 1."""
    listed: bool = False
    """True where a run has several values, such as one for each block."""
    exact: bool = False
    """True where no seed can change it, such as a number of parameters or operations.

    Any other metric that is the same on every seed is no evidence: perhaps the seed does not reach
    the training.
    """
    sampled: str | None = None
    """The name of the measure with one value for each example; this metric is its mean.

    Comparisons then count the error of having measured only these examples."""


@dataclass(frozen=True, kw_only=True)
class Arm:
    """A study with all its settings fixed, except the seed; each study has its own subclass.

    >>> @dataclass(frozen=True, kw_only=True)
    ... class Network(Arm):
    ...     study: ClassVar[str] = "networks"  # the module that holds STUDY
    ...     metrics: ClassVar[dict[str, Metric]] = {"accuracy": Metric("log-odds")}
    ...     depth: int = 4
    ...     data: str = "digits"
    ...     recipe: Recipe = Recipe(epochs=3, batch=10, lr=1e-3)
    >>> Network(depth=2).settings()["depth"]
    2
    """

    study: ClassVar[str]
    """The name of the module whose `STUDY` trains this arm."""

    documented_seeds: ClassVar[tuple[int, ...]] = ()
    """The seeds that the source used; the judge takes these first."""

    metrics: ClassVar[dict[str, Metric]] = {}
    """The metrics of a run by name."""

    per_run: ClassVar[frozenset[str]] = frozenset()
    """Names of the settings that may differ between runs trained as one program."""

    keeps_weights: ClassVar[bool] = False
    """True where the final parameters of its runs are stored, for other runs to start from."""

    data: str
    """The name of the data set."""

    if TYPE_CHECKING:  # not part of the code that a run reaches, since subclasses define them
        deterministic: ClassVar[bool] = False
        """True where no seed can change a run, such as that of a baseline in closed form.

        Runs of other arms that are the same on every seed are no sample: perhaps the seed does not
        reach the training.
        """

        @property
        def recipe(self) -> Recipe:
            """The optimiser, schedule and stopping rule; black boxes have none."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name in ("__eq__", "__hash__"):  # or the dataclass decorator would make its own
            if name not in cls.__dict__:
                setattr(cls, name, getattr(Arm, name))

    def __eq__(self, other: object) -> bool:
        """Return whether two arms are equal, also in the types of their settings.

        In Python `1`, `1.0` and `True` are equal, and so are `0.0` and `-0.0`, but they may train
        differently.
        """
        return isinstance(other, Arm) and self._exact == other._exact

    def __hash__(self) -> int:
        return hash(self._exact)

    @cached_property
    def _exact(self) -> str:
        return repr(_with_types(self))

    def but(self, **changes: Any) -> Self:
        """Return the same arm with some settings changed.

        >>> DEEP.but(depth=1) == SHALLOW
        True
        """
        known = {field.name for field in dataclasses.fields(self) if field.init}
        for name in changes:
            if name not in known:
                raise TypeError(
                    f"{type(self).__name__} has no setting {name!r}; it has {sorted(known)}."
                )
        return dataclasses.replace(self, **changes)

    def at(self, profile: str) -> Self:
        """Return this arm at the size of a profile: itself for `paper`, `at_ci()` for `ci`."""
        if profile == "paper":
            return self
        if profile == "ci":
            return self.at_ci()
        raise ValueError(f"{type(self).__name__} has no profile {profile!r}; it has ci and paper.")

    def at_ci(self) -> Self:
        """Return this arm at a size for a CPU; raise `Needs` if there is none.

        Each subclass defines it; this one is small enough already.

        >>> DEEP.at_ci() == DEEP
        True
        """
        raise NotImplementedError(f"{type(self).__name__} does not say how small ci makes it.")

    def content(self) -> str:
        """Return the content hash of the data set, without importing torch; a subclass defines it.

        >>> DEEP.content()
        'digits'
        """
        raise NotImplementedError(f"{type(self).__name__} does not say what its data is.")

    @property
    def data_sets(self) -> tuple[str, ...]:
        """The names of the data sets that its runs read.

        Names that `repro.data.registry` does not know, such as twins, need no files.
        """
        return (self.data,)

    @property
    def steps(self) -> int:
        """The number of optimiser steps of a run; a subclass defines it.

        >>> DEEP.steps
        300
        """
        raise NotImplementedError(f"{type(self).__name__} does not say how long it trains.")

    def epochs_known(self, *, measured: bool) -> list[int]:
        """Return the epochs (from 1) with a known loss; with `measured`, those with metrics."""
        recipe = self.recipe
        return [n + 1 for n in range(recipe.epochs) if recipe.measures(n) or not measured]

    def epochs_of(self, metric: str) -> list[int]:
        """Return the epochs (from 1) at which a metric, or the `loss`, is known."""
        return self.epochs_known(measured=metric != "loss")

    @property
    def pairing(self) -> object:
        """Arms with equal values are paired by seed; None for all trained arms."""
        return None

    def alike(self, metric: str) -> Any:
        """Return the values of all arms with the spread of this one; None if it has its own."""
        return None

    def is_exact(self, metric: str, index: int | None = None) -> bool:
        """Return True where no seed can change a metric of this arm.

        `index` selects a value of a list metric.
        """
        return type(self).metrics[metric].exact

    @property
    def stops_early(self) -> bool:
        """True if a run may end early."""
        return self.recipe.patience is not None

    def stacks_on(self, device: str) -> bool:
        """Return whether the study stacks runs of this arm on a kind of device.

        A study may stack more on an accelerator, since one small network does not fill it.
        """
        return False

    @property
    def starts_from(self) -> Run | None:
        """The run whose parameters the runs of this arm start from, if there is one."""
        return None

    def located(self) -> Self:
        """Return this arm with the data on this machine: the real set, or else its generated twin.

        Raises `Needs` where neither can be used.
        """
        return self

    def settings(self) -> Settings:
        """Return the settings as plain data."""
        return {"arm": type(self).__name__, **dataclasses.asdict(self)}

    def given(self) -> Settings:
        """Return the settings that are not at their defaults, for the identity of a run.

        Defaults are part of the code. So a setting that is added later does not change the keys of
        stored runs.

        >>> DEEP.but(depth=4).given()
        {'arm': 'Network', 'depth': 4}
        """
        return _given(self, self.settings())

    @property
    def label(self) -> str:
        """A short name for tables and plots.

        >>> DEEP.label
        'deep'
        """
        return type(self).__name__

    @property
    def effort(self) -> float:
        """The rough number of multiplications of one step on one example.

        It orders programs, and estimates their time before any was measured.
        """
        return 1.0

    @property
    def work(self) -> float:
        """The rough number of multiplications of a whole run."""
        return self.steps * self.recipe.batch * self.effort

    def trained_as(self) -> Self:
        """Return this arm with a fixed value for each setting that only its evaluation reads.

        Runs that differ only in such settings are trained once and measured apart.
        """
        return self

    @cached_property
    def program(self) -> str:
        """A text that is equal for all arms that can be trained as one program."""
        settings = self.trained_as().settings()
        shared = {name: x for name, x in settings.items() if name not in self.per_run}
        recipe = {
            name: x for name, x in shared.get("recipe", {}).items() if name not in Recipe.PER_RUN
        }
        return json.dumps({**shared, "study": self.study, "recipe": recipe}, sort_keys=True)

    @classmethod
    def seeds(cls, count: int) -> list[int]:
        """Return the first `count` seeds: the documented ones, then 1, 2, 3, …"""
        further = (seed for seed in itertools.count(1) if seed not in cls.documented_seeds)
        return list(itertools.islice(itertools.chain(cls.documented_seeds, further), count))


@dataclass(frozen=True)
class Run(Generic[AnyArm]):
    """An arm and a seed: the unit that is trained, stored and shared between claims."""

    arm: AnyArm
    seed: int

    @property
    def training(self) -> Run[AnyArm]:
        """The run that is trained for this one; runs that share it differ only in evaluation."""
        return Run(self.arm.trained_as(), self.seed)


def require_plain(arm: Arm) -> None:
    """Raise TypeError where a setting of an arm is not plain frozen data.

    >>> require_plain(Spiral(widths=[8, 8]))
    TypeError: Spiral(widths=[8, 8]) cannot be hashed: a list can change; give a tuple.
    """
    for field in dataclasses.fields(arm):
        value = getattr(arm, field.name)
        kind, place = type(value).__name__, f"{type(arm).__name__}({field.name}={value!r})"
        try:
            hash(value)
        except TypeError as error:
            instead = {"list": "a tuple", "dict": "a tuple of pairs", "set": "a frozenset"}
            raise TypeError(
                f"{place} cannot be hashed: a {kind} can"
                f" change; give {instead.get(kind, 'frozen data')}."
            ) from error
        if _is_endless(value):
            raise TypeError(
                f"{place} cannot be written down: nan and infinity are no numbers that a file can"
                " hold; give None, or a number that stands for it."
            )
        if not _is_plain(value):
            instead = {"PosixPath": "str(path)", "ndarray": "a tuple of numbers"}
            usual = "its number with .item()" if hasattr(value, "item") else "numbers or text"
            raise TypeError(
                f"{place} cannot be written down: a {kind} is no plain data; give"
                f" {instead.get(kind, usual)}."
            )


def _is_endless(value: object) -> bool:
    """Return whether a setting is or contains nan or infinity."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return any(_is_endless(getattr(value, field.name)) for field in dataclasses.fields(value))
    if isinstance(value, tuple):
        return any(map(_is_endless, value))
    return isinstance(value, float) and not math.isfinite(value)


def _is_plain(value: object) -> bool:
    """Return whether a setting consists of plain values that any file can hold."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return all(_is_plain(getattr(value, field.name)) for field in dataclasses.fields(value))
    if isinstance(value, tuple):
        return all(map(_is_plain, value))
    is_numpy = type(value).__module__ == "numpy"  # numpy.float64 is a float with another repr
    return value is None or (isinstance(value, bool | int | float | str) and not is_numpy)
