"""The files that a report wrote into a folder, so that the next one there can remove its leavings.

`files.sha256` lists them as `sha256sum -c` reads it. A file is removed if it is in the list of the
report before, is as that report wrote it, and is none of this report's.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

LIST = "files.sha256"
_LINE = re.compile(r"([0-9a-f]{64})  ((?:claims/)?[^/\\]+)")


def replace_report(folder: Path, written: Iterable[Path]) -> Path:
    """Remove what the report before left behind, and list what was written; return the list."""
    hashes = {path.relative_to(folder).as_posix(): _hash(path) for path in written}
    listed = folder / LIST
    for name, content in _read(listed).items():
        path = folder / name
        if name not in hashes and _is_own(path) and _hash(path) == content:
            path.unlink()
    with contextlib.suppress(OSError):  # it is not empty, or was never there
        (folder / "claims").rmdir()
    lines = (f"{content}  {name}\n" for name, content in sorted(hashes.items()))
    listed.write_text("".join(lines), encoding="utf-8")
    return listed


def _read(listed: Path) -> dict[str, str]:
    try:
        lines = listed.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return {}
    found = filter(None, map(_LINE.fullmatch, lines))
    return {match[2]: match[1] for match in found}


def _is_own(path: Path) -> bool:
    """Return False for links, which may lead anywhere, and for what is no file."""
    return path.is_file() and not path.is_symlink() and not path.parent.is_symlink()


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
