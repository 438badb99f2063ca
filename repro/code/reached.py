"""Finds the definitions that a run reaches from its study, through names, imports and members.

A module, function, class or constant is reached if reached code names it. A member of a class (a
method, a field's default) is reached if reached code mentions an attribute of its name, or if
foreign code may call it. So a label, a preset or another study's arms do not count, and neither do
types that only annotations of functions name.

Code that looks names up (`globals()`, `sys.modules`, `eval`) reaches all of its module. A class
that collects its subclasses reaches those in the modules that are imported.

Not found: modules that `importlib.import_module` loads by a name computed at run time, compiled
modules, and files that code reads.
"""

from __future__ import annotations

import builtins
import hashlib
import sys
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from repro.code.source import EFFECTS, Definition, Module, parse
from repro.installed import is_installed

_CLOSED_BASES = {"Protocol", "Generic", "NamedTuple", "TypedDict", "ABC", "Enum", "StrEnum"}
"""Bases that, like built-in classes, call only methods with two underscores of a subclass."""


class Root(NamedTuple):
    """A name in a module where the search begins; without a name, the whole module."""

    module: str
    name: str = ""


Place = tuple[str, str]
"""A module and a name in it; an empty name is the module itself."""


class Modules(dict[str, Module]):
    """The modules that can be reached, parsed when they are first needed.

    It follows the `packages`, also installed ones, and all other code that is not installed.
    """

    def __init__(self, packages: Iterable[str] = ()) -> None:
        self.packages = {"repro", *packages}

    def __missing__(self, name: str) -> Module:
        """Parse a module; it is empty if it has no source, or is not followed."""
        top, *rest = name.split(".")
        paths = [Path(place, *rest) for place in self._places(top)]
        files = [f for path in paths for f in (path / "__init__.py", path.with_suffix(".py"))]
        file = next(filter(Path.is_file, files), None)
        package = name if file in files[::2] else name.rpartition(".")[0]
        self[name] = parse(file.read_bytes(), package) if file else Module()
        return self[name]

    def _places(self, top: str) -> list[str]:
        """Return the folders of a top-level package, or a module's file; none if not followed."""
        try:
            spec = find_spec(top)
        except (ImportError, ValueError):
            return []
        places = list(spec.submodule_search_locations or [spec.origin or ""]) if spec else []
        is_library = top in sys.stdlib_module_names or any(map(is_installed, places))
        return [] if is_library and top not in self.packages else places


def reached(roots: Iterable[Root], modules: Modules) -> dict[str, Definition]:
    """Return the definitions that the roots reach, by their modules and names.

    >>> definitions = reached([Root("repro.recipe", "Recipe")], Modules())
    >>> "repro.recipe.Recipe.lr" in definitions, "repro.recipe.Recipe.lr_factor" in definitions
    (True, False)
    """
    found = _Walk(roots, modules).definitions
    return {f"{module}.{name}": found[module, name] for module, name in sorted(found)}


def digest(definitions: Mapping[str, Definition]) -> str:
    """Return one digest of all definitions and their full names."""
    lines = [f"{name} {each.digest}" for name, each in sorted(definitions.items())]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def libraries(roots: Iterable[Root], modules: Modules, *, besides: str) -> set[str]:
    """Return the installed libraries that reached modules import, without modules of `besides`."""
    imported = _Walk(roots, modules).imported
    own = [module for module in imported if not f"{module}.".startswith(besides)]
    tops = {name.partition(".")[0] for module in own for name in modules[module].executed}
    return {top for top in tops - sys.stdlib_module_names if not modules[top].is_here}


