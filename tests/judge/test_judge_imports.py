"""The imports within `repro/judge` and within `repro/document` form no cycle."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]


def module_name(path):
    parts = path.relative_to(REPOSITORY).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path):
    """The modules that a file imports anywhere, also under TYPE_CHECKING or in a function.

    `from package import name` imports the module `package.name` if there is one, else `package`.
    """
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            folder = REPOSITORY / node.module.replace(".", "/")
            for alias in node.names:
                is_module = (folder / f"{alias.name}.py").exists()
                yield f"{node.module}.{alias.name}" if is_module else node.module


@pytest.mark.parametrize("package", ["judge", "document"])
def test_no_module_imports_one_that_imports_it(package):
    files = sorted((REPOSITORY / "repro" / package).rglob("*.py"))
    own = {module_name(path) for path in files}
    graph = {module_name(path): own.intersection(imports(path)) for path in files}
    assert any(graph.values())
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the modules
