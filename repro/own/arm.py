"""Base classes of users' own arms; a subclass adds settings, and names what is measured."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar, Self

from repro.arm import Arm, Needs, Settings
from repro.recipe import Recipe


@dataclass(frozen=True, kw_only=True)
class OwnArm(Arm):
    """An arm of one size, whose data is known by its name and by the files in `reads`.

    >>> @dataclass(frozen=True, kw_only=True)
    ... class Sort(OutsideArm):  # or ModuleArm, as the study is
    ...     study: ClassVar[str] = "sorting"
    ...     metrics: ClassVar[dict[str, Metric]] = {"comparisons": Metric("log")}
    ...     reads: ClassVar[tuple[str, ...]] = ("numbers.npz",)
    ...     data: str = "shuffled numbers"
    """

    reads: ClassVar[tuple[str, ...]] = ()
    """The files that its runs read, as paths from the folder of its study.

    If one changes, the runs are trained again: `reads = ("weights.safetensors",)`. Files that
    Python code opens need no name here."""

    def at_ci(self) -> Self:
        """Return the arm as it is; override it where the documented size is too large for CI.

        >>> Sort(pivot="first").at_ci() == Sort(pivot="first")
        True
        """
        return self

    def content(self) -> str:
        """Return a text that differs for other data of the same name: for files, their hash.

        >>> Sort().content()
        'shuffled numbers'
        """
        return self.data

    @property
    def study_folder(self) -> Path:
        """The folder of its study; names of files are paths from it."""
        spec = find_spec(self.study)
        return Path(spec.origin).parent if spec and spec.origin else Path()

    def files_read(self) -> Sequence[Path]:
        """Return the paths of the files in `reads`."""
        return [self.study_folder / name for name in self.reads]

    def settings(self) -> Settings:
        """Return the settings, and the hashes of the files that it reads, as plain data."""
        if not self.reads:
            return super().settings()
        folder = self.study_folder
        hashes = {os.path.relpath(file, folder): self._hash(file) for file in self.files_read()}
        return {**super().settings(), "reads": hashes}

    def _hash(self, file: Path) -> str:
        try:
            state = file.stat()
            return _hash_of(file, state.st_mtime_ns, state.st_size)
        except OSError as error:
            raise Needs(
                f"needs {file}, which {type(self).__name__} names in `reads`; it cannot be read"
                f" ({error.strerror}). Names are paths from the folder of its study."
            ) from error

    @property
    def label(self) -> str:
        """The type, and every setting that is not at its default."""
        return " ".join([type(self).__name__.lower(), ", ".join(self._unusual())]).strip()

    def _unusual(self) -> list[str]:
        return [
            f"{field.name} {getattr(self, field.name)}"
            for field in dataclasses.fields(self)
            if field.name not in ("data", "recipe") and getattr(self, field.name) != field.default
        ]


@cache
def _hash_of(file: Path, changed: int, size: int) -> str:
    """Return the hash of a file; a large file is read once, until it changes."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


@dataclass(frozen=True, kw_only=True)
class ModuleArm(OwnArm):
    """An arm of a `repro.own.module.ModuleStudy`.

    >>> @dataclass(frozen=True, kw_only=True)
    ... class Spiral(ModuleArm):
    ...     study: ClassVar[str] = "spirals"  # the module that holds STUDY
    ...     metrics: ClassVar[dict[str, Metric]] = {"accuracy": Metric("log-odds", examples=500)}
    ...     width: int = 32
    ...     data: str = "two spirals"
    ...     examples: int = 400
    ...     recipe: Recipe = Recipe(epochs=50, batch=50, lr=1e-2)
    """

    workers: ClassVar[int] = 0
    """The number of processes that load examples of a `Dataset` ahead; no result depends on it."""

    examples: int
    """The number of examples to train on."""

    recipe: Recipe

    def _unusual(self) -> list[str]:
        usual = next(f.default for f in dataclasses.fields(self) if f.name == "recipe")
        if not isinstance(usual, Recipe):
            return super()._unusual()
        numbers, chosen = dataclasses.asdict(usual), dataclasses.asdict(self.recipe)
        usual_of_kind = {f.name: f.default for f in dataclasses.fields(self.recipe)}
        return super()._unusual() + [
            f"{n} {x}" for n, x in chosen.items() if x != numbers.get(n, usual_of_kind[n])
        ]

    @property
    def steps(self) -> int:
        return self.recipe.epochs * (self.examples // self.recipe.batch)

    @cached_property
    def program(self) -> str:
        return f"{self.study}: {self._exact}"  # the loss may read any setting, its rates too

    def stacks_on(self, device: str) -> bool:
        return True  # a module that does not stack is trained run by run, and the session says so


@dataclass(frozen=True, kw_only=True)
class OutsideArm(OwnArm):
    """An arm of a `repro.own.outside.OutsideStudy`, whose function trains without a recipe.

    >>> @dataclass(frozen=True, kw_only=True)
    ... class Sort(OutsideArm):
    ...     study: ClassVar[str] = "sorting"
    ...     metrics: ClassVar[dict[str, Metric]] = {"comparisons": Metric("log")}
    ...     pivot: str = "middle"
    ...     data: str = "shuffled numbers"
    """

    threads: ClassVar[int] = 1
    """The number of threads of a run; torch and the commands that it starts are told this number.

    On a CPU a run holds as many cores while it trains, or all cores if there are fewer."""

    devices: ClassVar[int] = 1
    """The number of devices that a run holds while it trains; on a CPU each is a core.

    A run that asks for more devices than there are fails."""

    def __post_init__(self) -> None:
        for name in ("threads", "devices"):
            number = getattr(self, name)
            if type(number) is not int or number < 1:
                raise ValueError(
                    f"{type(self).__name__}: {name} is {number!r}; give a whole number of at least"
                    " 1."
                )

    @property
    def epochs_reported(self) -> int:
        """The number of epochs that a run reports: the setting `epochs`, or 0 without one."""
        epochs = getattr(self, "epochs", 0)
        return epochs if type(epochs) is int else 0

    @property
    def steps(self) -> int:
        """The number of reported epochs, at least 1; the progress of a run is counted in them."""
        return max(1, self.epochs_reported)

    def epochs_known(self, *, measured: bool) -> list[int]:
        return list(range(1, self.epochs_reported + 1))

    @property
    def stops_early(self) -> bool:
        return False

    @property
    def work(self) -> float:
        return 0.0  # unknown; it is estimated from finished runs
