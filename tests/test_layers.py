"""Imports go down the layers only, and what must be light stays light."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "repro"

LAYERS = [
    {"arm", "recipe"},
    {"data", "store"},
    {"core"},
    {"studies", "own"},
    {"executor"},
    {"plan"},
    {"judge"},
    {"document"},
    {"ledger"},
    {"report"},
    {"plugin", "marks"},
    {"__main__"},
]
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: str(p.relative_to(PACKAGE))
)
def test_imports_go_down(path):
    own = path.relative_to(PACKAGE).with_suffix("").parts[0]
    if own == "__init__":
        return
    for module in imported(path):
        if module.startswith("repro."):
            other = module.split(".")[1]
            assert RANK[other] <= RANK[own], f"{own} must not import {module}"


@pytest.mark.parametrize("layer", ["data", "store", "judge", "document", "ledger", "report"])
def test_these_layers_never_import_torch(layer):
    files = (
        [PACKAGE / f"{layer}.py"]
        if (PACKAGE / f"{layer}.py").exists()
        else (PACKAGE / layer).rglob("*.py")
    )
    for path in files:
        assert not any(m.split(".")[0] == "torch" for m in imported(path)), path


def loaded_by(modules):
    """The packages that a process has loaded which imported these modules and nothing else."""
    code = f"import sys, {modules}; print(*sorted({{m.split('.')[0] for m in sys.modules}}))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(found.stdout.split())


def test_the_plugin_costs_a_session_without_claims_next_to_nothing():
    assert not {"torch", "numpy", "scipy", "matplotlib", "jinja2"} & loaded_by("repro.plugin")


def test_arms_of_ones_own_are_read_without_torch():
    assert "torch" not in loaded_by("repro.own.arm, repro.own.outside")
