"""The mark of tests that need the real data sets."""

import os

import pytest

needs_data = pytest.mark.skipif(
    not os.environ.get("REPRO_DATA"), reason="needs the real sets in REPRO_DATA"
)
