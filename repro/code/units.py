"""Python source as data: its units, a digest of each, and the names that each mentions.

The units of a module are what its names are bound to, without the bodies of functions, and these
bodies: `Net`, `Net.forward`, `Net.forward()`. Comments, docstrings, error messages and annotations
of functions do not count. The text for a digest is not from `ast.dump`, whose output changes with
the minor version of Python.
"""

from __future__ import annotations

import ast
import copy
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import resolve_name

from repro.code.record import functions

EFFECTS = "<module>"
"""The name of the statements that have effects when a module is imported."""

IMPORT = "import "
"""The beginning of the name of a unit that binds an imported name."""

_HARMLESS_DECORATORS = {
    *("abstractmethod", "cache", "cached_property", "claim", "classmethod", "contextmanager"),
    *("dataclass", "dataclasses", "figure", "final", "functools", "lru_cache", "override"),
    *("property", "pytest", "runtime_checkable", "staticmethod", "torch", "wraps"),
}
"""Decorators without an effect elsewhere; any other decorator may register its function."""

_LOOKUPS = {"globals", "locals", "vars", "eval", "exec", "__dict__"}
"""Names by which code can find any name of its module."""

_LOOKUPS_OF_MODULES = {
    *("modules", "import_module", "__import__", "resolve_name", "find_spec", "module_from_spec"),
    *("run_module", "run_path", "getmodule", "locate", "EntryPoint", "entry_points", "f_globals"),
    *("__globals__", "hydra", "instantiate"),
}
"""Names by which code can find any module."""

_METHODS = {"but", "at"}
"""Methods of arms that return an arm."""

