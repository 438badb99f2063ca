"""A run as one object: what was cut, altered or made up is refused, whatever it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repro.share.packed import packed, unpacked
from repro.store.entry import Damaged

FILES = {"result.json": b'{"x": 1}\n', "weights.safetensors": b"\n\n\0" * 9, "empty": b""}


def test_files_come_back_as_they_were():
    assert unpacked(packed(FILES)) == FILES


@pytest.mark.parametrize("length", range(len(packed(FILES))))
def test_a_run_that_was_cut_short_is_refused(length):
    with pytest.raises(Damaged):
        unpacked(packed(FILES)[:length])


@given(place=st.integers(0, len(packed(FILES)) - 1), bit=st.integers(0, 7))
def test_a_flipped_bit_is_refused_or_changes_a_name_alone(place, bit):
    content = bytearray(packed(FILES))
    content[place] ^= 1 << bit
    try:
        files = unpacked(bytes(content))
    except Damaged:
        return
    assert sorted(files.values()) == sorted(
        FILES.values()
    )  # the store asks for names that it knows


@given(st.binary(max_size=200))
def test_whatever_else_is_refused(content):
    for text in (content, b"repro result 1\n" + content):
        with pytest.raises(Damaged):
            unpacked(text)
