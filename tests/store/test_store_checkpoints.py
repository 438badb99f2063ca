import pytest
from hypothesis import given
from hypothesis import strategies as st

from repro.store.checkpoints import Checkpoints

KEY, OTHER = "ab" * 32, "cd" * 32


@pytest.fixture
def checkpoints(tmp_path, reports):
    return Checkpoints(tmp_path, report=reports.append)


@given(payload=st.binary(), later=st.binary())
def test_the_last_payload_is_loaded(tmp_path_factory, payload, later):
    checkpoints = Checkpoints(tmp_path_factory.getbasetemp() / "any bytes", report=pytest.fail)
    checkpoints.save(KEY, payload)
    assert checkpoints.load(KEY) == payload
    checkpoints.save(KEY, later)
    assert checkpoints.load(KEY) == later


def test_a_dropped_run_is_forgotten(checkpoints, reports):
    assert checkpoints.load(KEY) is None
    checkpoints.drop(KEY)
    checkpoints.save(KEY, b"one")
    checkpoints.save(OTHER, b"other")
    checkpoints.drop(KEY)
    assert checkpoints.load(KEY) is None
    assert checkpoints.load(OTHER) == b"other"
    assert reports == []


def test_any_damage_is_reported_and_never_loaded(checkpoints, reports, tmp_path):
    checkpoints.save(KEY, b"weights")
    path = tmp_path / "checkpoints" / KEY[:2] / KEY
    whole = path.read_bytes()
    flipped = [
        whole[:at] + bytes([whole[at] ^ mask]) + whole[at + 1 :]
        for at in range(len(whole))
        for mask in (0x01, 0xFF)
    ]
    broken = [*flipped, *(whole[:length] for length in range(len(whole))), whole + b"\0"]
    for content in broken:
        path.write_bytes(content)
        assert checkpoints.load(KEY) is None
        (line,) = reports
        assert "\n" not in line
        assert str(path) in line
        reports.clear()
    checkpoints.save(KEY, b"weights")
    assert checkpoints.load(KEY) == b"weights"
    assert reports == []


def test_one_run_does_not_go_on_from_another(checkpoints, tmp_path):
    checkpoints.save(KEY, b"weights")
    folder = tmp_path / "checkpoints"
    (folder / OTHER[:2]).mkdir()
    (folder / KEY[:2] / KEY).rename(folder / OTHER[:2] / OTHER)
    assert checkpoints.load(OTHER) is None


def test_a_save_that_fails_keeps_the_last_one(checkpoints, monkeypatch, tmp_path):
    checkpoints.save(KEY, b"good")
    monkeypatch.setattr("repro.store.checkpoints._digest", lambda key, payload: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        checkpoints.save(KEY, b"half")
    monkeypatch.undo()
    assert checkpoints.load(KEY) == b"good"
    assert list((tmp_path / "tmp").iterdir()) == []
