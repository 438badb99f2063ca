"""JSON values for hypothesis, shared by the tests of the store."""

from __future__ import annotations

from hypothesis import strategies as st

NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)
MAPPINGS = st.dictionaries(st.text(max_size=8), JSON, max_size=4)

_ALIKE: list[object] = [0, 0.0, -0.0, False, None, "0", "", [], [0], {}]
EASILY_CONFUSED = st.dictionaries(st.sampled_from(["a", "b"]), st.sampled_from(_ALIKE))
