"""Python source as data: the definitions of a module, their hashes, and the names that they read.

Comments, docstrings, error messages and annotations of functions do not count. The text for a hash
is not from `ast.dump`, whose output changes with the minor version of Python: keys must not change
with it.
"""

from __future__ import annotations

import ast
import copy
import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import resolve_name

EFFECTS = "<module>"
"""The name of the statements that have effects when a module is imported."""

_HARMLESS_DECORATORS = {
    *("abstractmethod", "cache", "cached_property", "claim", "classmethod", "contextmanager"),
    *("dataclass", "dataclasses", "figure", "final", "functools", "lru_cache", "override"),
    *("property", "pytest", "runtime_checkable", "staticmethod", "torch", "wraps"),
}
"""Decorators without an effect elsewhere; any other decorator may register its function."""

_LOOKUPS = {"globals", "locals", "eval", "exec", "sys.modules", "modules"}
_IMPORTERS = {"import_module", "importlib.import_module", "__import__"}

_NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_SCOPES = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True)
class Definition:
    """The statements that bind one name; members of a class are definitions of their own."""

    name: str
    """The name; for a member, after the name of its class."""

    statements: list[ast.stmt] = field(repr=False)
    members: Mapping[str, Definition] = field(default_factory=dict, repr=False)
    bases: Sequence[str] | None = None
    """The dotted names of a class's bases; empty where an expression is no name."""

    @cached_property
    def digest(self) -> str:
        """A hash of the statements, without prose."""
        return hashlib.sha256(meaning([self.name, *self.statements]).encode()).hexdigest()[:16]

    @cached_property
    def references(self) -> set[str]:
        """The whole dotted names that the statements read, such as `entry.read`."""
        inner = {id(node.value) for node in self._nodes if isinstance(node, ast.Attribute)}
        return {_dotted(node) for node in self._nodes if id(node) not in inner} - {""}

    @cached_property
    def mentions(self) -> set[str]:
        """The attributes that the statements name on any object; texts count, for `getattr`."""
        attributes = {node.attr for node in self._nodes if isinstance(node, ast.Attribute)}
        values = [node.value for node in self._nodes if isinstance(node, ast.Constant)]
        return attributes.union(value for value in values if isinstance(value, str))

    @cached_property
    def looks_up_names(self) -> bool:
        """True where the statements can find any name of their module, put together or not."""
        calls = [node for node in self._nodes if isinstance(node, ast.Call) and not node.args]
        is_of_module = any(_dotted(call.func) == "vars" for call in calls)
        heads = {".".join(reference.split(".")[:2]) for reference in self.references}
        return is_of_module or not _LOOKUPS.isdisjoint(heads)

    @cached_property
    def imports_by_name(self) -> list[str]:
        """The modules that the statements have `importlib` load, where they name them."""
        calls = [node for node in self._nodes if isinstance(node, ast.Call) and node.args]
        named = [call.args[0] for call in calls if _dotted(call.func) in _IMPORTERS]
        values = [node.value for node in named if isinstance(node, ast.Constant)]
        return [value for value in values if isinstance(value, str)]

    @cached_property
    def _nodes(self) -> list[ast.AST]:
        return [node for each in self.statements for node in ast.walk(each)]


@dataclass
class Module:
    """The parts of one module; empty without source."""

    definitions: dict[str, Definition] = field(default_factory=dict)
    imports: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """The dotted paths behind each local name; behind a star, the modules with `.*`."""

    executed: list[str] = field(default_factory=list)
    """The dotted paths of all names in its import statements."""

    is_here: bool = False


