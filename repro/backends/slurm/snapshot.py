"""The code and the data of a session in the shared folder, each once by what is in it."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import repro
from repro.arm import Arm
from repro.backends.code_files import not_code, paths
from repro.backends.data_files import files_read_by
from repro.data.inventory import sha256_of
from repro.data.locate import fixtures
from repro.files import beside
from repro.runs.backend import TrainingStopped

PROJECT, LIBRARY = "project", "library"
"""The names in a snapshot of the project, and of repro where it lies elsewhere."""

MOST_BYTES = 2**29
"""Bytes of code that are taken; more is data by mistake."""

_NO_CODE = frozenset({"__pycache__", "node_modules"})


def snapshot(project: Path, store: Path, into: Path) -> Path:
    """Copy the code as it is, uncommitted changes and all; return the copy's folder.

    It is named by its content, so that sessions with the same code share it.
    """
    files = dict(sorted(_code(project, [*not_code(project, store), *_below(project, into)])))
    size = sum(path.stat().st_size for path in files.values())
    if size > MOST_BYTES:
        raise TrainingStopped(
            f"{project} has {size / 2**20:.0f} MiB of files that would travel as code, and at most"
            f" {MOST_BYTES / 2**20:.0f} do; name what is no code in .gitignore"
        )
    listing = hashlib.sha256()
    for place, path in files.items():
        listing.update(f"{place}\0{os.access(path, os.X_OK)}\0{sha256_of(path)}\n".encode())
    folder = into / listing.hexdigest()
    if not folder.exists():
        into.mkdir(parents=True, exist_ok=True)
        with beside(folder) as fresh:
            (fresh / PROJECT).mkdir(parents=True)
            for place, path in files.items():
                (fresh / place).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, fresh / place)
    return folder


def environment_of(code: Path, project: Path) -> dict[str, str]:
    """Return what a process on a node has in its environment, to find this code first."""
    places = [*(code / PROJECT / place for place in paths(project)), code / LIBRARY]
    others = os.environ.get("PYTHONPATH")
    found = [*map(str, places), *([others] if others else [])]
    return {"PYTHONPATH": os.pathsep.join(found), "OMP_NUM_THREADS": "1"}


def _below(project: Path, into: Path) -> list[Path]:
    """Return where the folder of snapshots is in the project, if it is there."""
    shared = into.parent
    return [shared.relative_to(project)] if shared.is_relative_to(project) else []


def _code(project: Path, left_out: Sequence[Path]) -> Iterator[tuple[str, Path]]:
    """Yield the files of the code but in these folders, by their places in a snapshot."""
    for place in _files_below(project):
        path = project / place
        is_left_out = any(place.is_relative_to(folder) for folder in left_out)
        if path.is_file() and not is_left_out and _NO_CODE.isdisjoint(place.parts):
            yield f"{PROJECT}/{place}", path
    package = Path(repro.__file__).parent
    if package.parent == project:
        return
    roots = {package: f"{LIBRARY}/{package.name}"}
    if fixtures().parent != package:
        roots[fixtures()] = f"{LIBRARY}/{package.name}/_fixtures"
    for root, name in roots.items():
        for path in root.rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                yield f"{name}/{path.relative_to(root)}", path


def _files_below(project: Path) -> Iterator[Path]:
    """Yield the files of a project: what git knows or would add, or all that is not hidden."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=project, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        for folder, below, names in os.walk(project):
            below[:] = [name for name in below if not name.startswith(".")]
            yield from (Path(folder, name).relative_to(project) for name in names)
        return
    yield from (Path(os.fsdecode(name)) for name in listed.split(b"\0") if name)


class DataByHash:
    """The real data in the shared folder, copied there once by what is in each file."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._of_arm: dict[Arm, Path] = {}
        self._hashes: dict[Path, str] = {}

    def folder_for(self, arm: Arm) -> Path:
        """Return a data folder that has what an arm's runs read, and nothing else."""
        if arm not in self._of_arm:
            self._of_arm[arm] = self._laid_out(files_read_by(arm))
        return self._of_arm[arm]

    def _laid_out(self, files: dict[str, Path]) -> Path:
        hashes = {place: self._hash(path) for place, path in files.items()}
        text = "".join(f"{of} {place}\n" for place, of in hashes.items())
        folder = self._root / "sets" / hashlib.sha256(text.encode()).hexdigest()
        if folder.exists():
            return folder
        for place, path in files.items():
            content = self._root / "files" / hashes[place]
            if not content.exists():
                content.parent.mkdir(parents=True, exist_ok=True)
                with beside(content) as fresh:
                    shutil.copyfile(path, fresh)
        folder.parent.mkdir(parents=True, exist_ok=True)
        with beside(folder) as fresh:
            fresh.mkdir()
            for place, of in hashes.items():
                (fresh / place).parent.mkdir(parents=True, exist_ok=True)
                (fresh / place).symlink_to(self._root / "files" / of)
        return folder

    def _hash(self, path: Path) -> str:
        if path not in self._hashes:
            self._hashes[path] = sha256_of(path)
        return self._hashes[path]
