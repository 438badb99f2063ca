"""The definitions that a run reaches: from its study on, through names, imports and members.

A module, function, class or constant is reached where reached code names it. A member of a class
(a method, a field's default) is reached where reached code mentions an attribute of its name, or
where code that is not followed may call it. So a label, a preset or another study's arms do not
count, and neither does the module that a definition stands in.

Not seen: what is found by a name that is put together while running, modules that
`importlib.import_module` loads, subclasses that register themselves (`__init_subclass__`), compiled
modules, and files that are read.
"""

from __future__ import annotations

import hashlib
import sys
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from repro.code.modules import Definition, Modules

CLOSED_BASES = frozenset(
    [
        "object",
        "Protocol",
        "Generic",
        "NamedTuple",
        "TypedDict",
        "ABC",
        "Enum",
        "StrEnum",
        "IntEnum",
        "Exception",
        "ValueError",
        "TypeError",
        "RuntimeError",
        "KeyError",
        "AttributeError",
        "ArithmeticError",
        "UserWarning",
    ]
)
"""Bases from elsewhere that call no method of a subclass but those with two underscores."""

ROUNDS = 2
"""The distance that a definition's digest covers: what it names, and what that names."""


@dataclass(frozen=True)
class Root:
    """A name in a module that a run starts from; without a name, all of the module."""

    module: str
    name: str = ""


Place = tuple[str, str]
"""A module and a name in it, a member with its class: `("repro.recipe", "Recipe.clip_at")`."""


def reached(roots: Iterable[Root], modules: Modules) -> dict[str, str]:
    """Return the definitions that the roots reach, each with a digest of what it computes.

    >>> definitions = reached([Root("repro.recipe", "Recipe")], Modules())
    >>> "repro.recipe.Stages" in definitions, "repro.recipe.Recipe.lr_factor" in definitions
    (True, False)
    """
    return walk(roots, modules).digests()


def contents(roots: Iterable[Root], modules: Modules) -> dict[str, str]:
    """Return the definitions that the roots reach, each with a hash of its own text alone.

    Unlike the digests of `reached`, these tell the one definition that an edit changed.

    >>> contents([Root("repro.recipe", "Recipe")], Modules())["repro.recipe.Stages"][:4]
    'ca53'
    """
    return walk(roots, modules).contents()


def libraries(roots: Iterable[Root], modules: Modules, *, besides: str) -> set[str]:
    """Return the top-level names of libraries that the modules reached import, if not stdlib's.

    What modules import whose names begin with `besides` does not count.

    >>> "torch" in libraries([Root("repro.core.train", "train")], Modules(), besides="tests.")
    True
    """
    imported = walk(roots, modules).imported
    own = [module for module in imported if not f"{module}.".startswith(besides)]
    tops = {name.partition(".")[0] for module in own for name in modules[module].executed}
    return {top for top in tops if top not in modules and top not in sys.stdlib_module_names}


def digest(definitions: dict[str, str]) -> str:
    """Return one digest of them all, whatever modules they stand in.

    >>> digest({"here.add": "5e1f"}) == digest({"there.add": "5e1f"})
    True
    """
    return hashlib.sha256("\n".join(sorted(definitions.values())).encode()).hexdigest()


def walk(roots: Iterable[Root], modules: Modules) -> Walk:
    """Follow the references of the roots, for whoever asks several things of what they reach.

    >>> "repro.recipe" in walk([Root("repro.recipe", "Recipe")], Modules()).imported
    True
    """
    begun = Walk(modules)
    for root in roots:
        begun.start(root)
    begun.finish()
    return begun


