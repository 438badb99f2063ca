"""Tests that need more than is here are skipped, and counted in one line."""

import os
import re

import pytest
from hypothesis import HealthCheck, settings

from tests.oracles import NOT_INSTALLED

# The same few examples every time; `--hypothesis-profile=many` draws many new ones.
SHARED = {"deadline": None, "suppress_health_check": list(HealthCheck)}
settings.register_profile("few", max_examples=10, derandomize=True, database=None, **SHARED)
settings.register_profile("many", max_examples=200, derandomize=False, **SHARED)
settings.load_profile("few")

LACKING = re.compile(rf"(?:{NOT_INSTALLED}|could not import ')(\w+)")
NO_DATA = "needs the real data sets, in the folder that REPRO_DATA names"


@pytest.fixture(autouse=True)
def without_waiting_for_the_disk(monkeypatch):
    """Skips `fsync` in this process: the test about power cuts counts the calls."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def pytest_collection_modifyitems(items):
    if os.environ.get("REPRO_DATA"):
        return
    for item in items:
        if item.get_closest_marker("real_data"):
            item.add_marker(pytest.mark.skip(reason=NO_DATA))


def pytest_terminal_summary(terminalreporter):
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = [report.longrepr[2].removeprefix("Skipped: ") for report in skipped]
    lacking = [found[1] for found in map(LACKING.match, reasons) if found]
    said = []
    if NO_DATA in reasons:
        said.append(f"{reasons.count(NO_DATA)} need the real data sets (set REPRO_DATA)")
    if lacking:
        names = ", ".join(sorted(set(lacking)))
        said.append(f"{len(lacking)} need {names} (make development)")
    if said:
        terminalreporter.write_line(f"skipped: {'; '.join(said)}")
