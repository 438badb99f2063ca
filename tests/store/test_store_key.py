from __future__ import annotations

import enum
import json
import math
import re

import pytest
from hypothesis import given, settings
from store_strategies import EASILY_CONFUSED, MAPPINGS

from repro.store.key import run_key


def test_the_key_is_the_sha256_of_canonical_json() -> None:
    # `sha256sum` of {"a":"µ","b":[1,0.1]}. Another canonical form would orphan every store.
    assert run_key({"b": (1, 0.1), "a": "µ"}) == (
        "6c2b73a1d9d6c07d98fa32bb176d3863567614f92e596fbbdbf54df2a11a0a9f"
    )


@given(MAPPINGS)
def test_the_order_of_keys_does_not_count(identity: dict[str, object]) -> None:
    assert run_key(dict(reversed(identity.items()))) == run_key(identity)


@given(MAPPINGS)
def test_a_json_round_trip_keeps_the_key(identity: dict[str, object]) -> None:
    assert run_key(json.loads(json.dumps(identity))) == run_key(identity)


def exactly(value: object) -> object:
    """Tell apart all values that JSON tells apart, also 1, 1.0 and True, equal in Python."""
    if isinstance(value, dict):
        return frozenset((key, exactly(item)) for key, item in value.items())
    if isinstance(value, list):
        return tuple(map(exactly, value))
    return repr(value)


@settings(max_examples=300)
@given(EASILY_CONFUSED | MAPPINGS, EASILY_CONFUSED | MAPPINGS)
def test_keys_are_equal_exactly_where_identities_are(
    one: dict[str, object], other: dict[str, object]
) -> None:
    assert (run_key(one) == run_key(other)) == (exactly(one) == exactly(other))


def test_tuples_and_lists_are_alike() -> None:
    assert run_key({"layers": (1, (2, 3))}) == run_key({"layers": [1, [2, 3]]})


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, 1.0), (1, True), (0, False), (0.0, -0.0), (1, "1"), (None, "null"), ([], {}), ("", None)],
)
def test_values_that_may_train_differently_have_different_keys(one: object, other: object) -> None:
    assert run_key({"x": one}) != run_key({"x": other})
    assert run_key({"x": [one]}) != run_key({"x": [other]})


def test_floats_count_to_the_last_bit() -> None:
    assert run_key({"lr": 0.1}) != run_key({"lr": math.nextafter(0.1, 1)})


def test_a_subclass_of_a_number_counts_as_the_number() -> None:
    class Depth(enum.IntEnum):
        FOUR = 4

    class Float(float):  # as numpy.float64 is one
        def __repr__(self) -> str:
            return f"Float({float(self)})"

    assert run_key({"x": Depth.FOUR, "y": Float(0.1)}) == run_key({"x": 4, "y": 0.1})


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_no_number_is_refused_by_its_place(number: float) -> None:
    with pytest.raises(ValueError, match=re.escape("identity['arm'][1] is ")) as caught:
        run_key({"arm": [0.1, number]})
    assert "\n" not in str(caught.value)


def test_a_value_that_json_cannot_carry_is_refused_by_its_place() -> None:
    with pytest.raises(TypeError, match=re.escape("identity['arm'] is a set; give")):
        run_key({"arm": {1, 2}})
    with pytest.raises(TypeError, match=re.escape("identity['weights'] has the key 1; keys must")):
        run_key({"weights": {1: 0.7}})
    with pytest.raises(ValueError, match="is no Unicode text"):
        run_key({"name": "\ud83d\ude00"})  # two halves: JSON would write them like the whole
