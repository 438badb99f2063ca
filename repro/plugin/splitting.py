"""The files that claims are in, found by collecting them as pytest does."""

from __future__ import annotations

import tempfile
from pathlib import Path

from repro.plugin import orphans
from repro.plugin.reading import with_claims
from repro.plugin.session import ClaimSession


def files_of_claims(folder: Path) -> dict[Path, dict[str, Path]]:
    """Return the file of each claim at a place and below it, by the folder of the file.

    Raises `EvidenceError` where the claims cannot be collected.

    >>> files_of_claims(Path("claims"))[Path("claims").absolute()]["004/bp_climbs[d256]"].name
    'test_depth_ladder.py'
    """
    with tempfile.TemporaryDirectory() as store:  # nothing is looked up, and nothing is left
        options = [f"--repro-store={store}", "--repro-device=cpu"]
        known = with_claims([str(folder)], options, _known)
    files: dict[Path, dict[str, Path]] = {}
    for file, name in known:
        path = Path(file)
        files.setdefault(path.parent, {})[name] = path
    return files


def _known(session: ClaimSession) -> set[tuple[str, str]]:
    """Return the claims that there are, also those that the project's settings leave out."""
    known: set[tuple[str, str]] = session.config.pluginmanager.getplugin(orphans.NAME).known
    return known
