"""The hooks and fixtures of the plugin, in the order in which pytest comes to them."""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import repro
from repro.exits import exit_refused
from repro.imports import import_whole
from repro.plugin import collected, workers
from repro.plugin.command_line import add_options, completed_arguments, option, set_option
from repro.plugin.options import check_options, require_from_command_line, store_folder
from repro.store import has_stored_runs
from repro.text import said_in_full, shown, shown_lines

if TYPE_CHECKING:
    from collections.abc import Generator

    from repro.document import Document
    from repro.plugin.plot import Plot
    from repro.plugin.session import ClaimSession
    from repro.plugin.trials import Trials

MARKERS = (
    "claim(sentence, *, source, documented='', kind='source', only_at=None, looks=None, after=0,"
    " level=None): a sentence of a write-up that the test states; written @claim(...), from repro",
    "figure(title, *, source, x, y): a figure of a write-up, drawn with --report; written"
    " @figure(...), from repro.marks",
)

INSTEAD = pytest.StashKey[Callable[[Any], object]]()
"""A function that takes the ClaimSession, and is called instead of the tests."""

MARKED = pytest.StashKey[Sequence[pytest.Item]]()
"""The claims and figures that this process has collected, if there are any."""

SESSION = pytest.StashKey["ClaimSession"]()
"""The session of these claims, once it is needed."""

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
    gc.unfreeze()  # what an earlier session of this process has left, see `_keeping`
    if not workers.is_worker(config):
        require_from_command_line(config)
    if option(config, "plan") or INSTEAD in config.stash:  # no test runs, so no workers
        config.option.numprocesses = 0
        config.option.dist = "no"
    with exit_refused(), _leaving_refused():
        code = yield
    if code == pytest.ExitCode.OK and not workers.is_worker(config):
        from repro.plugin.completeness import require_end

        require_end(config)
    return code


@contextmanager
def _leaving_refused() -> Iterator[None]:
    """Raise UsageError where something calls `sys.exit`, which would end pytest with its code."""
    try:
        yield
    except SystemExit as left:
        raise pytest.UsageError(f"A conftest.py calls sys.exit({left.code}).") from left


def pytest_configure(config: pytest.Config) -> None:
    for line in MARKERS:
        config.addinivalue_line("markers", line)
    seen = collected.Collected(config)
    config.pluginmanager.register(seen, collected.NAME)
    if workers.is_worker(config):  # its controller has chosen the profile
        set_option(config, "profile", config.workerinput[workers.PROFILE])  # type: ignore[attr-defined]
        return
    from repro.plugin import completeness

    check_options(config)
    workers.start_no_workers_for_claims(config)
    if workers.has_workers(config):
        config.pluginmanager.register(workers.Workers(config), workers.NAME)
    config.pluginmanager.register(completeness.Completeness(config, seen), completeness.NAME)


def read_reports(config: pytest.Config) -> None:
    """Register what reads the reports of claims: this process runs some, or its workers may."""
    from repro.plugin import display, levels

    display.display_of(config)
    config.pluginmanager.register(levels.Levels(config), levels.NAME)


def pytest_report_header() -> str | None:
    """Say which repro runs, if it is a checkout; pytest itself names an installed one."""
    is_installed = _OURS.parent.name in ("site-packages", "dist-packages")
    return None if is_installed else f"repro {repro.__version__} from {_OURS.parent}"


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    if workers.of(session.config) is not None:  # there is a terminal by now
        read_reports(session.config)


