"""Claims are read first by one process of a session each, whatever becomes of the others."""

import pytest

from repro.files import try_lock
from repro.plugin import first_reading
from repro.plugin.first_reading import FirstReading, Reading

NAMES = [f"900/claim_{number}" for number in range(60)]


def reader(read):
    """A reader that notes what it read, and finds every seventh claim open."""

    def read_chunk(places):
        read.extend(places)
        is_open = frozenset(place for place in places if place % 7 == 0)
        return Reading(places, is_open, {"arm": [1, 2]})

    return read_chunk


def all_of(readings):
    return {place: place in each.open for each in readings for place in each.places}


def test_a_single_process_reads_everything_and_leaves_nothing():
    read = []
    readings = list(FirstReading(None, NAMES).readings(reader(read)))
    assert read == list(range(60))
    assert all(reading.here for reading in readings)


def test_what_one_process_has_read_no_other_reads(tmp_path):
    first, second = [], []
    one, other = FirstReading(tmp_path, NAMES), FirstReading(tmp_path, NAMES)
    found = all_of(one.readings(reader(first)))
    told = list(other.readings(reader(second)))
    assert (first, second) == (list(range(60)), [])
    assert all_of(told) == found == {place: place % 7 == 0 for place in range(60)}
    assert not any(reading.here for reading in told)
    assert told[0].asked == {"arm": [1, 2]}
    assert other.is_elsewhere(NAMES[0])
    assert not one.is_elsewhere(NAMES[0])


def test_two_at_a_time_share_the_chunks(tmp_path):
    first, second = [], []
    one = FirstReading(tmp_path, NAMES).readings(reader(first))
    other = FirstReading(tmp_path, NAMES).readings(reader(second))
    next(one)
    seen = [next(other), next(other)]
    assert [reading.here for reading in seen] == [False, True]
    assert all_of([*seen, *other]).keys() == set(range(60))
    list(one)
    assert sorted(first + second) == list(range(60))


def test_a_process_begins_at_the_first_claim_that_it_has_to_judge(tmp_path):
    read = []
    readings = FirstReading(tmp_path, NAMES).readings(reader(read), first=NAMES[30])
    assert all_of(readings).keys() == set(range(60))
    assert read == [*range(25, 60), *range(25)]
    assert list(FirstReading(tmp_path, NAMES).readings(reader([]), first="900/another"))


def test_a_chunk_that_is_being_read_is_waited_for_at_the_end(tmp_path, monkeypatch):
    reading, waited = FirstReading(tmp_path, NAMES), []
    held = try_lock(reading._path(range(first_reading.CLAIMS)).with_suffix(".lock"))
    usual = first_reading.wait_for_lock

    def wait(path):
        waited.append(path)
        held.release()  # as it is when its process dies, without a note
        return usual(path)

    monkeypatch.setattr(first_reading, "wait_for_lock", wait)
    read = []
    assert all_of(reading.readings(reader(read))).keys() == set(range(60))
    assert len(waited) == 1
    assert read[-first_reading.CLAIMS :] == list(range(first_reading.CLAIMS))


def test_an_error_leaves_a_chunk_to_the_others(tmp_path):
    def fails(places):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(FirstReading(tmp_path, NAMES).readings(fails))
    read = []
    list(FirstReading(tmp_path, NAMES).readings(reader(read)))
    assert read == list(range(60))


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"open": 3, "asked": {}}'])
def test_a_note_that_is_not_whole_is_none(tmp_path, text):
    list(FirstReading(tmp_path, NAMES).readings(reader([])))
    for note in tmp_path.glob("*.note"):
        note.write_text(text)
    read = []
    list(FirstReading(tmp_path, NAMES).readings(reader(read)))
    assert read == list(range(60))


def test_other_claims_are_other_chunks(tmp_path):
    list(FirstReading(tmp_path, NAMES).readings(reader([])))
    read = []
    list(FirstReading(tmp_path, NAMES[1:]).readings(reader(read)))
    assert read == list(range(59))


@pytest.mark.parametrize("folder", ["gone", "file/below"])
def test_where_the_folder_is_not_every_process_reads_for_itself(tmp_path, folder):
    (tmp_path / "file").touch()
    for _ in range(2):
        read = []
        list(FirstReading(tmp_path / folder, NAMES).readings(reader(read)))
        assert read == list(range(60))
    assert not (tmp_path / "gone").exists()
