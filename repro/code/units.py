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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import resolve_name
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from repro.code.record import functions, remembered

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

_VERSION = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
_PLAIN = (bool, int, float, complex, str, bytes, tuple, type(None))
_ARITHMETIC = {ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.BitOr}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_NAMED = (*_FUNCTIONS, ast.ClassDef)
_SCOPES = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Unit(NamedTuple):
    """A part of a module that counts as a whole, as plain data."""

    name: str
    digest: str
    """A hash of the unit, without prose and without the bodies of functions in it."""
    mentions: frozenset[str]
    """The names, attributes and texts that the unit contains; texts count, for `getattr`."""
    words: frozenset[str]
    """Further words in its texts, since a text may be code."""
    handed_on: frozenset[str]
    """The dotted names that the unit uses whole, and not only for one of their attributes."""
    rebinds: frozenset[str]
    """The names that the unit sets elsewhere: by `global`, as attributes of others, or by text."""
    calls: frozenset[str] | None
    """The classes that an assignment of plain values or arms calls; None for any other unit."""
    stated: str
    """`def` for an undecorated function, the text of a single constant, or nothing."""
    paths: tuple[str, ...] = ()
    """The dotted paths of an import."""
    is_test: bool = False
    """True for a function that looks like a test, which only pytest calls."""
    is_field: bool = False
    """True for an annotated field of a data class, which is a setting."""

    @property
    def is_body(self) -> bool:
        """True for the body of a function, False for what binds a name."""
        return self.name.endswith("()")

    @property
    def looks_up_names(self) -> bool:
        """True where the unit can find any name of its module, put together or not."""
        return not _LOOKUPS.isdisjoint(self.mentions)

    @property
    def looks_up_modules(self) -> bool:
        """True where the unit can find any module, put together or not."""
        return not _LOOKUPS_OF_MODULES.isdisjoint(self.mentions)


@dataclass
class Source:
    """The units of one module by name, bodies of functions with `()`."""

    units: dict[str, Unit]
    imported: list[str]
    """The dotted paths of all names in its import statements."""
    order: list[str]
    """The names of what is computed when the module is imported, in order."""

    def digests(self, ran: Iterable[str] | None = None) -> dict[str, str]:
        """Return the digests of all units; of bodies only those of the functions that `ran`."""
        kept = None if ran is None else {f"{name}()" for name in ran}
        return {
            name: unit.digest
            for name, unit in self.units.items()
            if not unit.is_body or kept is None or name in kept
        }


def source_of(file: str, text: bytes, *, is_script: bool = False) -> Source:
    """Return the units of a module's file; those of a module are kept beside its bytecode."""
    package = package_of(file)
    if is_script:
        return parse(text, package, is_script=True)

    def make() -> Any:
        found = parse(text, package)
        return [tuple(unit) for unit in found.units.values()], found.imported, found.order

    key = package, hashlib.sha256(text).hexdigest(), _VERSION
    units, imported, order = remembered("units", file, key, make)
    return Source({unit[0]: Unit(*unit) for unit in units}, imported, order)


