"""The folders of data: the user's data folder, the per-user cache, the project's fixtures."""

from __future__ import annotations

import os
import sys
from pathlib import Path


class DataError(Exception):
    """Data is missing or wrong; the message says what is wrong and what to do."""


def user_cache() -> Path:
    """Return the folder for this user's caches, by the platform's convention."""
    home = Path.home()
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "repro"
    is_windows = sys.platform == "win32"
    named = os.environ.get("LOCALAPPDATA" if is_windows else "XDG_CACHE_HOME", "")
    usual = home / "AppData" / "Local" if is_windows else home / ".cache"
    return (Path(named) if os.path.isabs(named) else usual) / "repro"


def data_folder() -> Path:
    """Return the folder of the real data sets: `REPRO_DATA`, or else one in the user's cache."""
    named = os.environ.get("REPRO_DATA")
    if not named:
        return user_cache() / "data"
    try:
        os.scandir(os.path.join(named, ".")).close()  # an unreadable folder would look empty
    except OSError as error:
        raise DataError(
            f"REPRO_DATA names {named}, which cannot be read ({error.strerror}); create it or"
            " unset it."
        ) from error
    return Path(named)


def fixtures() -> Path:
    """Return the folder of the twins: in an installed package, or at the top of a checkout."""
    package = Path(__file__).parents[1]
    inside = package / "_fixtures"
    return inside if inside.is_dir() else package.parent / "fixtures"