# Which tests there are


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Ignore the session's store and any other folder of runs: they may hold millions of files."""
    is_store = collection_path == store_folder(config).absolute()
    return True if is_store or has_stored_runs(collection_path) else None


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name a case by its arms, not by its index: swapped arms would swap their verdicts."""
    if "repro.arm" not in sys.modules:  # so it is no arm
        return None
    from repro.arm import Arm

    arms = [val] if isinstance(val, Arm) else val if isinstance(val, list | tuple) else []
    is_of_arms = bool(arms) and all(isinstance(arm, Arm) for arm in arms)
    return " / ".join(shown(arm.label) for arm in arms) if is_of_arms else None


def takes_results(item: pytest.Item) -> bool:
    """Tell whether a test is a claim or a figure."""
    return any(mark.name in ("claim", "figure") for mark in item.iter_markers())


def pytest_itemcollected(item: pytest.Item) -> None:
    if item.config.option.keyword and takes_results(item):
        from repro.plugin.claims import name_or_none

        if name := name_or_none(item):  # so that -k matches parts of it
            item.extra_keyword_matches.add(name)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not any(map(takes_results, items)):
        return
    from repro.plugin.claims import select_by_name, show_sentences

    select_by_name(config, items)
    figures = [item for item in items if item.get_closest_marker("figure")]
    if figures and not (option(config, "report") or INSTEAD in config.stash):
        config.hook.pytest_deselected(items=figures)
        items[:] = [item for item in items if item not in figures]
    # first tests without training, and last figures
    items.sort(key=lambda x: 2 if x.get_closest_marker("figure") else int(takes_results(x)))
    if config.getoption("collectonly") and config.get_verbosity() > 0:
        show_sentences(items)


def pytest_collection_finish(session: pytest.Session) -> None:
    config, plugins = session.config, session.config.pluginmanager
    marked = [item for item in session.items if takes_results(item)]
    if marked:
        config.stash[MARKED] = marked
        plugins.register(Turns())
        if not workers.is_worker(config):
            read_reports(config)
    elif session.items and INSTEAD not in config.stash:  # pytest's tests are none of our business
        plugins.unregister(sys.modules[__name__])


# Running them


def claims_of(config: pytest.Config) -> ClaimSession | None:
    """Return the session of the claims, if it was made."""
    return config.stash.get(SESSION, None)


def session_of(session: pytest.Session) -> ClaimSession:
    """Return the session of the claims, made when it is needed.

    So a worker of xdist that gets no claim makes none, and imports nothing for it.
    """
    stash = session.config.stash
    if SESSION not in stash:
        os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is imported
        import_whole("repro.plugin.session")
        from repro.plugin.session import ClaimSession

        with _keeping():
            stash[SESSION] = ClaimSession.of(session, stash[MARKED])
    return stash[SESSION]


@contextmanager
def _keeping() -> Iterator[None]:
    """Have the garbage collector skip what is made within the block, up to the process's end.

    Thousands of claims and their results stay in memory. To look at them again and again takes a
    sixth of a session without training.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if collects:
            gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Read all claims, and put them into their order; pytest runs them afterwards.

    A plan, or a command, is run instead of the tests.
    """
    config = session.config
    instead = config.stash.get(INSTEAD, _describe_plan if option(config, "plan") else None)
    if instead is not None:
        is_ready = MARKED in config.stash and not session.testsfailed
        if is_ready and not config.getoption("collectonly"):
            instead(session_of(session))
            return True
        return True if INSTEAD in config.stash else None
    is_stopped = session.testsfailed and not config.option.continue_on_collection_errors
    is_read = MARKED in config.stash and not (is_stopped or _shows_tests_alone(config))
    if is_read and not workers.is_worker(config):
        claims = session_of(session)
        with _keeping():
            claims.make_plan(claims.items)
        if not workers.keeps_order(config):
            session.items[:] = claims.in_order(session.items)
    return None


def _shows_tests_alone(config: pytest.Config) -> bool:
    asked = config.option
    return bool(asked.collectonly or asked.setupplan or asked.setuponly)


class Turns:
    """Runs each claim in its turn; a plugin of pytest, registered last to come before others."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)  # outside of other plugins' time limits
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Wait until a claim has the runs that it is known to miss.

        A worker of xdist reads it now, and no other claim: one that ends its process would be
        mistaken for another.
        """
        if takes_results(item) and not _shows_tests_alone(item.config):
            claims = session_of(item.session)
            if workers.is_worker(item.config):
                claims.make_plan([item])
            claims.wait_for(item)
        return (yield)

    @pytest.hookimpl(specname="pytest_runtest_protocol", tryfirst=True)
    def pytest_runtest_protocol_here(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> object:
        """Run a claim in this process, without pytest-forked: a fork would share the trainers."""
        plugins = item.config.pluginmanager
        forks = plugins.getplugin("pytest_forked") if takes_results(item) else None
        if forks is None:
            return None
        protocol = plugins.subset_hook_caller("pytest_runtest_protocol", [forks, self])
        return protocol(item=item, nextitem=nextitem)

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        """Leave out the call of a claim's test if its last reading came to the end."""
        claims = claims_of(pyfuncitem.config)
        return True if claims is not None and claims.has_ended(pyfuncitem) else None


