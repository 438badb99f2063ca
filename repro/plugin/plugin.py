"""The hooks and fixtures of the plugin, in the order in which pytest comes to them."""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import repro
from repro.arm import Arm
from repro.exits import exit_refused
from repro.imports import import_whole
from repro.plugin import collected, completeness, levels, workers
from repro.plugin.claims import name_or_none, select_by_name, show_sentences
from repro.plugin.command_line import add_options, completed_arguments, option, set_option
from repro.plugin.completeness import OUTCOME, Completeness
from repro.plugin.display import display_of
from repro.plugin.options import check_options, require_by_hand, store_folder
from repro.report.lines import PROPERTY
from repro.store import has_stored_runs
from repro.text import said_in_full, shown, shown_lines

if TYPE_CHECKING:
    from collections.abc import Generator

    from repro.document import Document
    from repro.plugin.plot import Plot
    from repro.plugin.session import ClaimSession
    from repro.plugin.trials import Trials

MARKERS = (
    "claim(sentence, *, source, documented='', kind='source', only_at=None, looks=None, after=0): a"
    " sentence of a write-up that the test states; written @claim(...), from repro",
    "figure(title, *, source, x, y): a figure of a write-up, drawn with --report; written"
    " @figure(...), from repro.marks",
)

SESSION = pytest.StashKey[Any]()  # a ClaimSession; its module is imported only if there are claims

INSTEAD = pytest.StashKey[Callable[[Any], object]]()
"""A function that takes the ClaimSession, and is called instead of the tests."""

PLAN_TEXT = pytest.StashKey[str]()

_OURS = Path(__file__).parents[1]


# The command line


def pytest_addoption(parser: pytest.Parser) -> None:
    add_options(parser)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> Generator[None, Any, Any]:
    with completed_arguments(early_config, parser, args), exit_refused(), _leaving_refused():
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, Any, Any]:
    config.add_cleanup(gc.unfreeze)  # for a process that goes on after pytest
    if not hasattr(config, "workerinput"):
        require_by_hand(config)
    if option(config, "plan") or INSTEAD in config.stash:  # no test runs, so no workers
        config.option.numprocesses = 0
        config.option.dist = "no"
    with exit_refused(), _leaving_refused():
        code = yield
    if code == pytest.ExitCode.OK and not hasattr(config, "workerinput"):
        completeness.require_end(config)
    return code


@contextmanager
def _leaving_refused() -> Iterator[None]:
    """Raise UsageError where something calls `sys.exit`, which would end pytest with its code."""
    try:
        yield
    except SystemExit as left:
        raise pytest.UsageError(f"A conftest.py calls sys.exit({left.code}).") from left


@pytest.hookimpl(trylast=True)  # the display needs pytest's terminal
def pytest_configure(config: pytest.Config) -> None:
    for line in MARKERS:
        config.addinivalue_line("markers", line)
    config.pluginmanager.register(_Running())
    if hasattr(config, "workerinput"):  # a worker of xdist: its controller has chosen the profile
        set_option(config, "profile", config.workerinput[workers.PROFILE])
    else:
        check_options(config)
        if config.getoption("dist", "no") != "no" and config.getoption("tx", None):
            config.pluginmanager.register(workers.Workers(config), workers.NAME)
    seen = collected.Collected(config)
    config.pluginmanager.register(seen, collected.NAME)
    config.pluginmanager.register(Completeness(config, seen), completeness.NAME)
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(levels.Levels(config), levels.NAME)


def pytest_report_header() -> str | None:
    """Say which repro runs, if it is a checkout; pytest itself names an installed one."""
    is_installed = _OURS.parent.name in ("site-packages", "dist-packages")
    return None if is_installed else f"repro {repro.__version__} from {_OURS.parent}"


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    display_of(session.config)  # there is a terminal by now, and nobody has reported yet


