import enum
import json
import math
import re
import tempfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repro.store import Store
from repro.store.key import run_key

TEXT = st.text('ab01 "\\/\n\t\0éµ€😀\u2028\ufeff', max_size=8)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner),
    max_leaves=6,
)
MAPPINGS = st.dictionaries(TEXT, JSON, max_size=4)


def test_the_key_is_the_sha256_of_canonical_json():
    # `sha256sum` of {"a":"µ","b":[1,0.1]}. Another canonical form would orphan every store.
    assert run_key({"b": (1, 0.1), "a": "µ"}) == (
        "6c2b73a1d9d6c07d98fa32bb176d3863567614f92e596fbbdbf54df2a11a0a9f"
    )


@given(MAPPINGS)
def test_neither_the_order_of_keys_nor_a_json_round_trip_counts(identity):
    assert run_key(dict(reversed(identity.items()))) == run_key(identity)
    assert run_key(json.loads(json.dumps(identity))) == run_key(identity)


@given(identity=MAPPINGS, values=MAPPINGS, provenance=MAPPINGS)
def test_any_json_comes_back_from_a_store_exactly(identity, values, provenance):
    with tempfile.TemporaryDirectory() as folder:
        store = Store(folder)
        store.put(identity, values, provenance)
        result = store.get(identity)
        for put, got in (
            (identity, result.identity),
            (values, result.values),
            (provenance, result.provenance),
        ):
            # As text, so that 1 and 1.0, and 0.0 and -0.0, are told apart.
            assert json.dumps(got, sort_keys=True) == json.dumps(put, sort_keys=True)


ALIKE_IN_PYTHON = [
    *((1, 1.0), (1, True), (0, False), (0.0, -0.0), (1, "1"), (None, "null"), ([], {}), ("", None)),
    (0.1, math.nextafter(0.1, 1)),
]


def test_values_that_may_train_differently_have_different_keys():
    shared = [
        (one, other)
        for one, other in ALIKE_IN_PYTHON
        if run_key({"x": one}) == run_key({"x": other})
        or run_key({"x": [one]}) == run_key({"x": [other]})
    ]
    assert shared == []


def test_a_subclass_of_a_number_counts_as_the_number():
    class Depth(enum.IntEnum):
        FOUR = 4

    class Float(float):  # as numpy.float64 is one
        def __repr__(self):
            return f"Float({float(self)})"

    assert run_key({"x": Depth.FOUR, "y": Float(0.1)}) == run_key({"x": 4, "y": 0.1})


def test_a_value_that_json_cannot_carry_is_refused_by_its_place():
    for number in (math.nan, math.inf, -math.inf):
        with pytest.raises(ValueError, match=re.escape("identity['arm'][1] is ")):
            run_key({"arm": [0.1, number]})
    with pytest.raises(TypeError, match=re.escape("identity['arm'] is a set; give")):
        run_key({"arm": {1, 2}})
    with pytest.raises(TypeError, match=re.escape("identity['weights'] has the key 1; keys must")):
        run_key({"weights": {1: 0.7}})
    with pytest.raises(ValueError, match="is no Unicode text"):
        run_key({"name": "\ud83d\ude00"})  # two halves: JSON would write them like the whole
