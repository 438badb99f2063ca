"""What the tests of backends share: keys without code, and slots that no other session has."""

import pytest

from repro.backends.local import InProcessPool, ProcessPool
from repro.backends.places import Places
from repro.store import Store


@pytest.fixture(autouse=True)
def _without_code(request, monkeypatch):
    on_cluster = any(map(request.node.get_closest_marker, ("cluster", "slurm")))
    if not on_cluster:  # a node finds the code by itself
        monkeypatch.setattr("repro.runs.identity._code", lambda types: "code")


@pytest.fixture
def here(tmp_path):
    """A pool that trains in this process."""
    pool = InProcessPool(Store(tmp_path, report=pytest.fail), device="cpu")
    yield pool
    pool.stop()


@pytest.fixture
def pool(tmp_path):
    """A pool of two processes."""
    pool = ProcessPool(Store(tmp_path), device="cpu", trainers=2)
    pool._places = Places(["0", "1"])
    yield pool
    pool.stop()
