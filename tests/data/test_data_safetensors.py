"""Equal tensors are equal bytes; a file that is none is refused in one sentence."""

import json

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from repro.data.safetensors import NotSafetensors, is_whole_file, read_tensors, write_tensors

tensors = st.dictionaries(
    st.text("abc.é_", min_size=1, max_size=6),
    st.sampled_from(["float64", "float32", "float16", "int64", "int32", "uint8"]).flatmap(
        lambda kind: arrays.arrays(kind, arrays.array_shapes(min_dims=0, min_side=0, max_side=4))
    ),
    max_size=4,
)


def assert_same(read, expected):
    assert read.keys() == expected.keys()
    for name, array in read.items():
        assert array.dtype == expected[name].dtype
        assert array.shape == expected[name].shape
        assert array.tobytes() == expected[name].tobytes()


def file_of(header, content=b""):
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + content


FOUR_ZEROS = write_tensors({"a": np.zeros(4)})

BAD_FILES = {
    "nothing": b"",
    "a page": b"<html>not here</html>",
    "a list": file_of([]),
    "a number": file_of({"a": 1}),
    "cut short": FOUR_ZEROS[:-1],
    "too long": FOUR_ZEROS + b"x",
    "another shape": FOUR_ZEROS.replace(b"[4]", b"[5]"),
    "an unknown kind": FOUR_ZEROS.replace(b"F64", b"X64"),
}


@given(tensors)
def test_tensors_are_read_as_they_were_written_and_equal_ones_are_equal_bytes(expected):
    content = write_tensors(expected)
    assert_same(read_tensors(content), expected)
    assert write_tensors(dict(reversed(expected.items()))) == content


@given(tensors)
def test_a_file_with_metadata_is_read(expected):
    assert_same(read_tensors(safetensors.numpy.save(expected, {"format": "pt"})), expected)


def test_views_are_written_by_their_values():
    array = np.arange(12.0).reshape(3, 4)
    for view in (array.T, array[:, ::2], array[1, 2]):
        content = write_tensors({"a": view})
        assert_same(read_tensors(content), {"a": np.array(view, order="C")})
        assert content == write_tensors({"a": np.array(view, order="C")})


def test_a_bad_file_is_refused_in_one_sentence(tmp_path):
    for name, content in BAD_FILES.items():
        with pytest.raises(NotSafetensors, match=r"^is no safetensors file \([^\n]+\)$"):
            read_tensors(content)
        (tmp_path / "file").write_bytes(content)
        assert not is_whole_file(tmp_path / "file"), name


def test_a_kind_that_numpy_lacks_is_named(tmp_path):
    header = {"a": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}
    content = file_of(header, bytes(4))
    with pytest.raises(NotSafetensors, match=r"^holds 'BF16' numbers, which NumPy does not have$"):
        read_tensors(content)
    (tmp_path / "file").write_bytes(content)
    assert is_whole_file(tmp_path / "file")
