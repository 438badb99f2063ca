"""Libraries that tests compare with; a test is skipped where one of them is not installed."""

import pytest

NOT_INSTALLED = "not installed: "


def oracle(name):
    """Return a library, or skip the test; conftest.py counts those tests in one line."""
    package = name.partition(".")[0]
    return pytest.importorskip(name, reason=f"{NOT_INSTALLED}{package}")