class _Walk:
    """Follows references from the roots until nothing new is reached."""

    def __init__(self, roots: Iterable[Root], modules: Modules) -> None:
        self.modules = modules
        self.definitions: dict[Place, Definition] = {}
        self.imported: set[str] = set()
        """The modules of reached code, and the modules that they import."""
        self.mentions: set[str] = set()
        self.members: list[tuple[str, str, Definition]] = []
        """The members of reached classes; they count when reached code mentions them."""
        self.waiting: list[tuple[str, Definition]] = []
        for root in roots:
            if not modules[root.module].is_here:
                raise ModuleNotFoundError(
                    f"There is no Python source for the module {root.module!r}; give the importable"
                    " dotted name of a study's module."
                )
            self.mentions.update(root.name.split(".")[1:])  # a root may be a member of a class
            self._import(root.module)
            self._reach(root.module, root.name)
        while self.waiting:
            module, definition = self.waiting.pop()
            for reference in definition.references:
                self._reach(module, reference)
            if definition.looks_up_names:
                self._reach(module, "")
            for path in definition.imports_by_name:
                self._reach(path, "")
            self.mentions |= definition.mentions
            if not self.waiting:
                self._take_subclasses()
            for place, name, member in self.members if not self.waiting else ():
                if name in self.mentions:
                    self._take(place, member)

    def _take_subclasses(self) -> None:
        """Take the subclasses of reached classes that collect theirs; those of repro do not."""
        asks = "__subclasses__" in self.mentions
        collecting = [
            (module, definition)
            for (module, _), definition in self.definitions.items()
            if not module.startswith("repro.")
            and definition.bases is not None
            and (asks or "__init_subclass__" in definition.members)
        ]
        for module in sorted(self.imported) if collecting else ():
            for definition in self.modules[module].definitions.values():
                found = [
                    each for base in definition.bases or () for each in self._resolve(module, base)
                ]
                if any(each in collecting for each in found):
                    self._take(module, definition)

    def _reach(self, module: str, reference: str) -> None:
        for where, definition in self._resolve(module, reference):
            self._import(where)
            self._take(where, definition)

    def _take(self, module: str, definition: Definition) -> None:
        if (module, definition.name) in self.definitions:
            return
        self.definitions[module, definition.name] = definition
        self.waiting.append((module, definition))
        is_open = self._is_open(module, definition)
        for name, member in definition.members.items():
            self.members.append((module, name, member))
            if is_open or name.startswith("__"):
                self._take(module, member)

    def _import(self, path: str) -> None:
        """Take the statements that act when a module, its packages and imports are imported."""
        paths = [path]
        while paths:
            parts = paths.pop().split(".")
            above = {".".join(parts[: count + 1]) for count in range(len(parts))}
            for module in above - self.imported:
                self.imported.add(module)
                content = self.modules[module]
                paths += content.executed
                if EFFECTS in content.definitions:
                    self._take(module, content.definitions[EFFECTS])

    def _is_open(self, module: str, definition: Definition) -> bool:
        """Return whether foreign code may call a class's methods, as torch calls `forward`."""
        for base in definition.bases or ():
            last = base.rpartition(".")[2]
            if last not in _CLOSED_BASES and not hasattr(builtins, last):
                found = self._resolve(module, base)
                others = [each for each in found if each[1] is not definition]
                if not others or any(self._is_open(*each) for each in others):
                    return True
        return definition.bases is None  # no class statement: it may be made in any way

    def _resolve(self, module: str, reference: str) -> list[tuple[str, Definition]]:
        """Return the definitions of a dotted name in a module; for an empty name, all of them."""
        found = [(module, "")]
        for part in reference.split(".") if reference else ():
            inside = [self._lookup(at, part) if not name else [(at, name)] for at, name in found]
            found = [place for places in inside for place in places]
        return [
            (where, self.modules[where].definitions[name])
            for where, only in found
            for name in ([only] if only else self.modules[where].definitions)
        ]

    def _lookup(self, module: str, name: str, seen: frozenset[Place] = frozenset()) -> list[Place]:
        """Return the places of a name in a module, also through its imports."""
        if (module, name) in seen:
            return []
        seen |= {(module, name)}
        content = self.modules[module]
        found = [(module, name)] if name in content.definitions else []
        for path in content.imports.get(name, ()):
            base, _, taken = path.rpartition(".")
            found += self._lookup(base, taken, seen)
        for star in content.imports.get("*", ()) if not found else ():
            found += self._lookup(star.removesuffix(".*"), name, seen)
        below = f"{module}.{name}".removeprefix(".")
        return found or ([(below, "")] if self.modules[below].is_here else [])
