"""The place that the URL of a share names."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from urllib.parse import unquote, urlsplit

from repro.share.bucket import Bucket
from repro.share.objects import Folder, Objects

_EXTRA = "pip install 'repro-claims[share]'"


def objects_at(url: str) -> Objects:
    """Return the objects that a URL or a folder names; ValueError where it can be neither.

    Nothing is connected to yet.

    >>> objects_at("/mnt/laboratory/share").name
    '/mnt/laboratory/share'
    """
    scheme, colon, rest = url.partition("://")
    if not colon or scheme == "file":
        folder = Path(unquote(urlsplit(url).path) if colon else url)
        if not folder.is_dir():
            raise ValueError(f"--share {url} is no folder; make it first, or mount its disk.")
        return Folder(folder.absolute())
    if importlib.util.find_spec("fsspec") is None:
        raise ValueError(f"--share {scheme}://… needs fsspec: {_EXTRA}.")
    _require_known(scheme)
    if not rest.strip("/"):
        raise ValueError(f"--share {url} names no bucket; write {scheme}://BUCKET/FOLDER.")
    return Bucket(url)


def _require_known(scheme: str) -> None:
    """Raise ValueError where fsspec has no file system of this name, or lacks its package."""
    from fsspec import get_filesystem_class  # type: ignore[import-untyped]

    try:
        get_filesystem_class(scheme)
    except ImportError as error:
        package = _EXTRA if scheme == "s3" else str(error)
        raise ValueError(f"--share {scheme}://… needs another package: {package}.") from error
    except ValueError as error:
        raise ValueError(
            f"--share {scheme}://… is no place that fsspec knows; give a folder, or s3://…."
        ) from error