_ARITHMETIC = {ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.BitOr}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_NAMED = (*_FUNCTIONS, ast.ClassDef)
_SCOPES = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True)
class Unit:
    """A part of a module that counts as a whole."""

    name: str
    nodes: Sequence[ast.AST | str] = field(repr=False)
    is_body: bool = False
    """True for the body of a function, False for what binds a name."""
    paths: Sequence[str] = ()
    """The dotted paths of an import."""

    @cached_property
    def digest(self) -> str:
        """A hash of the unit, without prose and without the bodies of functions in it."""
        return _hash([self.name, *self.nodes, *self.paths], bodies=False)

    @cached_property
    def whole(self) -> str:
        """A hash with the bodies of functions, as results of earlier versions have it."""
        return _hash([self.name, *self.nodes], bodies=True)

    @cached_property
    def mentions(self) -> frozenset[str]:
        """The names, attributes and texts that the unit contains; texts count, for `getattr`."""
        found: set[str] = set()
        for node in self._nodes:
            if isinstance(node, ast.Name):
                found.add(node.id)
            elif isinstance(node, ast.Attribute):
                found.add(node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
            elif isinstance(node, ast.alias):
                found.update(node.name.split("."))
        found.update(part for path in self.paths for part in path.split("."))
        return frozenset(found)

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of all that the unit mentions, since a text may be code."""
        return frozenset(word for each in self.mentions for word in re.findall(r"\w+", each))

    @cached_property
    def handed_on(self) -> frozenset[str]:
        """The dotted names that the unit uses whole, and not only for one of their attributes."""
        inner = {id(node.value) for node in self._nodes if isinstance(node, ast.Attribute)}
        return frozenset(dotted(node) for node in self._nodes if id(node) not in inner) - {""}

    @property
    def looks_up_names(self) -> bool:
        """True where the unit can find any name of its module, put together or not."""
        return not _LOOKUPS.isdisjoint(self.mentions)

    @property
    def looks_up_modules(self) -> bool:
        """True where the unit can find any module, put together or not."""
        return not _LOOKUPS_OF_MODULES.isdisjoint(self.mentions)

    @cached_property
    def rebinds(self) -> frozenset[str]:
        """The names that the unit sets elsewhere: by `global`, as attributes, or by their text."""
        found: set[str] = set()
        for node in self._nodes:
            if isinstance(node, ast.Global):
                found.update(node.names)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                found.add(node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
        return frozenset(found)

    @property
    def renames(self) -> bool:
        """True for an import under another name, which has a unit as an import, too."""
        return bool(self.nodes) and all(isinstance(each, ast.Import) for each in self.nodes)

    @property
    def is_test(self) -> bool:
        """True for a function that looks like a test, which only pytest calls."""
        node = self.nodes[0] if self.nodes else None
        is_named = self.name.startswith("test") and "." not in self.name
        return is_named and isinstance(node, _FUNCTIONS) and _is_harmless(node)

    def is_plain(self, arms: Iterable[str]) -> bool:
        """Return whether the unit is an assignment that calls at most classes of these names."""
        if self.is_body or "." in self.name:
            return False
        if not all(isinstance(each, ast.Assign | ast.AnnAssign) for each in self.nodes):
            return False
        operators = {type(node.op) for node in self._nodes if isinstance(node, ast.BinOp)}
        if not operators <= _ARITHMETIC:  # such as first >> second, which may register both
            return False
        allowed = {*arms, "Metric", "Recipe"}
        for node in self._nodes:
            if isinstance(node, ast.Call):
                first, _, _ = dotted(node.func).partition(".")
                is_of_arm = isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS
                name = node.func.attr if isinstance(node.func, ast.Attribute) else first
                if not (name in allowed or is_of_arm or first == "pytest"):
                    return False
        return True

    @cached_property
    def _nodes(self) -> list[ast.AST]:
        return [node for each in self.nodes if isinstance(each, ast.AST) for node in _walk(each)]


@dataclass
class Source:
    """The units of one module by name, bodies of functions with `()`."""

    units: dict[str, Unit] = field(default_factory=dict)
    imported: list[str] = field(default_factory=list)
    """The dotted paths of all names in its import statements."""
    order: list[str] = field(default_factory=list)
    """The names of what is computed when the module is imported, in order."""

    def is_field(self, unit: Unit) -> bool:
        """Return whether a unit is an annotated field of a data class, which is a setting."""
        node = unit.nodes[0] if len(unit.nodes) == 1 else None
        if not isinstance(node, ast.AnnAssign):
            return False
        names = {each.id for each in ast.walk(node.annotation) if isinstance(each, ast.Name)}
        known = [self.units[IMPORT + name].paths for name in names if IMPORT + name in self.units]
        text = " ".join(
            [ast.unparse(node.annotation), *(path for paths in known for path in paths)]
        )
        return not any(kind in text for kind in ("ClassVar", "InitVar"))

    def digests(self, ran: Iterable[str] | None = None) -> dict[str, str]:
        """Return the digests of all units; of bodies only those of the functions that `ran`."""
        kept = None if ran is None else {f"{name}()" for name in ran}
        return {
            name: unit.digest
            for name, unit in self.units.items()
            if (not unit.is_body or kept is None or name in kept) and not unit.renames
        }


def parse(text: str | bytes, package: str = "", *, is_script: bool = False) -> Source:
    """Return the units of a module from its text and the name of its package.

    The block `if __name__ == "__main__"` is only a part of a script.

    >>> sorted(parse("RATE = 0.1\\ndef train(x):\\n    return x * RATE").units)
    ['RATE', 'train', 'train()']
    """
    tree = _without_prose(ast.parse(text))
    for each in tree.body if is_script else ():
        if isinstance(each, ast.If) and _is_main(each.test):
            each.test = ast.Constant(True)
    statements = list(_run(tree.body))
    source = Source()
    for unit in _bound_by(statements):
        source.units[unit.name] = unit
    if effects := [each for each in statements if _acts(each)]:
        source.units[EFFECTS] = Unit(EFFECTS, effects)
    source.order = list(_computed(statements))
    bodies: dict[str, list[ast.AST | str]] = {}
    for name, function in functions(tree):
        bodies.setdefault(f"{name}()", []).extend(["body", *function.body])
    source.units.update((name, Unit(name, body, is_body=True)) for name, body in bodies.items())
    at_top = {id(each) for each in _imports(tree.body)}
    paths: dict[str, list[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for bound, path in _names_of(node, package):
                source.imported.append(path)
                if id(node) in at_top:
                    paths.setdefault(IMPORT + bound, []).append(path)
    source.units.update((name, Unit(name, [], paths=found)) for name, found in paths.items())
    return source


def dotted(node: ast.AST) -> str:
    """Return a dotted name as text; empty for any other node."""
    if isinstance(node, ast.Attribute) and (before := dotted(node.value)):
        return f"{before}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes below a node, without the bodies of functions."""
    yield node
    for name, value in ast.iter_fields(node):
        if name == "body" and isinstance(node, _FUNCTIONS):
            continue
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, ast.AST):
                yield from _walk(each)


