"""The files of real data sets that runs read, for where they have to be on another machine."""

from __future__ import annotations

from pathlib import Path

from repro.arm import Arm
from repro.data.locate import data_folder
from repro.data.registry import data_sets


def files_read_by(arm: Arm) -> dict[str, Path]:
    """Return the files of the real sets that an arm's runs read, by their place in the data folder.

    Files that are not here are left out; twins travel with the code.
    """
    root = data_folder()
    known = data_sets()
    folders = (root / known[name].folder for name in arm.data_sets if name in known)
    paths = [p for folder in folders if folder.is_dir() for p in sorted(folder.iterdir())]
    return {str(path.relative_to(root)): path for path in paths if path.is_file()}
