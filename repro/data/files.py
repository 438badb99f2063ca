"""The verified files of a set or of its generated twin.

The files of a twin are in `fixtures/`, with the same names as the files of its set, so the same
code reads both. The caller always names the one to read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path

from repro.code.record import unheard
from repro.data.locate import DataError, data_folder, fixtures
from repro.data.registry import data_sets, find

TWIN = "-twin"
"""The ending of a twin's name."""

_COUNTED: ContextVar[Collection[str] | None] = ContextVar("sets that count as here", default=None)


def resolve(name: str) -> str:
    """Return the name of a set if its folder is here, or else the name of its generated twin.

    A folder with damaged or missing files counts as here: the error comes when they are read.

    >>> resolve("blimp-twin")
    'blimp-twin'
    """
    if name.endswith(TWIN):
        return name
    known = find(name)
    if is_here(name):
        return name
    if twin_folder(name).is_dir():
        return name + TWIN
    raise DataError(f"{known.title} is not here and has no twin; {_advice(name)}.")


def is_here(name: str) -> bool:
    """Return whether the folder of a set is in the data folder, or counts as present.

    >>> is_here("gpt2-xl")
    False
    """
    counted = _COUNTED.get()
    return (data_folder() / find(name).folder).is_dir() if counted is None else name in counted


def is_readable(name: str) -> bool:
    """Return whether a set can be read: it is here, or a twin, or a name that needs no files.

    >>> is_readable("blimp-twin"), is_readable("gpt2-xl")
    (True, False)
    """
    return name.endswith(TWIN) or name not in data_sets() or is_here(name)


@contextmanager
def counted_as_here(names: Collection[str]) -> Iterator[None]:
    """Let exactly these sets count as present within the block, for code that reads none of them.

    >>> with counted_as_here(["gpt2-xl"]):
    ...     resolve("gpt2-xl")
    'gpt2-xl'
    """
    before = _COUNTED.set(names)
    try:
        yield
    finally:
        _COUNTED.reset(before)


def read_file(name: str, file: str) -> bytes:
    """Read one file of a set or twin; raises `DataError` if its bytes are not the published ones.

    >>> read_file("sms-spam-twin", "SMSSpamCollection")[:4]
    b'ham\\t'
    """
    if name.endswith(TWIN):
        return _read(twin_folder(name.removesuffix(TWIN)) / file, name, "restore fixtures/")
    known = find(name)
    content = _read(data_folder() / known.folder / file, name, _advice(name))
    published = known.file(file).sha256
    if published is not None and hashlib.sha256(content).hexdigest() != published:
        raise DataError(
            f"{data_folder() / known.folder / file} is not {name}'s file (its SHA-256 differs);"
            f" remove it and {_advice(name)}."
        )
    return content


def file_names(name: str) -> list[str]:
    """Return the names of a set's or twin's files, sorted.

    >>> file_names("gpt2-bpe")
    ['encoder.json', 'vocab.bpe']
    """
    if not name.endswith(TWIN):
        return sorted(file.name for file in find(name).files)
    folder = twin_folder(name.removesuffix(TWIN))
    return sorted(path.name for path in folder.iterdir() if path.is_file())


@cache
def file_hashes(name: str, files: tuple[str, ...]) -> tuple[str, ...]:
    """Return the SHA-256 of files of a set or twin.

    The hashes of a set are the published ones, which reading verifies; a twin's files are hashed.

    >>> file_hashes("sms-spam", ("SMSSpamCollection",))[0][:8]
    '7d039a24'
    """
    if name.endswith(TWIN):
        return tuple(hashlib.sha256(read_file(name, file)).hexdigest() for file in files)
    return tuple(find(name).file(file).sha256 or "" for file in files)


def content_hash(name: str, files: tuple[str, ...]) -> str:
    """Return one hash over the content of files of a set or twin.

    >>> content_hash("sms-spam", ("SMSSpamCollection",))[:8]
    'e3a3ff6d'
    """
    return hash_of_all(*file_hashes(name, files))


def hash_of_all(*hashes: str) -> str:
    """Return one hash over several.

    >>> hash_of_all("ab", "cd") == hash_of_all("cd", "ab")
    False
    """
    return hashlib.sha256(" ".join(hashes).encode()).hexdigest()


def twin_folder(name: str) -> Path:
    """Return the folder of a set's twin; it exists if the set has a twin."""
    return fixtures() / name


def _advice(name: str) -> str:
    return f"run `python -m repro data fetch {name}`"


def _read(path: Path, name: str, advice: str) -> bytes:
    try:
        with unheard():  # the hash of its content is part of a run's identity
            return path.read_bytes()
    except OSError as error:
        raise DataError(f"{name} lacks {path} ({error.strerror}); {advice}.") from error
