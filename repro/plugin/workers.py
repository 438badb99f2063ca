"""Sessions with pytest-xdist: `pytest -n 4`.

- **Claims alone**: no workers are started. This process reads and judges all claims, and `-n` is
  the number of trainers.
- **Claims and other tests**: xdist spreads all tests, as ever. Each worker is a session of its own
  with one trainer; the locks of the store keep workers from training a run twice.
- **No claims**: xdist's own session.

Verdicts reach the controller with pytest's own reports. A worker tells it all else when it ends:
which claims it has collected, and its account.
"""

from __future__ import annotations

import ast
import fnmatch
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from repro.plugin.command_line import option
from repro.plugin.options import path_named

NAME = "repro-workers"
"""The name of `Workers` among pytest's plugins."""

PROFILE = "repro-profile"
"""The key of the session's profile in what the controller sends to its workers."""

TRAINERS = pytest.StashKey[int]()
"""The number of trainers that `-n` names, where no workers are started."""


def start_no_workers_for_claims(config: pytest.Config) -> None:
    """Turn the workers of `-n` into trainers, if pytest will collect claims and no other tests."""
    is_usual = config.getoption("numprocesses", None) and config.getoption("dist") == "load"
    if is_usual and is_of_claims_alone(config):
        config.stash[TRAINERS] = len(config.option.tx)
        config.option.numprocesses, config.option.dist, config.option.tx = None, "no", []


def is_of_claims_alone(config: pytest.Config) -> bool:
    """Return whether the files that the command names have claims and figures, and no other tests.

    It reads their source until it finds another test. What it cannot read counts as one.
    """
    selects_claims = config.option.markexpr == "claim"
    has_claims = False
    for is_claim in _kinds_of_tests(config):
        if not (is_claim or selects_claims):
            return False
        has_claims |= is_claim
    return has_claims and not config.getoption("doctestmodules", False)


def _kinds_of_tests(config: pytest.Config) -> Iterator[bool]:
    """Yield for each test that the command names whether it is a claim or a figure."""
    for argument in config.args:
        path, (_, *inside) = path_named(config, argument), argument.split("::")
        name = inside[0].partition("[")[0] if inside else ""
        for file in _test_files(config, path) if path.is_dir() else [path]:
            yield from _kinds_in(config, file, name)


def _test_files(config: pytest.Config, folder: Path) -> Iterator[Path]:
    """Yield the files of tests below a folder that pytest does not ignore."""

    def is_ignored(path: Path) -> bool:
        return bool(config.hook.pytest_ignore_collect(collection_path=path, config=config))

    patterns = config.getini("python_files")
    for place, below, files in os.walk(folder):
        below[:] = sorted(name for name in below if not is_ignored(Path(place, name)))
        for name in sorted(files):
            is_named = any(fnmatch.fnmatch(name, pattern) for pattern in patterns)
            if is_named and not is_ignored(Path(place, name)):
                yield Path(place, name)