def _imports(statements: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the import statements at the top of a module; those in a block belong to the block."""
    for each in statements:
        if isinstance(each, ast.Import | ast.ImportFrom):
            yield each
        elif isinstance(each, ast.If) and _is_false_on_import(each.test):
            yield from _imports(each.orelse)


def _names_of(node: ast.Import | ast.ImportFrom, package: str) -> Iterator[tuple[str, str]]:
    """Yield the names that an import statement binds, with the dotted paths behind them."""
    base = ""
    if isinstance(node, ast.ImportFrom):
        base = resolve_name("." * node.level + (node.module or ""), package) + "."
    for alias in node.names:
        bound = alias.asname or (alias.name if base else alias.name.partition(".")[0])
        yield bound, base + alias.name


def _run(statements: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that run on import; of imports, only those that rename."""
    for each in statements:
        if isinstance(each, ast.Import | ast.ImportFrom):
            renamed = [alias for alias in each.names if alias.asname not in (None, alias.name)]
            yield from (ast.Import([alias]) for alias in renamed)
        elif isinstance(each, ast.If) and _is_false_on_import(each.test):
            yield from _run(each.orelse)
        elif not isinstance(each, ast.Pass):
            yield each


def _is_false_on_import(test: ast.expr) -> bool:
    return _is_main(test) or dotted(test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")


def _is_main(test: ast.expr) -> bool:
    return ast.unparse(test) in ("__name__ == '__main__'", "'__main__' == __name__")


def _bound_by(statements: Iterable[ast.stmt], owner: str = "") -> Iterator[Unit]:
    """Yield a unit for each bound name; `owner` is the prefix of the members of a class."""
    parts: dict[str, list[ast.AST | str]] = {}
    for statement in statements:
        for name in dict.fromkeys(_bound(statement)):
            parts.setdefault(name, []).append(statement)
    for name, part in parts.items():
        made = part[0]
        if len(part) > 1 or not isinstance(made, ast.ClassDef):
            yield Unit(owner + name, part)
            continue
        body = list(_run(made.body))
        shell = copy.copy(made)
        shell.body = [each for each in body if not any(_bound(each))]
        yield Unit(owner + name, [shell])
        yield from _bound_by(body, f"{owner}{name}.")


def _bound(node: ast.AST) -> Iterator[str]:
    """Yield the names that a statement binds in its own scope."""
    if isinstance(node, _NAMED):
        yield node.name
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, ast.alias) and node.asname:
        yield node.asname
    elif not isinstance(node, _SCOPES):
        for child in ast.iter_child_nodes(node):
            yield from _bound(child)


def _computed(statements: Sequence[ast.stmt]) -> Iterator[str]:
    """Yield the names of statements whose order matters: all but definitions and constants."""
    names = [next(_bound(each), "") for each in statements]
    for name, statement in zip(names, statements, strict=True):
        if _acts(statement):
            yield EFFECTS
        is_definition = isinstance(statement, (*_NAMED, ast.Import))
        is_constant = not any(
            isinstance(x, ast.Name) and isinstance(x.ctx, ast.Load) for x in ast.walk(statement)
        )
        if name and (names.count(name) > 1 or not (is_definition or is_constant)):
            yield name


def _acts(statement: ast.stmt) -> bool:
    """Return whether a statement does more on import than bind names."""
    if isinstance(statement, _NAMED):
        return bool(getattr(statement, "keywords", ())) or not _is_harmless(statement)
    is_assignment = isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Import)
    return not (is_assignment and any(_bound(statement)))


def _is_harmless(made: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    """Return whether no decorator of a function or class may register it, but as a claim."""
    heads = {_head(each) for each in made.decorator_list}
    return "claim" in heads or heads <= _HARMLESS_DECORATORS


def _head(decorator: ast.expr) -> str:
    """Return the first name of a decorator; empty for one that is no name."""
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return dotted(called).partition(".")[0]


def _arguments(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.arg]:
    return (each for each in ast.walk(function.args) if isinstance(each, ast.arg))


def _hash(parts: list[ast.AST | str], *, bodies: bool) -> str:
    return hashlib.sha256(_meaning(parts, bodies).encode()).hexdigest()[:16]


def _meaning(value: object, bodies: bool) -> str:
    """Return a text that changes when a syntax node, or a list of them, changes."""
    if isinstance(value, list):
        return f"[{', '.join([_meaning(each, bodies) for each in value])}]"
    if not isinstance(value, ast.AST):
        return f"{type(value).__name__} {value!r}"
    left_out = "body" if not bodies and isinstance(value, _FUNCTIONS) else ""
    fields = [(name, getattr(value, name, None)) for name in value._fields if name != left_out]
    if not bodies and (annotations := getattr(value, "kept_annotations", [])):
        fields.append(("annotations", annotations))
    parts = [f"{name}={_meaning(x, bodies)}" for name, x in fields if x is not None and x != []]
    return f"{type(value).__name__}({', '.join(parts)})"


def _without_prose(tree: ast.Module) -> ast.Module:
    """Remove docstrings, error messages, and annotations of functions.

    The annotations of a function are kept beside it if a decorator might read them.
    """
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    of_classes = {id(each) for node in classes for each in node.body}  # fields of data classes
    for node in ast.walk(tree):
        vars(node).pop("msg", None)
        if isinstance(node, _FUNCTIONS):
            _keep_annotations(node)
            vars(node).pop("returns", None)
            for inner in ast.walk(node):
                if id(inner) not in of_classes:
                    vars(inner).pop("annotation", None)
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            node.exc.args = [each for each in node.exc.args if not _is_text(each)]
        if isinstance(body := getattr(node, "body", None), list):
            body[:] = [each for each in body if not _is_doc(each)]
    return tree


def _keep_annotations(function: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    if not _is_harmless(function):
        given = [function.returns, *(each.annotation for each in _arguments(function))]
        kept = ["none" if each is None else each for each in given]
        function.kept_annotations = kept  # type: ignore[union-attr]


def _is_doc(node: ast.AST) -> bool:
    value = node.value if isinstance(node, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _is_text(node: ast.AST) -> bool:
    """Return whether an expression is a text, also one made by `+`, `%` or `.format`."""
    while isinstance(node, ast.BinOp | ast.Call | ast.Attribute):  # "{} of {}".format(few, all)
        node = next(ast.iter_child_nodes(node))
    is_string = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return is_string or isinstance(node, ast.JoinedStr)
