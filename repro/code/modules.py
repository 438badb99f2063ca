"""Python modules as data: their definitions, imports and effects, by the names that they bind."""

from __future__ import annotations

import ast
import hashlib
import site
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.util import find_spec, resolve_name
from pathlib import Path

from repro.code.meaning import computed, is_prose, meaning, type_names

ALWAYS_FOLLOWED = "repro"

HARMLESS_DECORATORS = frozenset(
    [
        "dataclass",
        "dataclasses",
        "functools",
        "cache",
        "cached_property",
        "lru_cache",
        "wraps",
        "contextmanager",
        "contextlib",
        "property",
        "staticmethod",
        "classmethod",
        "abstractmethod",
        "overload",
        "final",
        "override",
        "torch",
        "np",
        "numpy",
        "typing",
        "runtime_checkable",
        "total_ordering",
        "singledispatch",
        "jit",
        "njit",
        "claim",
        "figure",
        "pytest",
    ]
)
"""Decorators that change what they decorate and nothing else. Another one may register it."""

TEST = "test"
"""The beginning of the names of functions that pytest calls: nothing but pytest registers them."""


@dataclass(frozen=True)
class Definition:
    """Statements that bind one name, or one member of a class; looked into when reached."""

    name: str
    statements: Sequence[ast.stmt] = field(repr=False)
    is_member: bool = False

    @cached_property
    def digest(self) -> str:
        """A hash of what the statements compute."""
        texts = (meaning(each, is_attribute=self.is_member) for each in self.statements)
        return hashlib.sha256("\n".join((self.name, *texts)).encode()).hexdigest()

    @cached_property
    def references(self) -> Sequence[str]:
        """The dotted names that the statements read, such as `entry.read`."""
        types = (part for each in self.statements for part in type_names(each))
        return list(dict.fromkeys(_chains([*self._nodes, *types])))

    @cached_property
    def mentions(self) -> frozenset[str]:
        """The attributes that the statements name, of whatever object."""
        return frozenset(_mentioned(self._nodes))

    @cached_property
    def _nodes(self) -> Sequence[ast.AST]:
        return [node for each in self.statements for node in computed(each)]


@dataclass
class ClassBody:
    """The members of a class, which count only where some reached code names them."""

    members: dict[str, Definition]
    bases: tuple[str, ...]
    """Dotted names; an expression that is none is an empty one."""


@dataclass
class Module:
    """The parts of one module."""

    name: str
    definitions: dict[str, Definition] = field(default_factory=dict)
    classes: dict[str, ClassBody] = field(default_factory=dict)
    imports: dict[str, list[tuple[str, str | None]]] = field(default_factory=dict)
    """The module behind each local name, and the name taken from it, if it is not the module."""

    stars: list[str] = field(default_factory=list)
    executed: list[str] = field(default_factory=list)
    """Modules that its import statements run."""

    effects: Definition | None = None
    """Statements that act when it is imported."""


class Modules:
    """The modules that can be reached, parsed when they are first asked for.

    `packages` are followed wherever they are installed; others where they are no installed library.
    """

    def __init__(self, packages: Iterable[str] = ()) -> None:
        self._packages = {ALWAYS_FOLLOWED, *packages}
        self._files: dict[str, Path | None] = {}
        self._parsed: dict[str, Module] = {}

    def edited(self, name: str, text: str) -> Modules:
        """Return the same modules with another text in one of them: what would an edit change?"""
        path = self.file(name)
        assert path is not None
        copy = Modules(self._packages)
        copy._files = self._files
        copy._parsed = {**self._parsed, name: parse(name, path, text)}
        return copy

    def __contains__(self, name: str) -> bool:
        return self.file(name) is not None

    def __getitem__(self, name: str) -> Module:
        """The module of that name, which must be one of these."""
        if name not in self._parsed:
            path = self.file(name)
            assert path is not None
            self._parsed[name] = parse(name, path, path.read_bytes())
        return self._parsed[name]

    def file(self, name: str) -> Path | None:
        """The source file of a module; None where there is none, or where it is not followed."""
        if name not in self._files:
            top = name.partition(".")[0]
            self._files[name] = _source_file(name) if self._is_followed(top) else None
        return self._files[name]

    def _is_followed(self, top: str) -> bool:
        if top in self._packages:
            return True
        if top in sys.stdlib_module_names:
            return False
        spec = _spec(top)
        places = [] if spec is None else [spec.origin, *(spec.submodule_search_locations or [])]
        paths = [Path(place) for place in places if place and place != "namespace"]
        libraries = _library_folders()
        return bool(paths) and not any(p.is_relative_to(x) for p in paths for x in libraries)


def parse(name: str, path: Path, text: str | bytes) -> Module:
    """Return the parts of a module whose file has this text.

    >>> list(parse("line", Path("line.py"), "slope = 2").definitions)
    ['slope']
    """
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    return _Parser(name, package).module_of(ast.parse(text, str(path)))


