"""The identity of a run as text, and its key.

Different identities have different keys, even if Python calls them equal: `1`, `1.0` and `True`, or
`0.0` and `-0.0`, may train differently. To train twice only costs time; to share a result between
different runs would be wrong. Two differences do not count, since they cannot matter: the order of
a mapping's keys, and tuple or list. A value that JSON cannot represent exactly is refused.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any


def run_key(identity: Mapping[str, Any]) -> str:
    """The key of a run: the SHA-256 of its identity as canonical JSON, in hexadecimal.

    >>> run_key({"seed": 1, "arm": {"lr": 0.1}}) == run_key({"arm": {"lr": 0.1}, "seed": 1})
    True
    >>> run_key({"seed": 1}) == run_key({"seed": 1.0})
    False
    """
    return digest_of(plain(identity, "identity"))


def digest_of(content: Mapping[str, Any]) -> str:
    """The digest of plain data, which names a trace; that of an identity is the key of its run.

    >>> digest_of({"files": {}})[:8]
    'aae5a71d'
    """
    return digest(compact(content))


def digest(text: str) -> str:
    """The SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def canonical(identity: Mapping[str, Any]) -> str:
    """Return an identity as canonical JSON, for its key.

    >>> canonical({"seed": 1, "arm": {"lr": 0.1}})
    '{"arm":{"lr":0.1},"seed":1}'
    """
    return compact(plain(identity, "identity"))


compact = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode
"""Writes plain data as canonical JSON."""


def plain(value: object, name: str) -> Any:
    """Return a value for JSON, sequences as lists; raises an error that names a bad part.

    >>> plain({"layers": (1, 2)}, "identity")
    {'layers': [1, 2]}
    """
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(
                f"{name} is {value}, which JSON has no number for; record what happened in words"
                " or whole numbers, such as the step it diverged at."
            )
        return value
    if isinstance(value, str):
        if not _is_unicode(value):
            raise ValueError(f"{name} is {value!r}, which is no Unicode text; decode it properly.")
        return value
    if isinstance(value, list | tuple):
        return [plain(item, f"{name}[{index}]") for index, item in enumerate(value)]
    if isinstance(value, Mapping):
        return {
            _text_key(key, name): plain(item, f"{name}[{key!r}]") for key, item in value.items()
        }
    raise TypeError(
        f"{name} is a {type(value).__name__}; give numbers, text, booleans, None, lists or"
        " mappings (an array's numbers through .tolist() or .item())."
    )


def _text_key(key: object, name: str) -> str:
    # JSON would write the keys 1 and "1" alike, so two identities would share a key.
    if not (isinstance(key, str) and _is_unicode(key)):
        raise TypeError(f"{name} has the key {key!r}; keys must be text.")
    return key


def _is_unicode(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)
