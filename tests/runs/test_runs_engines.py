"""The engines of programs, kept in the store: what is damaged there is timed again."""

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import ClassVar

import pytest

from repro.core.speed import Speed
from repro.own.arm import OutsideArm
from repro.runs.engines import Engines
from repro.store import Store, StoreError


@dataclass(frozen=True, kw_only=True)
class Any(OutsideArm):
    study: ClassVar[str] = "none"
    data: str = "none"


ARM = Any()
SPEED = Speed("stacked", 8, 0.25, memory=1000)


def engines(folder, report=pytest.fail):
    return Engines(Store(folder, report=report), wanted="auto", device="cpu")


@pytest.fixture
def path(tmp_path):
    """The file that a speed was just written to."""
    engines(tmp_path).settle(ARM, SPEED)
    (path,) = (tmp_path / "engines").iterdir()
    return path


def test_a_later_session_has_the_same_engine(tmp_path, path):
    assert engines(tmp_path).of(ARM) == SPEED


def test_any_flipped_bit_and_any_cut_is_reported_once_and_timed_again(tmp_path, path):
    whole = path.read_bytes()
    flipped = [
        whole[:at] + bytes([whole[at] ^ mask]) + whole[at + 1 :]
        for at in range(len(whole))
        for mask in (0x01, 0x02, 0x04, 0x10, 0x20, 0x80)
    ]
    reports = []
    for content in [*flipped, *(whole[:length] for length in range(len(whole)))]:
        path.write_bytes(content)
        after = engines(tmp_path, report=reports.append)
        if after.of(ARM) == SPEED:  # such as a space that became another one
            assert reports == []
            continue
        assert after.of(ARM) is None
        (line,) = reports
        assert str(path) in line
        assert "is timed again" in line
        reports.clear()
    engines(tmp_path, report=reports.append).settle(ARM, SPEED)
    assert path.read_bytes() == whole


@pytest.mark.parametrize(
    "change",
    [
        {"engine": "lopp"}, {"engine": "auto"}, {"width": 0}, {"width": 10**9}, {"width": "8"},
        {"seconds": 1e9}, {"seconds": -1.0}, {"seconds": float("inf")}, {"seconds": float("nan")},
        {"memory": -1}, {"memory": None},
    ],
)  # fmt: skip
def test_a_speed_that_cannot_be_is_not_believed(tmp_path, path, change):
    speed = {**asdict(SPEED), **change}
    total = hashlib.sha256(json.dumps(speed, sort_keys=True).encode()).hexdigest()
    path.write_text(json.dumps({"speed": speed, "sha256": total}))
    reports = []
    assert engines(tmp_path, report=reports.append).of(ARM) is None
    assert len(reports) == 1


@pytest.mark.parametrize("content", ["", "[]", "3", "{}", '{"speed": {}}', "null"])
def test_something_else_in_its_place_is_reported(tmp_path, path, content):
    path.write_text(content)
    reports = []
    assert engines(tmp_path, report=reports.append).of(ARM) is None
    assert len(reports) == 1


def test_a_folder_in_its_place_is_replaced(tmp_path, path):
    path.unlink()
    path.mkdir()
    reports = []
    again = engines(tmp_path, report=reports.append)
    assert again.of(ARM) is None
    again.settle(ARM, SPEED)
    assert engines(tmp_path).of(ARM) == SPEED
    assert len(reports) == 1


def test_a_file_in_place_of_their_folder_is_named(tmp_path):
    (tmp_path / "engines").write_text("")
    with pytest.raises(StoreError, match=r"cannot be used \(File exists: .*/engines\); make it"):
        engines(tmp_path)
