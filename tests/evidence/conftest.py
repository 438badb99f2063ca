"""Projects whose results are packed: those of the plugin's tests, and what they say."""

import concurrent.futures.process  # noqa: F401 - else each session in this process imports another
import sys

import pytest

from tests.plugin.conftest import outside_project, project  # noqa: F401
from tests.plugin.sessions import run


@pytest.fixture
def trained(outside_project, forgets_the_study):  # noqa: F811
    """A project whose claims were trained and judged, with a ledger of its verdicts."""
    run(outside_project, "--update-ledger").assert_outcomes(passed=2, skipped=1, xfailed=1)
    return outside_project


@pytest.fixture
def forgets_the_study():
    """Commands that are run in this process import the project's modules; the next has its own."""
    yield
    for name in ("line", "test_lines"):
        sys.modules.pop(name, None)
