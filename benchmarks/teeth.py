"""Plants each fault of `faults/` in a copy of the project, and prints who caught it.

    python benchmarks/teeth.py              # an hour
    python benchmarks/teeth.py --quick      # the first of them
    python benchmarks/teeth.py WORD …       # those whose names or paths contain one of the words

The unit tests of the fault's part are run first, then the thorough ones, and then, for code that
trains, the claims of the ladder's smaller shape on the generated data, against their ledger. Fails
if a fault is caught by nobody: a broken experiment, or a broken gate, could look whole.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = Path(__file__).with_name("faults")
COPIED = (
    *("repro", "claims", "tests", "fixtures", "examples", "docs", "evidence", "scripts"),
    "benchmarks",
    *("conftest.py", "pyproject.toml", "README.md"),
)
ALONE = "not cluster and not slurm"
NO_TESTS = 5
"""The exit code of pytest where a tier has none for this part."""


@dataclass(frozen=True)
class Fault:
    """An edit, and the tests that have to notice it."""

    name: str
    path: str
    old: str
    new: str
    tests: tuple[str, ...]
    claims: tuple[str, ...]

    def planted(self, text: str) -> str:
        """The text of its file with the fault in it."""
        if text.count(self.old) != 1:
            raise SystemExit(
                f"{self.name}: {self.path} has {text.count(self.old)} places that read"
                f" {self.old!r}; mend the fault in benchmarks/faults."
            )
        return text.replace(self.old, self.new)


def faults_of(file: str) -> list[Fault]:
    """The faults of one file, such as `training`."""
    tables = tomllib.loads((FOLDER / f"{file}.toml").read_text())
    who = {kind: tuple(tables.pop(kind, ())) for kind in ("tests", "claims")}
    return [Fault(name=name, **edit, **who) for name, edit in tables.items()]


FAULTS = [fault for path in sorted(FOLDER.glob("*.toml")) for fault in faults_of(path.stem)]


def copied(folder: Path) -> Path:
    """A copy of the project, to be damaged."""
    for name in COPIED:
        source = ROOT / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / name)
    return folder


def plant(fault: Fault, project: Path) -> None:
    """Make the one edit."""
    path = project / fault.path
    path.write_text(fault.planted(path.read_text()))


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
    if found.returncode not in (0, 1, NO_TESTS) and not failed:
        raise SystemExit(f"pytest {' '.join(arguments)} did not run:\n{found.stdout[-3000:]}")
    return failed


def caught_by(fault: Fault) -> str:
    """Who notices a fault: the first test, else the claims whose verdicts it turns."""
    with tempfile.TemporaryDirectory(prefix="repro-teeth-") as folder:
        project = copied(Path(folder))
        plant(fault, project)
        for tier in ("not thorough", "thorough"):
            failed = failures(project, [*fault.tests, "-x", "-m", f"{tier} and {ALONE}"])
            if failed:
                return failed[0] + (" (thorough)" if tier == "thorough" else "")
        turned = failures(project, list(fault.claims)) if fault.claims else []
        return f"{len(turned)} verdicts, such as {turned[0]}" if turned else ""


def check_that_it_is_green(chosen: list[Fault]) -> None:
    """Run the same tests without any fault."""
    with tempfile.TemporaryDirectory(prefix="repro-teeth-") as folder:
        project = copied(Path(folder))
        for tests in {fault.tests for fault in chosen}:
            if failed := failures(project, [*tests, "-x", "-m", ALONE]):
                raise SystemExit(f"without any fault there fails already: {failed[0]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("words", nargs="*", metavar="WORD", help="of their names or paths")
    parser.add_argument("--quick", action="store_true", help="the first of them")
    options = parser.parse_args()
    words = options.words or [""]
    chosen = [f for f in FAULTS if any(word in f.name or word in f.path for word in words)]
    chosen = chosen[: 1 if options.quick else None]
    check_that_it_is_green(chosen)
    missed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for fault, who in zip(chosen, pool.map(caught_by, chosen), strict=True):
            missed += not who
            print(f"{fault.path.split('/')[1]:10} {fault.name:58} {who or 'NOBODY'}", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} faults were caught")
    if missed:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