# Which tests there are


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Ignore the session's store and any other folder of runs: they may hold millions of files."""
    is_store = collection_path == store_folder(config).absolute()
    return True if is_store or has_stored_runs(collection_path) else None


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name a case by its arms, not by its index: swapped arms would swap their verdicts."""
    arms = [val] if isinstance(val, Arm) else val if isinstance(val, list | tuple) else []
    is_of_arms = bool(arms) and all(isinstance(arm, Arm) for arm in arms)
    return " / ".join(shown(arm.label) for arm in arms) if is_of_arms else None


def pytest_itemcollected(item: pytest.Item) -> None:
    name = name_or_none(item) if item.config.option.keyword else None
    if name is not None:  # so that -k matches parts of it
        item.extra_keyword_matches.add(name)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    select_by_name(config, items)
    figures = [item for item in items if item.get_closest_marker("figure")]
    if figures and not (option(config, "report") or INSTEAD in config.stash):
        config.hook.pytest_deselected(items=figures)
        items[:] = [item for item in items if item not in figures]
    items.sort(key=_takes_results)  # tests without training come first
    if config.getoption("collectonly") and config.get_verbosity() > 0:
        show_sentences(items)


@pytest.hookimpl(tryfirst=True)  # before xdist tells its controller that a worker has collected
def pytest_collection_finish(session: pytest.Session) -> None:
    if (notes := workers.notes_of(session.config)) is not None:
        marked = [item.nodeid for item in session.items if _takes_results(item)]
        notes.leave("claims", marked)


def _takes_results(item: pytest.Item) -> bool:
    """Tell whether a test is a claim or a figure."""
    return any(map(item.get_closest_marker, ("claim", "figure")))


# Running them


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run a plan, or a command, instead of the tests."""
    config = session.config
    instead = config.stash.get(INSTEAD, _describe_plan if option(config, "plan") else None)
    claims = claim_session(session) if instead and not session.testsfailed else None
    if instead and claims is not None:
        instead(claims)
    return True if claims is not None or INSTEAD in config.stash else None


def _describe_plan(claims: ClaimSession) -> None:
    from repro.plugin.summary import describe_plan

    claims.config.stash[PLAN_TEXT] = describe_plan(claims)
    claims.session.testsfailed += len(claims.unreadable) + len(claims.refused)


def claim_session(session: pytest.Session) -> ClaimSession | None:
    """Return the session of the claims, made when the first claim is due; None without claims.

    So a worker of xdist without claims makes no session and imports nothing for it.
    """
    config = session.config
    if SESSION in config.stash:
        known: ClaimSession = config.stash[SESSION]
        return known
    marked = [item for item in session.items if _takes_results(item)]
    if not marked or config.getoption("collectonly"):
        return None
    if (notes := workers.notes_of(config)) is not None:  # this worker may replace a crashed one
        done = set(notes.left("done"))
        marked = [item for item in marked if item.nodeid not in done]
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is imported
    import_whole("repro.plugin.session")
    from repro.plugin.session import ClaimSession

    config.stash[SESSION] = claims = ClaimSession.of(session, marked)
    gc.freeze()  # thousands of claims stay in memory: the garbage collector should skip them
    return claims


