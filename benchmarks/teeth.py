"""Plants each fault of `faults.py` in a copy of the project, and prints who caught it.

    python benchmarks/teeth.py

First the exact properties are asked (`tests/studies`, `tests/core`, `tests/own`), then, where they
notice nothing, the claims of the ladder's smaller shape on the generated data, against their
ledger. Fails if a fault bites nobody. `python benchmarks/teeth.py WORD …` plants the faults whose
names contain one of the words.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from faults import FAULTS, Fault

ROOT = Path(__file__).parents[1]
COPIED = ("repro", "claims", "tests", "fixtures", "conftest.py", "pyproject.toml")
EXACT = ["tests/studies", "tests/core", "tests/own", "-x"]
CLAIMS = ["claims/test_depth_ladder.py", "-k", "d512", "-n", "2"]


def copied(folder: Path) -> Path:
    """A copy of the project, to be damaged."""
    for name in COPIED:
        source = ROOT / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / name)
    return folder


def plant(fault: Fault, project: Path) -> None:
    """Make the one edit."""
    path = project / fault.path
    text = path.read_text()
    if text.count(fault.old) != 1:
        raise SystemExit(
            f"{fault.name}: {fault.path} has {text.count(fault.old)} places that read"
            f" {fault.old!r}; mend the fault in benchmarks/faults.py."
        )
    path.write_text(text.replace(fault.old, fault.new))


def failures(project: Path, arguments: list[str]) -> list[str]:
    """What fails of these tests, by name."""
    environment = {**os.environ, "PYTHONPATH": str(project), "REPRO_STORE": str(project / "store")}
    environment.pop("REPRO_DATA", None)
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    failed = re.findall(r"^(?:FAILED|ERROR) \S+?(?:::(\S+))?(?: |$)", found.stdout, re.MULTILINE)
    if found.returncode not in (0, 1) and not failed:
        raise SystemExit(f"pytest {' '.join(arguments)} did not run:\n{found.stdout[-3000:]}")
    return failed


def caught_by(fault: Fault | None) -> str:
    """Who notices a fault: the first exact property, else the claims whose verdict it turns."""
    with tempfile.TemporaryDirectory(prefix="repro-teeth-") as folder:
        project = copied(Path(folder))
        if fault:
            plant(fault, project)
        exact = failures(project, EXACT)
        if exact:
            return exact[0]
        turned = failures(project, CLAIMS)
        if turned:
            return f"{len(turned)} verdicts, such as {turned[0]}"
    return ""


def main() -> None:
    words = sys.argv[1:]
    chosen = [f for f in FAULTS if not words or any(word in f.name for word in words)]
    if bitten := caught_by(None):
        raise SystemExit(f"without any fault there fails already: {bitten}")
    missed = 0
    for fault in chosen:
        who = caught_by(fault)
        missed += not who
        print(f"{fault.name:54} {who or 'NOBODY'}", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} faults were caught")
    if missed:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
