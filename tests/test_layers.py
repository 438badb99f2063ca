"""Imports go down the layers only, and what must be light stays light."""

import ast
import functools
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "repro"

LAYERS = [
    {"environment", "exits", "files", "help_texts", "imports", "installed", "recipe", "text"},
    {"arm"},
    {"data", "store", "code"},
    {"core"},
    {"studies", "own"},
    {"runs"},
    {"backends"},
    {"evidence"},
    {"judge"},
    {"recorded"},
    {"document"},
    {"ledger"},
    {"report"},
    {"plugin", "marks"},
    {"commands"},
    {"__main__", "__init__"},
]
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}
MODULES = {
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}


LIGHT = ("files", "text", "code", "data", "store", "judge", "document", "ledger", "commands")
NEVER = {name: {"torch"} for name in LIGHT} | {"report": {"torch", "pytest", "_pytest"}}
"""What rooms never import: whoever has records can write a report without pytest."""


def room(module):
    return [*module.split("."), "__init__"][1]


@functools.cache
def imported(path):
    """The modules and names that a file imports, also within functions."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
    return found


def test_imports_go_down():
    upward = [
        f"{name} imports {module}"
        for name, path in MODULES.items()
        for module in imported(path)
        if module in MODULES and module != "repro" and RANK[room(module)] > RANK[room(name)]
    ]
    assert upward == []


def test_no_module_imports_itself_by_way_of_others():
    """Imports for types alone count, and those within functions; a package is no module here."""
    below = {
        name: {x for x in imported(path) if x in MODULES and MODULES[x].name != "__init__.py"}
        for name, path in MODULES.items()
        if path.name != "__init__.py"
    }
    while leaves := [name for name, others in below.items() if not others & below.keys()]:
        for name in leaves:
            del below[name]
    assert not below


def test_what_has_to_be_light_imports_nothing_heavy():
    heavy = [
        f"{name} imports {module}"
        for name, path in MODULES.items()
        for module in imported(path)
        if module.split(".")[0] in NEVER.get(room(name), ())
    ]
    assert heavy == []


@pytest.mark.parametrize(
    ("modules", "heavy"),
    [
        # a session without claims, and each worker of it
        ("repro.plugin.plugin", {"torch", "numpy", "scipy", "jinja2", "filelock", "tomllib"}),
        ("repro.own.arm, repro.own.outside, repro.own.command", {"torch"}),  # arms of one's own
        ("repro.__main__", {"torch", "pytest"}),  # a command that asks for no claims
        ("repro; repro.judge", {"torch", "pytest"}),  # the function, in a program of one's own
    ],
)
def test_what_has_to_start_fast_loads_nothing_heavy(modules, heavy):
    code = f"import sys, {modules}; print(*{{m.split('.')[0] for m in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not heavy & set(done.stdout.split())


def test_no_two_files_of_tests_have_one_name():
    """One process may collect the claims and the tests, and pytest imports both by their names."""
    root = PACKAGE.parent
    names = [
        path.name for folder in ("claims", "tests") for path in (root / folder).rglob("test_*")
    ]
    assert len(names) == len(set(names)), sorted(x for x in set(names) if names.count(x) > 1)