class _Running:
    """Runs claims in their turn; a plugin that is registered last, so that it comes first."""

    _place: pytest.Item | None = None
    """The last test at whose place a test was run."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)  # outside of other plugins' time limits
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, Any, Any]:
        is_due = any(each is not None and _takes_results(each) for each in (item, nextitem))
        is_only_set_up = item.config.getoption("setupplan") or item.config.getoption("setuponly")
        claims = claim_session(item.session) if is_due else None
        if claims is not None and not is_only_set_up and claims.turns.are_due(item, nextitem):
            self._place = item
            claims.turns.run(item, nextitem, without=self)
        return (yield)

    @pytest.hookimpl(specname="pytest_runtest_protocol", tryfirst=True)
    def pytest_runtest_protocol_again(self, item: pytest.Item) -> bool | None:
        """Keep pytest from running a test at whose place one was run."""
        return True if item is self._place else None


@contextmanager
def _staying(item: pytest.Item) -> Iterator[None]:
    """Fail a claim that calls `pytest.exit` within the block, since its exit code could be 0.

    If repro itself ends pytest, as interrupted, pytest ends.
    """
    try:
        yield
    except pytest.exit.Exception as left:
        is_ours = left.returncode == pytest.ExitCode.INTERRUPTED
        if is_ours or not item.get_closest_marker("claim"):
            raise
        why = f"The claim called pytest.exit ({left.msg}): a claim must not end the session."
        raise pytest.fail.Exception(shown_lines(why), pytrace=False) from None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    claims = item.config.stash.get(SESSION, None)
    if claims is not None and item in claims.refused:
        pytest.fail(shown_lines(claims.refused[item]), pytrace=False)
    with _staying(item):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    with _staying(item):
        return (yield)


def _session_of(request: pytest.FixtureRequest, marker: str) -> ClaimSession:
    """Return the session of a test that takes a fixture; the test must have a marker."""
    claims: ClaimSession | None = request.config.stash.get(SESSION, None)
    if claims is None or not request.node.get_closest_marker(marker):
        raise pytest.UsageError(
            f"The {request.fixturename} fixture is for tests marked with @{marker}(...)."
        )
    return claims


@pytest.fixture(name="trials")  # a function of this name would hide the module
def trials_fixture(request: pytest.FixtureRequest) -> Trials:
    """Return trials of arms; their metrics can be compared, and are trained if need be."""
    return _session_of(request, "claim").trials_for(request.node)


@pytest.fixture
def document(request: pytest.FixtureRequest) -> Document:
    """Compare numbers that a source prints with each other; nothing is trained."""
    if "trials" in request.fixturenames:
        raise pytest.UsageError("A claim takes trials or document, not both: make two claims.")
    return _session_of(request, "claim").document_of(request.node)


@pytest.fixture(name="plot")
def plot_fixture(request: pytest.FixtureRequest) -> Generator[Plot]:
    """Define the panels and lines of a figure; it is drawn from the results in the store."""
    plot = _session_of(request, "figure").plot_of(request.node)
    yield plot
    request.node.user_properties.append(("repro.figure", json.dumps(plot.figure)))


# Reports


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    claims: ClaimSession | None = item.config.stash.get(SESSION, None)
    if claims is None or not item.get_closest_marker("claim"):
        report = yield
    elif item in claims.refused:
        report = yield
        claims.gate.announce_error(item, None, report)
    else:
        report = yield from _judged_report(claims, item, call)
    if call.when != "teardown" and _takes_results(item):  # shows whether a hook changes it later
        report.user_properties.append((OUTCOME, report.outcome))
    return report


def _judged_report(
    claims: ClaimSession, item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Make a verdict of the report that pytest makes of a claim's test."""
    from repro.plugin.verdict import shorten

    if call.when == "call":
        shorten(item, call)
    report = yield
    try:
        if call.when == "call":
            claims.judge(item, call, report)
        elif call.excinfo is not None:  # of a fixture
            claims.gate.announce_error(item, call.excinfo.value, report)
        claims.gate.require_judged(item, report)
    except Exception as error:  # an error in a hook would end pytest before the other claims
        from repro.plugin.gate import fail

        fail(report, f"This claim could not be judged: {shown_lines(said_in_full(error))}")
        claims.gate.announce_error(item, error, report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_report_teststatus(
    report: pytest.CollectReport | pytest.TestReport, config: pytest.Config
) -> Generator[None, Any, Any]:
    """Show no letter for a claim among the dots, since it has a line of its own."""
    status = yield
    is_announced = any(name == PROPERTY for name, _ in getattr(report, "user_properties", ()))
    return (status[0], "", status[2]) if is_announced and config.get_verbosity() == 0 else status


# The end


def pytest_sessionfinish(session: pytest.Session) -> None:
    claims: ClaimSession | None = session.config.stash.get(SESSION, None)
    if claims is None:
        return
    claims.close()
    if (notes := workers.notes_of(session.config)) is not None:
        from repro.plugin.summary import account_of

        notes.leave_account(account_of(claims))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> Generator[None, None, None]:
    """Write the summary of the claims, after pytest's own summary."""
    yield
    if hasattr(config, "workerinput"):
        return  # a worker of xdist: its records reach the controller
    if plan := config.stash.get(PLAN_TEXT, None):
        terminalreporter.write_line(plan)
        return
    records = _carried(terminalreporter, "repro.record")
    figures = _carried(terminalreporter, "repro.figure")
    if not figures and not _carried(terminalreporter, PROPERTY):
        return
    import_whole("repro.plugin.summary")
    from repro.plugin.summary import account_of, summarise

    own, of_workers = config.stash.get(SESSION, None), workers.of(config)
    accounts = of_workers.notes.accounts() if of_workers else [account_of(own)] if own else []
    summarise(terminalreporter, config, records, figures, accounts)


def _carried(terminalreporter: pytest.TerminalReporter, name: str) -> list[Any]:
    """Return the properties of this name that tests attached to their reports, as JSON data."""
    reports = (report for group in terminalreporter.stats.values() for report in group)
    properties = (getattr(report, "user_properties", ()) for report in reports)
    texts = (value for each in properties for key, value in each if key == name)
    return [json.loads(text) for text in dict.fromkeys(texts)]
