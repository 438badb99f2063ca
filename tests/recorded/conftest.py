"""A project whose results exist already: a file of them, and claims about it."""

import os
import sys
from pathlib import Path

import pytest
from recorded_results import CLAIMS, table, write

import repro
import repro.plugin.session

# Once for all the sessions that run in this process; pytester takes away what they import.
import repro.report.write


@pytest.fixture
def lines():
    return table()


@pytest.fixture
def project(pytester, monkeypatch, lines):
    """Sessions on `results.csv`; `claims(paired=True)` writes the file of claims."""
    write(pytester, lines)
    pytester.makepyfile(test_results=CLAIMS.format(more=""))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setenv("REPRO_STORE", str(pytester.path / "store"))
    checkout = Path(repro.__file__).parents[1]
    monkeypatch.setenv("PYTHONPATH", f"{pytester.path}{os.pathsep}{checkout}")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_PLUGINS", "repro.plugin.plugin,xdist.plugin")
    return pytester
