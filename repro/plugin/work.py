"""Opens what a session trains with, as its options say: a store and a backend."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from repro.backends.choose import backend_named
from repro.judge import simulated
from repro.plugin.command_line import option
from repro.plugin.options import store_folder
from repro.plugin.slurm import slurm_settings
from repro.runs.work import Work
from repro.store import Store, keep_simulated, read_simulated
from repro.store.errors import warn


def open_store(config: pytest.Config, *, report: Callable[[str], None] = warn) -> Store:
    """Open the store that the command line, the environment or the project names."""
    return Store(store_folder(config), report=report)


def open_work(config: pytest.Config, *, trains: bool, report: Callable[[str], None]) -> Work:
    """Return the work of a session that `trains`, or else reads what is stored."""
    store = open_store(config, report=report)
    backend = backend_named(
        option(config, "executor") if trains else "local",
        store,
        device=option(config, "device") if trains else "cpu",  # to look for one imports torch
        processes=int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")),
        project=_project(config),
        same_machine=option(config, "same-machine"),
        session=os.environ.get("PYTEST_XDIST_TESTRUNUID"),
        slurm=slurm_settings(config),
    )
    return Work(
        store,
        backend,
        engine=option(config, "engine"),
        project=_project(config),
        same_machine=option(config, "same-machine"),
    )


def _project(config: pytest.Config) -> Path:
    """Return the project's folder; `rootpath` may be one above, where a store lies elsewhere."""
    return config.inipath.parent if config.inipath else config.invocation_params.dir


def learn_simulated(store: Store) -> None:
    """Let the judge know the numbers that earlier sessions with a store simulated."""
    simulated.learn(read_simulated(store.root, version=simulated.version()))


def leave_simulated(store: Store) -> None:
    """Leave the numbers that the judge simulated to later sessions with a store."""
    keep_simulated(store.root, simulated.told(), version=simulated.version())