def _kinds_in(config: pytest.Config, file: Path, only: str) -> Iterator[bool]:
    """Yield for each test in a file, or in a test or class of it, whether it is a claim."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):  # pytest's error says more
        yield False
        return
    prefixes = ("test", *config.getini("python_functions"))
    named = [node for node in tree.body if not only or getattr(node, "name", only) == only]
    for node in (each for top in named for each in ast.walk(top)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if any(node.name.startswith(x) or fnmatch.fnmatch(node.name, x) for x in prefixes):
                yield any(map(_is_mark, node.decorator_list))
        elif isinstance(node, ast.ImportFrom):
            yield from (False for alias in node.names if alias.name.startswith(prefixes))


def _is_mark(decorator: ast.expr) -> bool:
    """Return whether a decorator is `claim(...)` or `figure(...)`, by any way to name them."""
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return name in ("claim", "figure")


def has_workers(config: pytest.Config) -> bool:
    """Return whether xdist starts workers."""
    asked = config.getoption("dist", "no") != "no" and config.getoption("tx", None)
    return bool(asked) and not config.getoption("collectonly")


def is_worker(config: pytest.Config) -> bool:
    """Return whether this process is a worker of xdist."""
    return hasattr(config, "workerinput")


def trainers_of(config: pytest.Config) -> int | None:
    """Return the number of trainers that `-n` names; None for one per core.

    With `-n 0` there is one, as in a worker of xdist.
    """
    if is_worker(config) or config.getoption("numprocesses", None) == 0:
        return 1
    return config.stash.get(TRAINERS, None)


def trains_here(config: pytest.Config) -> bool:
    """Return whether this process trains: with -s or a debugger, or with -n 0 under coverage."""
    return is_debugged(config) or (config.getoption("numprocesses", None) == 0 and _is_traced())


def is_debugged(config: pytest.Config) -> bool:
    """Return whether the user wants to see the output of training, or to debug it: -s, --pdb."""
    given = config.getoption
    return bool(given("usepdb") or given("trace") or given("capture") == "no")


def _is_traced() -> bool:
    """Return whether a debugger or coverage follows this process."""
    found: Any = getattr(sys, "monitoring", None)  # from Python 3.12 on
    tools = (found.DEBUGGER_ID, found.COVERAGE_ID) if found else ()
    return sys.gettrace() is not None or any(found.get_tool(tool) for tool in tools)


def keeps_order(config: pytest.Config) -> bool:
    """Return whether the command line puts tests into an order by their last results."""
    return any(config.getoption(name, False) for name in ("stepwise", "failedfirst", "newfirst"))


# What workers and their controller tell each other


def end_session(config: pytest.Config, why: object) -> NoReturn:
    """End the session with a sentence; a worker leaves it to the controller, which can show it."""
    if is_worker(config):
        tell(config, "ended", str(why))
    pytest.exit(str(why), pytest.ExitCode.INTERRUPTED)


def tell(worker: pytest.Config, name: str, content: object) -> None:
    """Have a worker of xdist tell its controller something when it ends.

    `seen` has the claims that `Collected` has noted, `account` the work of a worker, and `ended`
    the sentence with which it ends the session.
    """
    worker.workeroutput[_named(name)] = json.dumps(content)  # type: ignore[attr-defined]


def _named(name: str) -> str:
    return f"repro-{name}"


def of(config: pytest.Config) -> Workers | None:
    """Return the `Workers` of the controller; None without xdist."""
    found: Workers | None = config.pluginmanager.getplugin(NAME)
    return found


class Workers:
    """The workers of a session, in the controller; a plugin of pytest."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._told: dict[str, list[Any]] = {}
        self._crashed: dict[str, pytest.TestReport] = {}
        """The reports of tests that crashed their worker, by node id."""

    def told(self, name: str) -> list[Any]:
        """Return what the workers have told by this name, those that did not crash."""
        return self._told.get(name, [])

    def pytest_configure_node(self, node: Any) -> None:
        """Tell a new worker the profile of the session."""
        node.workerinput[PROFILE] = option(self._config, "profile")

    def pytest_testnodedown(self, node: Any) -> None:
        """Listen to a worker that ends; end the session if the worker could not go on."""
        output = getattr(node, "workeroutput", {})
        for name in ("seen", "account", "ended"):
            if _named(name) in output:
                self._told.setdefault(name, []).append(json.loads(output[_named(name)]))
        for why in self.told("ended"):
            pytest.exit(why, pytest.ExitCode.INTERRUPTED)

    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport) -> None:
        self._crashed[crashitem] = report

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Let a claim that crashed its worker be among the failures at the session's end."""
        from repro.report.lines import ERROR, PROPERTY, ClaimLine

        claims = {nodeid for seen in self.told("seen") for nodeid, *_ in seen[0]}
        for nodeid in claims & self._crashed.keys():
            report = self._crashed[nodeid]
            line = ClaimLine(name=nodeid, verdict=ERROR, measured=report.longreprtext, fails=True)
            report.user_properties = [(PROPERTY, line.as_json())]