class _Parser:
    """Sorts the statements of one module."""

    def __init__(self, name: str, package: str) -> None:
        self.module = Module(name)
        self.package = package
        self.statements: dict[str, list[ast.stmt]] = {}
        self.effects: list[ast.stmt] = []

    def module_of(self, tree: ast.Module) -> Module:
        self._imports(tree)
        for statement in tree.body:
            self._sort(statement)
        for name, statements in self.statements.items():
            last = statements[-1]
            if isinstance(last, ast.ClassDef) and len(statements) == 1:
                self._class(last)
            else:
                self.module.definitions[name] = Definition(name, statements)
        if self.effects:
            self.module.effects = Definition("<module>", self.effects)
        return self.module

    def _imports(self, tree: ast.Module) -> None:
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    bound = alias.asname or alias.name.partition(".")[0]
                    target = alias.name if alias.asname else bound
                    self.module.imports.setdefault(bound, []).append((target, None))
                    self.module.executed.append(alias.name)
            elif isinstance(node, ast.ImportFrom):
                base = resolve_name("." * node.level + (node.module or ""), self.package)
                self.module.executed.append(base)
                for alias in node.names:
                    if alias.name == "*":
                        self.module.stars.append(base)
                    else:
                        bound = alias.asname or alias.name
                        self.module.imports.setdefault(bound, []).append((base, alias.name))
                        self.module.executed.append(f"{base}.{alias.name}")

    def _sort(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Import | ast.ImportFrom | ast.Pass) or is_prose(statement):
            return
        if isinstance(statement, ast.If) and _is_never_run_on_import(statement.test):
            for each in statement.orelse:
                self._sort(each)
            return
        names = list(dict.fromkeys(_bound(statement)))
        for name in names:
            self.statements.setdefault(name, []).append(statement)
        if _acts(statement) or not names:
            self.effects.append(statement)

    def _class(self, node: ast.ClassDef) -> None:
        members: dict[str, list[ast.stmt]] = {}
        head: list[ast.stmt] = []
        for statement in node.body:
            names = list(dict.fromkeys(_bound(statement)))
            for name in names:
                members.setdefault(name, []).append(statement)
            if not names and not is_prose(statement) and not isinstance(statement, ast.Pass):
                head.append(statement)
        shell = ast.ClassDef(
            name=node.name,
            bases=node.bases,
            keywords=node.keywords,
            body=head,
            decorator_list=node.decorator_list,
        )
        self.module.definitions[node.name] = Definition(node.name, [shell])
        self.module.classes[node.name] = ClassBody(
            {
                name: Definition(f"{node.name}.{name}", statements, is_member=True)
                for name, statements in members.items()
            },
            tuple(_base(each) for each in node.bases),
        )


def _base(node: ast.expr) -> str:
    return _dotted(node.value if isinstance(node, ast.Subscript) else node) or ""


def _chains(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the dotted names among nodes, outer ones first, each chain once and whole."""
    inner: set[int] = set()
    for node in nodes:
        chain = _dotted(node)
        if chain is None:
            continue
        if isinstance(node, ast.Attribute):
            inner.add(id(node.value))
        if id(node) not in inner:
            yield chain


def _mentioned(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value  # getattr(arm, "width")


def _dotted(node: ast.AST) -> str | None:
    """Return a chain of names as text; None where the node is none, or is part of no chain."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (before := _dotted(node.value)):
        return f"{before}.{node.attr}"
    return None


def _bound(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement binds where it stands."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield statement.name
        return
    for node in _without_scopes(statement):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _without_scopes(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    inner = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.ListComp)
    if not isinstance(node, (*inner, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        for child in ast.iter_child_nodes(node):
            yield from _without_scopes(child)


def _acts(statement: ast.stmt) -> bool:
    """Return whether importing a statement does more than bind names."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        if statement.name.startswith(TEST):
            return False
        calls = [_head(each) for each in statement.decorator_list]
        is_made_by_another = isinstance(statement, ast.ClassDef) and bool(statement.keywords)
        return is_made_by_another or any(name not in HARMLESS_DECORATORS for name in calls)
    if isinstance(statement, ast.Assign):
        return not all(isinstance(x, ast.Name | ast.Tuple | ast.List) for x in statement.targets)
    if isinstance(statement, ast.AnnAssign | ast.AugAssign):
        return not isinstance(statement.target, ast.Name)
    return True


def _head(decorator: ast.expr) -> str:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return (_dotted(called) or "").partition(".")[0]


def _is_never_run_on_import(test: ast.expr) -> bool:
    is_main = isinstance(test, ast.Compare) and _dotted(test.left) == "__name__"
    return is_main or (_dotted(test) or "").rpartition(".")[2] == "TYPE_CHECKING"


def _spec(top: str):  # type: ignore[no-untyped-def]
    try:
        return find_spec(top)
    except (ImportError, ValueError):
        return None


@cache
def _library_folders() -> list[Path]:
    """The folders that installed libraries lie in."""
    named = (sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    shared = site.getsitepackages()  # of the system too, where an environment shares them
    return [Path(folder) for folder in (*named, *shared, site.getusersitepackages())]


def _source_file(name: str) -> Path | None:
    """Find a module's file from where its top-level package lies."""
    top, *rest = name.split(".")
    spec = _spec(top)
    if spec is None:
        return None
    if spec.submodule_search_locations is None:  # a top-level module that is no package
        origin = Path(spec.origin or "")
        return origin if not rest and origin.suffix == ".py" else None
    for location in spec.submodule_search_locations:
        folder = Path(location, *rest)
        files = [folder / "__init__.py"]
        if rest:
            files.append(folder.with_name(f"{folder.name}.py"))
        for file in files:
            if file.is_file():
                return file
    return None