def parse(text: str | bytes, package: str = "") -> Module:
    """Return the parts of a module from its text and the name of its package."""
    tree = _without_prose(ast.parse(text))
    statements = list(_run(tree.body))
    module = Module(_definitions(statements), is_here=True)
    if effects := [each for each in statements if _acts(each)]:
        module.definitions[EFFECTS] = Definition(EFFECTS, effects)
    for node in ast.walk(tree):
        base = ""
        if isinstance(node, ast.ImportFrom):
            base = resolve_name("." * node.level + (node.module or ""), package) + "."
        for alias in node.names if isinstance(node, ast.Import | ast.ImportFrom) else ():
            bound = alias.asname or alias.name.partition(".")[0]
            path = base + alias.name
            module.imports[bound].append(path if base or alias.asname else bound)
            module.executed.append(path)
    return module


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
    tested = test.left if isinstance(test, ast.Compare) else test
    return _dotted(tested) in ("__name__", "TYPE_CHECKING", "typing.TYPE_CHECKING")


def _definitions(statements: Iterable[ast.stmt], owner: str = "") -> dict[str, Definition]:
    """Return the definitions among statements; `owner` is the prefix of a class's members."""
    parts: dict[str, list[ast.stmt]] = {}
    for statement in statements:
        for name in dict.fromkeys(_bound(statement)):
            parts.setdefault(name, []).append(statement)
    return {name: _definition(owner + name, part) for name, part in parts.items()}


def _definition(name: str, statements: list[ast.stmt]) -> Definition:
    made = statements[0]
    if len(statements) > 1 or not isinstance(made, ast.ClassDef):
        return Definition(name, statements)
    body = list(_run(made.body))
    bases = [each.value if isinstance(each, ast.Subscript) else each for each in made.bases]
    shell = copy.copy(made)
    shell.body = [each for each in body if not any(_bound(each))]
    members = _definitions(body, f"{name}.")
    return Definition(name, [shell], members, [_dotted(each) for each in bases])


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


def _acts(statement: ast.stmt) -> bool:
    """Return whether a statement does more on import than bind names."""
    if isinstance(statement, _NAMED):
        if statement.name.startswith("test"):  # only pytest registers these
            return False
        called = [d.func if isinstance(d, ast.Call) else d for d in statement.decorator_list]
        heads = {_dotted(each).partition(".")[0] for each in called}
        return bool(getattr(statement, "keywords", ())) or not heads <= _HARMLESS_DECORATORS
    is_assignment = isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Import)
    return not (is_assignment and any(_bound(statement)))


def _dotted(node: ast.AST) -> str:
    """Return a dotted name as text; empty for any other node."""
    if isinstance(node, ast.Attribute) and (before := _dotted(node.value)):
        return f"{before}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def meaning(value: object) -> str:
    """Return a text that changes when a syntax node, or a list of them, changes."""
    if isinstance(value, list):
        return f"[{', '.join(map(meaning, value))}]"
    if not isinstance(value, ast.AST):
        return f"{type(value).__name__} {value!r}"
    fields = {name: getattr(value, name, None) for name in value._fields}
    parts = [f"{name}={meaning(x)}" for name, x in fields.items() if x is not None and x != []]
    return f"{type(value).__name__}({', '.join(parts)})"


def _without_prose(tree: ast.Module) -> ast.Module:
    """Remove docstrings, error messages, and annotations of functions."""
    for node in ast.walk(tree):
        vars(node).pop("msg", None)
        vars(node).pop("returns", None)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for inner in ast.walk(node):
                vars(inner).pop("annotation", None)
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            node.exc.args = [each for each in node.exc.args if not _is_text(each)]
        if isinstance(body := getattr(node, "body", None), list):
            texts = [each for each in body if isinstance(each, ast.Expr) and _is_text(each.value)]
            body[:] = [each for each in body if each not in texts]
    return tree


def _is_text(node: ast.AST) -> bool:
    """Return whether an expression is a text, also one made by `+`, `%` or `.format`."""
    while isinstance(node, ast.BinOp | ast.Call | ast.Attribute):  # "{} of {}".format(few, all)
        node = next(ast.iter_child_nodes(node))
    is_string = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return is_string or isinstance(node, ast.JoinedStr)