def _describe_plan(claims: ClaimSession) -> None:
    from repro.plugin.summary import describe_plan

    claims.config.stash[PLAN_TEXT] = describe_plan(claims)
    claims.session.testsfailed += len(claims.unreadable) + len(claims.refused)


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
    claims = claims_of(item.config)
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
    if MARKED not in request.config.stash or not request.node.get_closest_marker(marker):
        raise pytest.UsageError(
            f"The {request.fixturename} fixture is for tests marked with @{marker}(...)."
        )
    return session_of(request.session)


@pytest.fixture(name="trials")  # a function of this name would hide the module
def trials_fixture(request: pytest.FixtureRequest) -> Trials:
    """Return trials of arms; their metrics can be compared, and are trained if need be."""
    return _session_of(request, "claim").start_trials(request.node)


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
    claims = claims_of(item.config)
    if claims is None:
        return (yield)
    is_claim = item.get_closest_marker("claim") is not None
    if is_claim and call.when == "call":
        from repro.plugin.claim_verdict import shorten

        shorten(item, call)
    report = yield
    if is_claim and item in claims.refused:
        claims.gate.announce_error(item, None, report)
    elif is_claim:
        _judge(claims, item, call, report)
    if call.when != "teardown" and takes_results(item):
        from repro.plugin.completeness import OUTCOME

        report.user_properties.append((OUTCOME, report.outcome))  # shows if a hook changes it later
    return report


def _judge(
    claims: ClaimSession, item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport
) -> None:
    """Make a verdict of the report that pytest makes of a claim's test."""
    try:
        if call.when == "call":
            claims.judge(item, call, report)
        elif call.excinfo is not None:  # of a fixture
            claims.gate.announce_error(item, call.excinfo.value, report)
        claims.gate.require_judged(item, report)
    except pytest.exit.Exception:  # of `end_session`
        raise
    except Exception as error:  # an error in a hook would end pytest before the other claims
        from repro.plugin.gate import fail

        fail(report, f"This claim could not be judged: {shown_lines(said_in_full(error))}")
        claims.gate.announce_error(item, error, report)


# The end


def pytest_sessionfinish(session: pytest.Session) -> None:
    claims = claims_of(session.config)
    if claims is None:
        return
    claims.close()
    if workers.is_worker(session.config):
        from repro.plugin.summary import account_of

        workers.tell(session.config, "account", account_of(claims))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> Generator[None, None, None]:
    """Write the summary of the claims, after pytest's own summary."""
    yield
    if workers.is_worker(config):
        return  # a worker of xdist: its records reach the controller
    if plan := config.stash.get(PLAN_TEXT, None):
        terminalreporter.write_line(plan)
        return
    from repro.report.lines import PROPERTY

    records = _carried(terminalreporter, "repro.record")
    figures = _carried(terminalreporter, "repro.figure")
    if not figures and not _carried(terminalreporter, PROPERTY):
        return
    import_whole("repro.plugin.summary")
    from repro.plugin.summary import account_of, summarise

    own, of_workers = claims_of(config), workers.of(config)
    accounts = of_workers.told("account") if of_workers else [account_of(own)] if own else []
    summarise(terminalreporter, config, records, figures, accounts)


def _carried(terminalreporter: pytest.TerminalReporter, name: str) -> list[Any]:
    """Return the properties of this name that tests attached to their reports, as JSON data."""
    reports = (report for group in terminalreporter.stats.values() for report in group)
    properties = (getattr(report, "user_properties", ()) for report in reports)
    texts = (value for each in properties for key, value in each if key == name)
    return [json.loads(text) for text in dict.fromkeys(texts)]
