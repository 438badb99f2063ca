"""Projects whose results are packed: those of the plugin's tests, and what they say."""

import concurrent.futures.process  # noqa: F401 - else each session in this process imports another
import random
import sys

import pytest

from tests.evidence.packs import read_code_again
from tests.plugin.conftest import outside_project, project  # noqa: F401
from tests.plugin.sessions import run


@pytest.fixture(autouse=True)
def _code_is_read_again():
    read_code_again()


@pytest.fixture
def trained(outside_project):  # noqa: F811
    """A project whose claims were trained and judged, with a ledger of its verdicts."""
    run(outside_project, "--update-ledger").assert_outcomes(passed=2, skipped=1, xfailed=1)
    return outside_project


@pytest.fixture(autouse=True)
def forgets_the_study(monkeypatch):
    """Commands that are run in this process import the project's modules; the next has its own."""
    monkeypatch.setattr(random, "gauss", random.gauss)  # a project's conftest may replace it
    yield
    for name in ("line", "test_lines"):
        sys.modules.pop(name, None)
