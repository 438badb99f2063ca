"""The files of a set, of the real one or its twin: which is here, and bytes that are verified.

A twin's files lie in `fixtures/` under the names of the set that it stands in for, so that whatever
reads the one reads the other. Which of them is read is always said by name.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from repro.data.locate import DataError, data_folder, fixtures
from repro.data.registry import find

TWIN = "-twin"
"""What the name of a twin ends in."""


def resolve(name: str) -> str:
    """The set itself where its folder is here, else the name of its generated twin.

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
    """The bytes of one file of a set or twin, if they are the published ones.

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
    """The files of a set or twin, sorted.

    >>> file_names("gpt2-bpe")
    ['encoder.json', 'vocab.bpe']
    """
    if not name.endswith(TWIN):
        return sorted(file.name for file in find(name).files)
    folder = twin_folder(name.removesuffix(TWIN))
    return sorted(path.name for path in folder.iterdir() if path.is_file())


@cache
def content_hash(name: str, files: tuple[str, ...]) -> str:
    """The hash of what the files hold: the published hashes, which reading verifies.

    A twin's files are small and are hashed themselves.

    >>> content_hash("sms-spam", ("SMSSpamCollection",))[:8]
    'e3a3ff6d'
    """
    if name.endswith(TWIN):
        hashes = [hashlib.sha256(read_file(name, file)).hexdigest() for file in files]
    else:
        hashes = [find(name).file(file).sha256 or "" for file in files]
    return hashlib.sha256(" ".join(hashes).encode()).hexdigest()


def twin_folder(name: str) -> Path:
    """Where the twin of a set lies, if it has one."""
    return fixtures() / name


def _advice(name: str) -> str:
    return f"run `python -m repro data fetch {name}`"


def _read(path: Path, name: str, advice: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{name} lacks {path} ({error.strerror}); {advice}.") from error
