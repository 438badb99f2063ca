"""The results of a session, and the runs behind them; nothing is trained."""

import copy

import pytest

from repro.report.results_file import results_of
from repro.store import Store
from tests.report.records import depth_ladder, every_kind, store_runs


@pytest.fixture(scope="session")
def claims():
    """Claims of every kind."""
    return every_kind()


@pytest.fixture(scope="session")
def shared_results(claims):
    """The claims and a figure, not to be changed."""
    return results_of(claims, [depth_ladder()])


@pytest.fixture
def results(shared_results):
    """The claims and a figure, for a test to change."""
    return copy.deepcopy(shared_results)


@pytest.fixture(scope="session")
def store(tmp_path_factory):
    """The runs behind the claims."""
    runs = Store(tmp_path_factory.mktemp("store"))
    for trained in range(4):
        store_runs(runs, trained, range(1, 13))
    return runs
