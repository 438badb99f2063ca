"""The verified files of a set or of its generated twin.

A twin's files lie in `fixtures/` under the same names as those of the set that it stands in for, so
the same code reads both. The caller always says by name which of them is read.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from repro.data.locate import DataError, data_folder, fixtures
from repro.data.registry import find

TWIN = "-twin"
"""The ending of a twin's name."""


def resolve(name: str) -> str:
    """Return the set's name where its folder is here, else the name of its generated twin.

    A folder with damaged or missing files counts as here: reading them says what is wrong.

    >>> resolve("blimp-twin")
    'blimp-twin'
    """
    if name.endswith(TWIN):
        return name
    known = find(name)
    if (data_folder() / known.folder).is_dir():
        return name
    if twin_folder(name).is_dir():
        return name + TWIN
    raise DataError(f"{known.title} is not here and has no twin; {_advice(name)}.")


def read_file(name: str, file: str) -> bytes:
    """Read one file of a set or twin; a `DataError` where its bytes are not the published ones.

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

    Those of a set are the published ones, which reading verifies; a twin's small files are hashed.

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
    return hashlib.sha256(" ".join(file_hashes(name, files)).encode()).hexdigest()


def twin_folder(name: str) -> Path:
    """Return the folder of a set's twin, which is there if the set has one."""
    return fixtures() / name


def _advice(name: str) -> str:
    return f"run `python -m repro data fetch {name}`"


def _read(path: Path, name: str, advice: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{name} lacks {path} ({error.strerror}); {advice}.") from error
