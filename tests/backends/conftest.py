"""What the tests of backends share: pools, with slots that no other session has."""

import pytest

from repro.backends.local import InProcessPool, ProcessPool
from repro.backends.places import Places
from repro.store import Store
from tests.local_work import PROJECT, StoringPool


@pytest.fixture
def here(tmp_path):
    """A pool that trains in this process."""
    pool = InProcessPool(Store(tmp_path, report=pytest.fail), device="cpu", project=PROJECT)
    yield pool
    pool.stop()


@pytest.fixture
def storing(tmp_path):
    """A pool that trains in this process, and stores as trainers do."""
    return StoringPool(Store(tmp_path, report=pytest.fail), device="cpu", project=PROJECT)


@pytest.fixture
def pool(tmp_path):
    """A pool of two processes."""
    pool = ProcessPool(Store(tmp_path), device="cpu", trainers=2, project=PROJECT)
    pool._places = Places(["0", "1"])
    yield pool
    pool.stop()
