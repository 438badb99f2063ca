"""Fixtures of the store's tests."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import repro.store
from repro.store import Store

SOURCE = Path(repro.store.__file__).parents[2]


@pytest.fixture
def reports():
    """The lines the store has reported."""
    return []


@pytest.fixture
def store(tmp_path, reports):
    return Store(tmp_path / "store", report=reports.append)


@pytest.fixture
def python():
    """Starts a process that runs some Python; none outlives the test."""
    started = []

    def start(code, *arguments):
        process = subprocess.Popen(
            [sys.executable, "-c", code, *map(str, arguments)],
            env={**os.environ, "PYTHONPATH": str(SOURCE)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()
