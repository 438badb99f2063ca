"""Shares of the tests: a folder, and stores before it that stand for machines."""

import pytest

from repro.share import SharedStore
from repro.share.objects import Folder


@pytest.fixture
def objects(tmp_path):
    (tmp_path / "share").mkdir()
    return Folder(tmp_path / "share")


@pytest.fixture
def reports():
    return []


@pytest.fixture
def machine(tmp_path, objects, reports):
    """Open the store of a machine by its name."""
    stores = []

    def opened(name, behind=objects):
        stores.append(SharedStore(tmp_path / name, behind, report=reports.append))
        return stores[-1]

    yield opened
    for store in stores:
        store.close()
