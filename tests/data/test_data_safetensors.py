"""The safetensors format, against its own library."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from repro.data.safetensors import NotSafetensors, read_tensors, write_tensors

theirs = pytest.importorskip("safetensors.numpy")

tensors = st.dictionaries(
    st.text("abc.é_", min_size=1, max_size=6),
    st.sampled_from(["float64", "float32", "float16", "int64", "int32", "uint8"]).flatmap(
        lambda kind: arrays.arrays(kind, arrays.array_shapes(min_dims=0, min_side=0, max_side=4))
    ),
    max_size=4,
)


def same(ours, others):
    assert ours.keys() == others.keys()
    for name, array in ours.items():
        assert array.dtype == others[name].dtype
        assert array.shape == others[name].shape
        assert array.tobytes() == others[name].tobytes()


@given(tensors)
def test_what_is_written_is_read_by_the_library_and_by_us(given_tensors):
    content = write_tensors(given_tensors)
    same(given_tensors, theirs.load(content))
    same(given_tensors, read_tensors(content))
    assert write_tensors(dict(reversed(given_tensors.items()))) == content


@given(tensors)
def test_what_the_library_writes_is_read(given_tensors):
    same(given_tensors, read_tensors(theirs.save(given_tensors, {"format": "pt"})))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not a file of tensors",
        (2).to_bytes(8, "little") + b"[]",
        (9).to_bytes(8, "little") + b'{"a": 1 }',
        write_tensors({"a": np.zeros(4)})[:-1],
        write_tensors({"a": np.zeros(4)}).replace(b"[4]", b"[5]"),
        write_tensors({"a": np.zeros(4)}).replace(b"F64", b"X64"),
    ],
)
def test_what_is_none_is_said_to_be_none(content):
    with pytest.raises(NotSafetensors, match="is no safetensors file"):
        read_tensors(content)
