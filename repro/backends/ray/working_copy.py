"""The code as it is here, uncommitted changes and all, for the nodes of a cluster to run.

Ray takes it to each node once, by the hash of what is in it.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import repro
from repro.backends.code_files import USUALLY_LEFT, not_code
from repro.data.locate import fixtures


@contextmanager
def working_copy(root: Path, store: Path) -> Iterator[dict[str, Any]]:
    """Yield the environment of the nodes' processes: the project, and repro if it lies elsewhere.

    Left out are what `.gitignore` names, the store, data, and virtual environments. What is packed
    for the way is removed at the end.
    """
    package = Path(repro.__file__).parent
    environment: dict[str, Any] = {
        "working_dir": str(root),
        "excludes": [*USUALLY_LEFT, *(f"/{path}" for path in not_code(root, store))],
        "env_vars": {"OMP_NUM_THREADS": "1"},
    }
    with tempfile.TemporaryDirectory(prefix="repro-package-") as folder:
        if package.parent != root:
            environment["py_modules"] = [str(_with_twins(package, Path(folder)))]
        yield environment


def _with_twins(package: Path, folder: Path) -> Path:
    """Copy the package with the generated data inside, where an installed one has it."""
    copy = folder / package.name
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
    if fixtures().parent != package:
        shutil.copytree(fixtures(), copy / "_fixtures")
    return copy