class Walk:
    """Follows references until nothing new is reached."""

    def __init__(self, modules: Modules) -> None:
        self.modules = modules
        self.definitions: dict[Place, Definition] = {}
        self.targets: dict[Place, list[tuple[str, Place]]] = {}
        self.mentions: set[str] = set()
        self.waiting: list[Place] = []
        self.members: dict[str, list[tuple[Place, Definition]]] = defaultdict(list)
        """Members of reached classes that nobody has mentioned yet, by name."""
        self.imported: set[str] = set()
        """The modules of all that is reached, and those that these import."""

    def start(self, root: Root) -> None:
        if root.module not in self.modules:
            raise ModuleNotFoundError(
                f"There is no Python source for the module {root.module!r}; give the importable"
                " dotted name of a study's module."
            )
        if not root.name:
            self._reach_all(root.module)
            return
        self.mentions.update(root.name.split(".")[1:])  # a root may be a member of a class
        for place in self._resolve(root.module, root.name):
            self._reach(place)

    def finish(self) -> None:
        while self.waiting:
            place = self.waiting.pop()
            definition = self.definitions[place]
            self.targets[place] = [
                (reference, target)
                for reference in definition.references
                for target in self._resolve(place[0], reference)
            ]
            for _, target in self.targets[place]:
                self._reach(target)
            for name in definition.mentions - self.mentions:
                self.mentions.add(name)
                for member, its_definition in self.members.pop(name, []):
                    self._take(member, its_definition)

    def digests(self) -> dict[str, str]:
        """Return digests that tell definitions of one text apart where they name other things."""
        known = {place: each.digest for place, each in self.definitions.items()}
        for _ in range(ROUNDS):
            known = {place: self._digest(place, known) for place in self.definitions}
        return {f"{module}.{name}": known[module, name] for module, name in sorted(known)}

    def contents(self) -> dict[str, str]:
        """Return hashes of the text of each definition alone."""
        return {
            f"{module}.{name}": self.definitions[module, name].digest[:16]
            for module, name in sorted(self.definitions)
        }

    def _digest(self, place: Place, known: dict[Place, str]) -> str:
        named = {f"{reference} {known[target]}" for reference, target in self.targets[place]}
        text = "\n".join([self.definitions[place].digest, *sorted(named)])
        return hashlib.sha256(text.encode()).hexdigest()

    def _reach(self, place: Place) -> None:
        if place in self.definitions:
            return
        module, name = place
        parts = self.modules[module]
        self._import(module)
        self._take(place, parts.definitions[name])
        if name in parts.classes:
            is_open = self._is_open(module, name)
            for member, definition in parts.classes[name].members.items():
                inside = (module, f"{name}.{member}")
                if is_open or member in self.mentions or member.startswith("__"):
                    self._take(inside, definition)
                else:
                    self.members[member].append((inside, definition))

    def _take(self, place: Place, definition: Definition) -> None:
        self.definitions[place] = definition
        self.waiting.append(place)

    def _reach_all(self, module: str) -> None:
        self._import(module)
        for name in self.modules[module].definitions:
            self._reach((module, name))

    def _import(self, module: str) -> None:
        """Take in what acts when a module is imported, its packages and its imports with it."""
        if module in self.imported or module not in self.modules:
            return
        self.imported.add(module)
        parts = module.split(".")
        for count in range(1, len(parts)):
            self._import(".".join(parts[:count]))
        content = self.modules[module]
        if content.effects:
            self._take((module, content.effects.name), content.effects)
        for other in content.executed:
            self._import(other)

    def _is_open(self, module: str, name: str) -> bool:
        """Return whether others may call a class's methods, as torch calls `forward`."""
        for base in self.modules[module].classes[name].bases:
            if base.rpartition(".")[2] in CLOSED_BASES:
                continue
            places = self._resolve(module, base)
            if not places:
                return True
            for where, what in places:
                if (where, what) == (module, name):  # a library's class, by the same name
                    return True
                if what in self.modules[where].classes and self._is_open(where, what):
                    return True
        return False

    def _resolve(self, module: str, reference: str) -> list[Place]:
        """Return the definitions that a dotted name stands for in a module."""
        first, *rest = reference.split(".")
        targets = self._lookup(module, first, set())
        for part in rest:
            packages = [target for target in targets if isinstance(target, str)]
            if not packages:
                break
            targets = [each for package in packages for each in self._attribute(package, part)]
        places: list[Place] = []
        for target in targets:
            if isinstance(target, str):  # the module itself is handed on: all of it may be used
                places += [(target, name) for name in self.modules[target].definitions]
            else:
                places.append(target)
        return places

    def _lookup(self, module: str, name: str, seen: set[Place]) -> list[Place | str]:
        """Return the definitions and modules that a name is bound to in a module."""
        if (module, name) in seen or module not in self.modules:
            return []
        seen.add((module, name))
        content = self.modules[module]
        targets: list[Place | str] = [(module, name)] if name in content.definitions else []
        for base, taken in content.imports.get(name, ()):
            if taken is None:
                targets += [base] if base in self.modules else []
            else:
                targets += self._attribute(base, taken, seen)
        if not targets and name not in content.imports:
            for base in content.stars:
                targets += self._lookup(base, name, seen)
        return targets

    def _attribute(
        self, module: str, name: str, seen: set[Place] | None = None
    ) -> list[Place | str]:
        """Return what `module.name` stands for: a definition in it, or a module below it."""
        inside = self._lookup(module, name, set() if seen is None else seen)
        below = f"{module}.{name}"
        return inside or ([below] if below in self.modules else [])
