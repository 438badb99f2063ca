"""Simulated numbers that a store keeps beside its runs: they spare work, and are never needed."""

import json

from repro.store import keep_simulated, read_simulated, simulated

NUMBERS = {"chance((3, 5), 0.0012)": 0.1 + 0.2, "limits(5,)": (1.5, 2.5, 1e-300)}


def test_numbers_of_one_version_come_back_with_the_new_ones(tmp_path):
    assert read_simulated(tmp_path, version="1") == {}
    keep_simulated(tmp_path, NUMBERS, version="1")
    before = (tmp_path / simulated.NAME).stat().st_ino
    keep_simulated(tmp_path, dict(list(NUMBERS.items())[:1]), version="1")
    assert (tmp_path / simulated.NAME).stat().st_ino == before  # nothing was new
    keep_simulated(tmp_path, {"chance": 0.5}, version="1")
    assert read_simulated(tmp_path, version="1") == {**NUMBERS, "chance": 0.5}
    assert read_simulated(tmp_path, version="2") == {}
    keep_simulated(tmp_path, {"chance": 0.5}, version="2")
    assert read_simulated(tmp_path, version="2") == {"chance": 0.5}
    assert read_simulated(tmp_path, version="1") == {}


DAMAGE = (
    lambda text: text[: len(text) // 2],
    lambda text: text.replace("0.30000000000000004", "0.30000000000000005"),
    lambda text: text.replace("1.5", "9.5"),
    lambda text: "[]",
    lambda text: "null",
    lambda text: "\x00" * 100,
    lambda text: json.dumps({**json.loads(text), "numbers": 5}),
)


def test_a_damaged_file_gives_none_and_is_written_anew(tmp_path):
    for damage in DAMAGE:
        keep_simulated(tmp_path, NUMBERS, version="1")
        text = (tmp_path / simulated.NAME).read_text()
        assert damage(text) != text
        (tmp_path / simulated.NAME).write_text(damage(text))
        assert read_simulated(tmp_path, version="1") == {}
    keep_simulated(tmp_path, NUMBERS, version="1")
    assert read_simulated(tmp_path, version="1") == NUMBERS


def test_a_store_that_may_not_be_written_to_is_no_error(tmp_path):
    (tmp_path / "file").write_text("")
    keep_simulated(tmp_path / "file", NUMBERS, version="1")
    assert read_simulated(tmp_path / "file", version="1") == {}
