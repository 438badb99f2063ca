"""Imports go down the layers only, and what must be light stays light."""

import ast
import functools
import subprocess
import sys
from pathlib import Path

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
    {"new"},
    {"__main__", "__init__"},
]
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}
MODULES = {
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}


LIGHT = ("files", "text", "code", "data", "store", "judge", "document", "ledger", "report")
"""Layers that never import torch."""


def rank(module):
    return RANK[[*module.split("."), "__init__"][1]]


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
        if module in MODULES and module != "repro" and rank(module) > rank(name)
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


def test_light_layers_never_import_torch():
    heavy = [
        name
        for name, path in MODULES.items()
        if name.split(".")[1:2] and name.split(".")[1] in LIGHT
        if any(module.split(".")[0] == "torch" for module in imported(path))
    ]
    assert heavy == []


def test_whoever_has_records_can_write_a_report_without_pytest():
    wrong = [
        name
        for name, path in MODULES.items()
        if name.startswith("repro.report")
        if any(module.split(".")[0] in ("pytest", "_pytest") for module in imported(path))
    ]
    assert wrong == []


def loaded_by(modules):
    """Name the packages that a process has loaded after importing these modules."""
    code = f"import sys, {modules}; print(*sorted({{m.split('.')[0] for m in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_the_plugin_costs_a_session_without_claims_next_to_nothing():
    assert not {"torch", "numpy", "scipy", "jinja2"} & loaded_by("repro.plugin.plugin")


def test_arms_of_ones_own_are_read_without_torch():
    assert "torch" not in loaded_by("repro.own.arm, repro.own.outside")


def test_a_command_that_asks_for_no_claims_loads_no_pytest():
    assert not {"torch", "pytest"} & loaded_by("repro.__main__")


def test_no_two_files_of_tests_have_one_name():
    """One process may collect the claims and the tests, and pytest imports both by their names."""
    root = PACKAGE.parent
    names = [
        path.name for folder in ("claims", "tests") for path in (root / folder).rglob("test_*")
    ]
    assert len(names) == len(set(names)), sorted(x for x in set(names) if names.count(x) > 1)
