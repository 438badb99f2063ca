"""The folders of Weights & Biases' offline runs.

A `.wandb` file is a log in LevelDB's format: blocks of 32 KiB, in which records lie whole or in
parts, each with a checksum. Their content is a message of wandb's own.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from repro.recorded.errors import RecordedError
from repro.recorded.readers.flat import flat, lacks

_FILE = struct.Struct("<4sHB")
_START = (b":W&B", 0xBEE1, 0)
_PART = struct.Struct("<IHB")
_BLOCK = 32 * 1024
_WHOLE, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4


def wandb_offline(path: Path) -> Iterator[dict[str, object]]:
    """Yield a row for each step of an offline run, with its config as columns, and its name.

    `path` is the run's folder, `wandb/offline-run-…`, or a folder with several, such as `wandb`.
    A CSV that was exported needs no reader: `columns="{method} - {metric}"` takes it apart.

    >>> recorded("wandb", read=wandb_offline, arm="method", seed="seed", epoch="_step",
    ...          metrics=METRICS)
    """
    files = sorted(path.glob("run-*.wandb")) or sorted(path.glob("offline-run-*/run-*.wandb"))
    if not files:
        raise RecordedError(f"{path} has no offline runs of wandb, which are run-….wandb files.")
    for file in files:
        yield from _rows(file)


def _rows(file: Path) -> Iterator[dict[str, object]]:
    try:
        messages = import_module("wandb.proto.wandb_internal_pb2")
    except ImportError:
        raise lacks("wandb", "wandb") from None
    config: dict[str, Any] = {}
    about: dict[str, object] = {}
    steps: list[dict[str, Any]] = []
    for data in _records(file):
        record = messages.Record()
        record.ParseFromString(data)
        kind = record.WhichOneof("record_type")
        if kind == "run":
            about = {"run_id": record.run.run_id, "run_name": record.run.display_name}
            config |= _items(record.run.config.update)
        elif kind == "config":
            config |= _items(record.config.update)
        elif kind == "history":
            steps.append(_items(record.history.item))
    if not steps:
        raise RecordedError(
            f"{file} has no logged step, so that nothing is known of its run: leave its folder out."
        )
    settings = flat({name: value for name, value in config.items() if name != "_wandb"})
    for step in steps:
        yield {**about, **settings, **flat(step)}


def _records(file: Path) -> Iterator[bytes]:
    """Yield the records of a log, as far as it goes: a run that was killed ends in the middle."""
    content = file.read_bytes()
    if len(content) < _FILE.size or _FILE.unpack_from(content) != _START:
        raise RecordedError(f"{file} is no log of wandb, or of a format that is not known here.")
    place, record = _FILE.size, b""
    while place + _PART.size <= len(content):
        if _BLOCK - place % _BLOCK < _PART.size:  # no part begins so near to the end of a block
            place += _BLOCK - place % _BLOCK
            continue
        checksum, length, kind = _PART.unpack_from(content, place)
        data = content[place + _PART.size : place + _PART.size + length]
        if len(data) < length:
            return
        if zlib.crc32(bytes([kind]) + data) != checksum or kind not in range(_WHOLE, _LAST + 1):
            raise RecordedError(f"{file} is damaged at byte {place}: copy it again.")
        record = data if kind in (_WHOLE, _FIRST) else record + data
        if kind in (_WHOLE, _LAST):
            yield record
        place += _PART.size + length


def _items(items: Any) -> dict[str, Any]:
    """Return the values of a record; a name that is nested is given as its parts."""
    return {item.key or ".".join(item.nested_key): json.loads(item.value_json) for item in items}
