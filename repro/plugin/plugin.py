"""The hooks, options and fixtures of the plugin."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from repro.plugin import completeness, crashed
from repro.plugin.completeness import Completeness, claims_among
from repro.plugin.crashed import Unstarted
from repro.plugin.options import add_options, check_options, store_folder
from repro.text import shown_lines

if TYPE_CHECKING:
    from collections.abc import Generator

    from repro.document import Document
    from repro.plugin.plot import Plot
    from repro.plugin.trials import Trials

SESSION = pytest.StashKey[Any]()  # a ClaimSession, whose module is imported when claims are there
PLAN_TEXT = pytest.StashKey[str]()
WORKER_ACCOUNTS = pytest.StashKey[list[Any]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "claim(sentence, source, documented): a documented claim")
    config.addinivalue_line("markers", "figure(title, source, x, y): a figure, for --report")
    if not hasattr(config, "workerinput"):
        check_options(config)
        config.pluginmanager.register(Completeness(), completeness.NAME)
        config.pluginmanager.register(Unstarted(), crashed.NAME)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    if config.getoption("plan"):  # nothing is trained, so there is nothing to share out
        config.option.numprocesses = 0
        config.option.dist = "no"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A store in the project is no place to look for tests, and may have a million folders."""
    return True if collection_path == store_folder(config).absolute() else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    figures = [item for item in items if item.get_closest_marker("figure")]
    if figures and not config.getoption("report"):
        config.hook.pytest_deselected(items=figures)
        items[:] = [item for item in items if item not in figures]


def pytest_collection_finish(session: pytest.Session) -> None:
    marked = [i for i in session.items if any(map(i.get_closest_marker, ("claim", "figure")))]
    if not marked or session.config.getoption("collectonly"):
        return
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is imported
    from repro.plugin.session import ClaimSession

    session.config.stash[SESSION] = ClaimSession.of(session.config, marked)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    claims = session.config.stash.get(SESSION, None)
    if claims is None or session.testsfailed:
        return None
    if session.config.getoption("plan"):
        session.config.stash[PLAN_TEXT] = claims.describe_plan()
        return True
    if not (session.config.getoption("setupplan") or session.config.getoption("setuponly")):
        claims.train()
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    claims = item.config.stash.get(SESSION, None)
    if claims is not None and item in claims.refused:
        pytest.fail(shown_lines(claims.refused[item]), pytrace=False)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """xdist, on the controller: a worker is about to start."""
    from repro.plugin.progress import NAME, display_of

    display = display_of(node.config)
    node.workerinput[NAME] = str(display.folder) if display else ""


@pytest.fixture(name="trials")  # named apart from the module, which would take its place
def trials_fixture(request: pytest.FixtureRequest) -> Trials:
    """Ask for arms; what comes back can be compared, and is trained if need be."""
    session = request.config.stash.get(SESSION, None)
    if session is None or not request.node.get_closest_marker("claim"):
        raise pytest.UsageError("The trials fixture is for tests marked with @claim(...).")
    trials: Trials = session.trials_of(request.node)
    return trials


@pytest.fixture
def document(request: pytest.FixtureRequest) -> Document:
    """Say what a source prints, and hold it against what else it prints; nothing is trained."""
    session = request.config.stash.get(SESSION, None)
    if session is None or not request.node.get_closest_marker("claim"):
        raise pytest.UsageError("The document fixture is for tests marked with @claim(...).")
    if "trials" in request.fixturenames:
        raise pytest.UsageError("A claim takes trials or document, not both: make two claims.")
    document: Document = session.document_of(request.node)
    return document


@pytest.fixture(name="plot")
def plot_fixture(request: pytest.FixtureRequest) -> Generator[Plot]:
    """Lay out panels and lines of arms; they are drawn from the store, as far as it goes."""
    session = request.config.stash.get(SESSION, None)
    if session is None or not request.node.get_closest_marker("figure"):
        raise pytest.UsageError("The plot fixture is for tests marked with @figure(...).")
    plot: Plot = session.plot_of(request.node)
    yield plot
    request.node.user_properties.append(("repro.figure", json.dumps(plot.figure)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    session = item.config.stash.get(SESSION, None)
    if not session or call.when != "call" or not item.get_closest_marker("claim"):
        return (yield)
    if session.says_all_of(call):
        # a verdict takes the traceback's place, whose sources would take longer to find
        item.repr_failure = lambda excinfo, style=None: ""  # type: ignore[method-assign]
    report = yield
    try:
        session.judge(item, call, report)
    except Exception as error:  # none may leave a hook: the others would not be judged
        report.outcome = "failed"
        why = shown_lines(f"{type(error).__name__}: {error}")
        report.longrepr = f"This claim could not be judged: {why}"
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    claims = session.config.stash.get(SESSION, None)
    output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        output[completeness.CLAIMS] = claims_among(session.items)
    if claims is not None and output is not None:
        output["repro"] = claims.account()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """xdist, on the controller: a worker has finished."""
    account = getattr(node, "workeroutput", {}).get("repro")
    if account:
        node.config.stash.setdefault(WORKER_ACCOUNTS, []).append(account)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if hasattr(config, "workerinput"):
        return  # xdist's workers have a terminal too; their records reach the controller
    if config.stash.get(PLAN_TEXT, None):
        terminalreporter.write_line(config.stash[PLAN_TEXT])
        return
    records = _carried(terminalreporter, "repro.record")
    figures = _carried(terminalreporter, "repro.figure")
    if not records and not figures:
        return
    from repro.plugin.summary import summarise

    own = config.stash.get(SESSION, None)
    accounts = config.stash.get(WORKER_ACCOUNTS, []) or ([own.account()] if own else [])
    summarise(terminalreporter, config, records, figures, accounts)


def _carried(terminalreporter: pytest.TerminalReporter, name: str) -> list[Any]:
    """Return what this session's tests attached to their reports, which also come from workers."""
    reports = (report for group in terminalreporter.stats.values() for report in group)
    properties = (getattr(report, "user_properties", ()) for report in reports)
    texts = (value for each in properties for key, value in each if key == name)
    return [json.loads(text) for text in dict.fromkeys(texts)]
