"""The engines of programs, kept in the store: what is damaged there is settled again."""

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import ClassVar

import pytest

from repro.core.speed import Speed
from repro.own.arm import OutsideArm
from repro.runs.engines import Engines
from repro.store import Store


@dataclass(frozen=True, kw_only=True)
class Any(OutsideArm):
    study: ClassVar[str] = "none"
    data: str = "none"


ARM = Any()
SPEED = Speed("stacked", 8, 0.25, memory=1000)
NONE = ({"engine": "lopp"}, {"width": 0}, {"width": "8"}, {"seconds": float("nan")}, {"memory": -1})


def engines(folder, report=pytest.fail):
    return Engines(Store(folder, report=report), wanted="auto", device="cpu")


@pytest.fixture
def path(tmp_path):
    """The file that a speed was just written to."""
    engines(tmp_path).settle(ARM, SPEED)
    (path,) = (tmp_path / "engines").iterdir()
    return path


def with_a_sum(speed):
    total = hashlib.sha256(json.dumps(speed, sort_keys=True).encode()).hexdigest()
    return json.dumps({"speed": speed, "sha256": total}).encode()


def test_what_is_damaged_is_reported_once_and_never_believed(tmp_path, path):
    whole = path.read_bytes()
    assert engines(tmp_path).of(ARM) == SPEED
    flipped = [whole[:n] + bytes([whole[n] ^ 1]) + whole[n + 1 :] for n in range(12, len(whole), 9)]
    cut = [whole[:length] for length in range(0, len(whole), 9)]
    impossible = [with_a_sum({**asdict(SPEED), **change}) for change in NONE]
    for content in [*flipped, *cut, *impossible, b"[]", b"null", b'{"speed": {}}']:
        path.write_bytes(content)
        reports = []
        after = engines(tmp_path, report=reports.append)
        assert (after.of(ARM), after.of(ARM)) == (None, None), content
        (line,) = reports
        assert str(path) in line
    after.settle(ARM, SPEED)
    assert path.read_bytes() == whole
