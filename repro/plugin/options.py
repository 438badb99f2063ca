"""The options of the plugin on pytest's command line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

DEFAULT_STORE = ".repro"


def add_options(parser: pytest.Parser) -> None:
    """Add the options of the plugin to pytest's."""
    group = parser.getgroup("repro", "claims as tests")
    group.addoption("--profile", default="ci", help="how large: ci (default) or paper")
    group.addoption("--plan", action="store_true", help="show what would be trained, and stop")
    group.addoption("--device", default="auto", help="auto (default), cpu, cuda or mps")
    group.addoption("--engine", default="auto", help="auto (default), loop or stacked")
    group.addoption(
        "--executor", default="local", help="local (default), ray (at RAY_ADDRESS) or ray://…"
    )
    group.addoption(
        "--same-machine", action="store_true", help="use no result that another machine trained"
    )
    group.addoption("--store", metavar="DIR", help="where results are kept (also REPRO_STORE)")
    group.addoption("--seed-budget", type=int, metavar="N", help="seeds an arm may use at most")
    group.addoption(
        "--gate", action="store_true", help="leave out what the ledger says does not hold"
    )
    group.addoption("--update-ledger", action="store_true", help="accept the verdicts as they are")
    group.addoption("--require-verdict", action="store_true", help="fail claims that cannot run")
    group.addoption("--report", metavar="DIR", help="write a page, figures and data to DIR")


def store_folder(config: pytest.Config) -> Path:
    """Return the folder in which the command line, the environment or the project keeps results."""
    named = config.getoption("store") or os.environ.get("REPRO_STORE")
    return Path(named or config.rootpath / DEFAULT_STORE)
