"""A fingerprint of the source that a run reaches, so that a changed study is trained again.

Comments, docstrings and formatting are set aside; a constant is not. Sources are read, never
imported: whoever collects claims need not load torch. What is reached otherwise than by import
statements (`importlib.import_module`, files read at run time, compiled modules) is not seen.
Another minor version of Python may parse to another tree and so give another fingerprint.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec, resolve_name
from pathlib import Path


@cache
def source_fingerprint(module: str) -> str:
    """The SHA-256 of a module's source and of all of its package that it reaches by imports.

    Computed once a process: what was loaded does not change while it runs.

    >>> source_fingerprint("json") == source_fingerprint("json.tool")
    False
    """
    if _source_file(module) is None:
        raise ModuleNotFoundError(
            f"There is no Python source for the module {module!r}; give the importable dotted name"
            " of a study's module."
        )
    reached: dict[str, str] = {}
    waiting = [module]
    while waiting:
        for name in _with_parents(waiting.pop()):
            file = _source_file(name)
            if file is None or name in reached:
                continue
            source = _read(file, name)
            reached[name] = source.digest
            waiting.extend(source.imports)
    lines = (f"{name} {digest}\n" for name, digest in sorted(reached.items()))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


@dataclass(frozen=True)
class _Source:
    digest: str
    imports: frozenset[str]
    """Names of the same package that may be modules."""


@cache
def _read(file: Path, name: str) -> _Source:
    tree = ast.parse(file.read_bytes(), str(file))
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    top = name.partition(".")[0]
    imports = frozenset(n for n in _imported(tree, package) if n.partition(".")[0] == top)
    meaning = ast.dump(_WithoutProse().visit(tree))
    return _Source(hashlib.sha256(meaning.encode()).hexdigest(), imports)


@cache
def _source_file(name: str) -> Path | None:
    """The file of a module, found from where its top-level package lies."""
    top, *rest = name.split(".")
    spec = find_spec(top)
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


def _with_parents(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[: count + 1]) for count in range(len(parts))]


def _imported(tree: ast.Module, package: str) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = resolve_name("." * node.level + (node.module or ""), package)
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names if alias.name != "*")


class _WithoutProse(ast.NodeTransformer):
    """Drops docstrings, and the strings that stand below attributes to document them."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return None
        return node