def package_of(file: str) -> str:
    """Return the name of the package of a module's file, for its relative imports.

    >>> from repro.core import train
    >>> package_of(train.__file__)
    'repro.core'
    """
    parts: list[str] = []
    folder = Path(file).parent
    while (folder / "__init__.py").exists() and folder.name:
        parts.insert(0, folder.name)
        folder = folder.parent
    return ".".join(parts) or Path(file).parent.name


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
    at_top = {id(each) for each in _imports(tree.body)}
    imported: list[str] = []
    paths: dict[str, list[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for bound, path in _names_of(node, package):
                imported.append(path)
                if id(node) in at_top:
                    paths.setdefault(bound, []).append(path)
    statements = list(_run(tree.body))
    units = [
        _unit(name, nodes, imports=paths)
        for name, nodes in _definitions(statements).items()
        if "." in name or not all(isinstance(each, ast.Import) for each in nodes)  # as in `paths`
    ]
    bodies: dict[str, list[ast.AST | str]] = {}
    for name, function in functions(tree):
        bodies.setdefault(f"{name}()", []).extend(["body", *function.body])
    units += [_unit(name, body) for name, body in bodies.items()]
    units += [_unit(IMPORT + bound, [], paths=found) for bound, found in paths.items()]
    return Source({unit.name: unit for unit in units}, imported, list(_computed(statements)))


def definitions(text: bytes) -> dict[str, str]:
    """Return digests of definitions with the bodies of functions, as earlier versions had them."""
    found = _definitions(list(_run(_without_prose(ast.parse(text)).body)))
    return {name: _hash([name, *nodes], bodies=True) for name, nodes in found.items()}


def _unit(
    name: str,
    nodes: Sequence[ast.AST | str],
    *,
    paths: Sequence[str] = (),
    imports: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> Unit:
    first = nodes[0] if nodes else None
    within = [node for each in nodes if isinstance(each, ast.AST) for node in _walk(each)]
    mentions, rebinds = {part for path in paths for part in path.split(".")}, set[str]()
    owners = set[int]()
    for node in within:
        if isinstance(node, ast.Name):
            mentions.add(node.id)
        elif isinstance(node, ast.Attribute):
            mentions.add(node.attr)
            owners.add(id(node.value))
            is_of_object = isinstance(node.value, ast.Name) and node.value.id == "self"
            if isinstance(node.ctx, ast.Store) and not is_of_object:
                rebinds.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            mentions.add(node.value)
            rebinds.add(node.value)
        elif isinstance(node, ast.alias):
            mentions.update(node.name.split("."))
        elif isinstance(node, ast.Global):
            rebinds.update(node.names)
    words = {word for each in mentions for word in re.findall(r"\w+", each)}
    handed_on = {dotted(node) for node in within if id(node) not in owners}
    is_at_top, is_single = "." not in name, len(nodes) == 1
    looks_like_test = is_at_top and name.startswith("test")
    return Unit(
        name,
        _hash([name, *nodes, *paths], bodies=False),
        frozenset(mentions),
        frozenset(words - mentions),
        frozenset(handed_on - {""}),
        frozenset(rebinds),
        calls=_calls(nodes, within) if is_at_top else None,
        stated=_stated(first) if is_single else "",
        paths=tuple(paths),
        is_test=looks_like_test and isinstance(first, _FUNCTIONS) and _is_harmless(first),
        is_field=is_single and isinstance(first, ast.AnnAssign) and _is_field(first, imports),
    )


def _calls(nodes: Sequence[ast.AST | str], within: Sequence[ast.AST]) -> frozenset[str] | None:
    """Return the classes that assignments call; None for what may do more."""
    if not all(isinstance(each, ast.Assign | ast.AnnAssign) for each in nodes):
        return None
    operators = {type(node.op) for node in within if isinstance(node, ast.BinOp)}
    if not operators <= _ARITHMETIC:  # such as first >> second, which may register both
        return None
    called = [node.func for node in within if isinstance(node, ast.Call)]
    names = [func.attr if isinstance(func, ast.Attribute) else dotted(func) for func in called]
    heads = [dotted(func).partition(".")[0] for func in called]
    is_method = [isinstance(func, ast.Attribute) and func.attr in _METHODS for func in called]
    known = zip(names, heads, is_method, strict=True)
    return frozenset(name for name, head, is_of_arm in known if head != "pytest" and not is_of_arm)


def _stated(node: ast.AST | str | None) -> str:
    """Return what a statement says that a name is, as `Unit.stated` has it."""
    if isinstance(node, ast.FunctionDef):
        return "" if node.decorator_list else "def"
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
        return ""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    try:
        value = ast.literal_eval(node.value)
    except ValueError:
        return ""
    is_plain = isinstance(value, _PLAIN) and all(isinstance(each, ast.Name) for each in targets)
    return repr(value) if is_plain else ""


def _is_field(node: ast.AnnAssign, imports: Mapping[str, Sequence[str]]) -> bool:
    names = {each.id for each in ast.walk(node.annotation) if isinstance(each, ast.Name)}
    known = [path for name in names for path in imports.get(name, ())]
    text = " ".join([ast.unparse(node.annotation), *known])
    return "ClassVar" not in text and "InitVar" not in text


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


def _run(statements: Iterable[ast.stmt], *, in_class: bool = False) -> Iterator[ast.stmt]:
    """Yield the statements that run on import; of a module's imports, only those that rename."""
    for each in statements:
        if isinstance(each, ast.Import | ast.ImportFrom) and not in_class:
            renamed = [alias for alias in each.names if alias.asname not in (None, alias.name)]
            yield from (ast.Import([alias]) for alias in renamed)
        elif isinstance(each, ast.If) and _is_false_on_import(each.test):
            yield from _run(each.orelse, in_class=in_class)
        elif not isinstance(each, ast.Pass):
            yield each


def _is_false_on_import(test: ast.expr) -> bool:
    return _is_main(test) or dotted(test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")


def _is_main(test: ast.expr) -> bool:
    return ast.unparse(test) in ("__name__ == '__main__'", "'__main__' == __name__")


def _definitions(statements: Sequence[ast.stmt]) -> dict[str, list[ast.AST | str]]:
    """Return the statements behind each bound name, and those that have effects."""
    found = dict(_bound_by(statements))
    if effects := [each for each in statements if _acts(each)]:
        found[EFFECTS] = [*effects]
    return found


def _bound_by(
    statements: Iterable[ast.stmt], owner: str = ""
) -> Iterator[tuple[str, list[ast.AST | str]]]:
    """Yield each bound name with its statements; `owner` is the prefix of a class's members."""
    parts: dict[str, list[ast.AST | str]] = {}
    for statement in statements:
        for name in dict.fromkeys(_bound(statement)):
            parts.setdefault(name, []).append(statement)
    for name, part in parts.items():
        made = part[0]
        if len(part) > 1 or not isinstance(made, ast.ClassDef):
            yield owner + name, part
            continue
        body = list(_run(made.body, in_class=True))
        shell = copy.copy(made)
        shell.body = [each for each in body if not any(_bound(each))]
        yield owner + name, [shell]
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
