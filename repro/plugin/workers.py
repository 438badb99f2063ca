"""With pytest-xdist, one worker gets all claims, and starts as many trainers as `-n` says.

`pytest -n 4` starts four workers. One of them gets every claim and starts four trainers; the others
get the other tests. Verdicts reach the controller with pytest's own reports. A worker tells it
everything else by files in one folder: which tests are claims, which one is being judged, the
progress of training, and its account at the end.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

import pytest

from repro.files import write_beside
from repro.plugin.command_line import option
from repro.plugin.display import Display, display_of
from repro.report.lines import ERROR, PROPERTY, ClaimLine
from repro.runs.progress import Status

SECONDS_BETWEEN_LOOKS = 0.5

NAME = "repro-workers"
"""The name of `Workers` among pytest's plugins."""

FOLDER, PROFILE, TRAINERS = "repro-folder", "repro-profile", "repro-trainers"
IN_ORDER = "repro-in-order"
"""Keys of `workerinput`, which the controller sends to its workers."""


class Notes:
    """The folder of notes that workers write and the controller reads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read = 0

    def leave(self, name: str, content: object) -> None:
        """Write a note as JSON; it replaces an older one with the same name.

        `claims` has the node ids of claims and figures, `done` the tests that a replacement of a
        crashed worker need not run, `seen` the claims that `Collected` has noted, and `ended` the
        sentence with which a worker ends the session.
        """
        write_beside(self._folder / f"{name}.json", json.dumps(content))

    def left(self, name: str) -> Any:
        """Return the note with this name; an empty list if there is none."""
        return json.loads(self._text(f"{name}.json") or "[]")

    def leave_account(self, account: object) -> None:
        """Write the account of this worker; after an interruption nobody reads it."""
        with suppress(OSError):
            self.leave(os.environ["PYTEST_XDIST_WORKER"], account)

    def accounts(self) -> list[Any]:
        """Return the accounts of the workers that had claims and did not crash."""
        return [self.left(path.stem) for path in sorted(self._folder.glob("gw*.json"))]

    def set_current(self, nodeid: str) -> None:
        """Note the claim that is being read or judged; empty for none."""
        with suppress(OSError):
            (self._folder / "current").write_text(nodeid)

    def current(self) -> str:
        """Return the claim that was last read or judged."""
        return self._text("current")

    def say(self, line: str) -> None:
        """Have the controller show a line, such as the plan of the training."""
        with suppress(OSError), (self._folder / "lines").open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")

    def show(self, status: Status) -> None:
        """Have the controller show the progress of training; a lost status does no harm."""
        with suppress(OSError):
            write_beside(self._folder / "status", status.as_json())

    def pass_on(self, display: Display) -> None:
        """Show new lines and the last status on a display."""
        whole = self._text("lines")
        new = whole[self._read : whole.rfind("\n") + 1]
        self._read += len(new)
        for line in new.splitlines():
            display.say(line)
        if status := self._text("status"):
            display.show(Status.from_json(status))

    def _text(self, name: str) -> str:
        try:
            return (self._folder / name).read_text(encoding="utf-8")
        except OSError:
            return ""


def notes_of(config: pytest.Config) -> Notes | None:
    """Return the notes of a worker; None in a process that is no worker."""
    folder = getattr(config, "workerinput", {}).get(FOLDER)
    return Notes(Path(folder)) if folder else None


@contextmanager
def noted(config: pytest.Config, item: pytest.Item) -> Iterator[None]:
    """Note which claim is read or judged, in case it crashes this worker."""
    notes = notes_of(config)
    if notes is None:
        yield
        return
    before = notes.current()
    notes.set_current(item.nodeid)
    try:
        yield
    finally:
        notes.set_current(before)


def of(config: pytest.Config) -> Workers | None:
    """Return the `Workers` of the controller; None without xdist."""
    found: Workers | None = config.pluginmanager.getplugin(NAME)
    return found


def trainers_of(config: pytest.Config) -> int | None:
    """Return the number of trainers: that of `-n`, else None for one trainer per core.

    With `-n 0`, `-s` or a debugger it is 0: this process trains one batch after the other.
    """
    if is_debugged(config) or config.getoption("numprocesses", None) == 0:
        return 0
    named: int | None = getattr(config, "workerinput", {}).get(TRAINERS)
    return named


def end_session(config: pytest.Config, why: object) -> NoReturn:
    """End the session with a sentence; a worker leaves it to the controller, which can show it."""
    if (notes := notes_of(config)) is not None:
        notes.leave("ended", str(why))
    pytest.exit(str(why), pytest.ExitCode.INTERRUPTED)


def keeps_order(config: pytest.Config) -> bool:
    """Return whether claims are run in pytest's order, though others could be judged sooner.

    With another `--dist` a worker knows all claims, and runs its own. --stepwise skips, the next
    time, all tests that were collected before the one that failed.
    """
    of_worker = getattr(config, "workerinput", {})
    return bool(of_worker.get(IN_ORDER) or config.getoption("stepwise", False))


def is_debugged(config: pytest.Config) -> bool:
    """Return whether the user wants to see the output of training, or to debug it: -s, --pdb."""
    given = config.getoption
    return bool(given("usepdb") or given("trace") or given("capture") == "no")


class Workers:
    """The workers of a session, in the controller; a plugin of pytest."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._folder = Path(tempfile.mkdtemp(prefix="repro-workers-"))
        self.notes = Notes(self._folder)
        self._finished: set[str] = set()
        """The node ids of the tests that were run, or that crashed."""
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._pass_on, name=NAME, daemon=True)

    def pytest_sessionstart(self) -> None:
        """Start to pass notes on to the display, since there is a terminal now."""
        self._thread.start()

    def pytest_configure_node(self, node: Any) -> None:
        """Tell a new worker its folder, profile and number of trainers."""
        alone = self._config.getoption("dist") != "load"
        processes = self._config.getoption("numprocesses", None)
        node.workerinput[FOLDER] = str(self._folder)
        node.workerinput[PROFILE] = option(self._config, "profile")
        node.workerinput[TRAINERS] = 1 if alone else processes
        node.workerinput[IN_ORDER] = alone

    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        """Send all claims to one worker, unless the user chose another `--dist`."""
        is_usual = config.getoption("dist") == "load"
        return ClaimsTogether(self.notes, self._finished) if is_usual else None

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self._finished.add(nodeid)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self) -> None:
        """End the session with the sentence of a worker that could not go on."""
        if why := self.notes.left("ended"):
            pytest.exit(why, pytest.ExitCode.INTERRUPTED)

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport) -> None:
        """Let a claim that crashed its worker be among the failures at the session's end."""
        if crashitem in self.notes.left("claims"):
            line = ClaimLine(
                name=crashitem, verdict=ERROR, measured=report.longreprtext, fails=True
            )
            report.user_properties = [(PROPERTY, line.as_json())]

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Stop to pass notes on."""
        self._is_over.set()
        if self._thread.is_alive():
            self._thread.join()

    def pytest_unconfigure(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def _pass_on(self) -> None:
        display = display_of(self._config)
        while not self._is_over.wait(SECONDS_BETWEEN_LOOKS):
            self.notes.pass_on(display)


class ClaimsTogether:
    """A scheduler of pytest-xdist: one worker gets all claims, the others get the other tests.

    See `xdist.scheduler.protocol`. If a worker crashes, its remaining tests go to other workers,
    except the test that crashed it.
    """

    def __init__(self, notes: Notes, finished: set[str]) -> None:
        self._notes, self._finished = notes, finished
        self._sent: dict[Any, list[int]] = {}
        """The indices of the tests that each worker still has to run, in order."""
        self._collections: dict[Any, Sequence[str]] = {}
        self._names: Sequence[str] = ()
        self._claims: list[int] = []
        self._others: list[int] = []
        self._of_claims: Any = None
        """The worker with the claims."""

    @property
    def nodes(self) -> list[Any]:
        return list(self._sent)

    @property
    def collection_is_completed(self) -> bool:
        return bool(self._collections)  # claims do not wait for the collection of other workers

    @property
    def tests_finished(self) -> bool:
        is_dealt = self.collection_is_completed and not self._claims and not self._others
        return is_dealt and all(len(sent) < 2 for sent in self._sent.values())

    @property
    def has_pending(self) -> bool:
        return bool(self._claims or self._others or any(self._sent.values()))

    def add_node(self, node: Any) -> None:
        self._sent[node] = []

    def add_node_collection(self, node: Any, collection: Sequence[str]) -> None:
        if self._names and list(collection) != self._names:
            raise pytest.UsageError("The workers of xdist have collected different tests.")
        self._collections[node] = list(collection)

    def schedule(self) -> None:
        """Send tests to each worker as soon as it has collected."""
        if not self._names:
            self._begin()
        for node in self._sent:
            if node in self._collections and not self._sent[node]:
                self._deal(node)

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        self._sent[node].remove(item_index)
        if node is not self._of_claims:
            self._deal(node)

    def mark_test_pending(self, item: str) -> None:
        self._others.insert(0, self._names.index(item))
        for node in self._sent:
            self._deal(node)

    def remove_pending_tests_from_node(self, node: Any, indices: Sequence[int]) -> None:
        raise NotImplementedError("nothing is taken away from a worker")

    def remove_node(self, node: Any) -> str | None:
        """Take back the tests of a lost worker; return the test that crashed it, if any did."""
        left = self._sent.pop(node)
        self._collections.pop(node, None)
        crashed: int | None = None
        current = ""
        if not left:  # it has run all its tests
            self._of_claims = None if node is self._of_claims else self._of_claims
            return None
        if node is self._of_claims:  # it ran its claims in an order of its own
            self._of_claims = None
            current, claims = self._notes.current(), set(self._notes.left("claims"))
            left = [place for place in left if self._names[place] not in claims]
            self._claims = [
                place
                for place, name in enumerate(self._names)
                if name in claims and name not in self._finished
            ]
            crashed = next((n for n in self._claims if self._names[n] == current), None)
        if crashed is not None:
            self._claims.remove(crashed)
            self._finished.add(current)
        elif left:
            crashed = left.pop(0)
        self._others[:0] = left
        self._notes.leave("done", sorted(self._finished))
        return None if crashed is None else self._names[crashed]

    def _begin(self) -> None:
        self._names = next(iter(self._collections.values()))
        claims = set(self._notes.left("claims"))
        for place, name in enumerate(self._names):
            (self._claims if name in claims else self._others).append(place)

    def _deal(self, node: Any) -> None:
        """Send a worker its next tests: two, since it only runs one when it knows the next one."""
        if node.shutting_down:
            return
        if len(self._sent) == 1:  # tests without training first
            places, self._others, self._claims = [*self._others, *self._claims], [], []
            self._of_claims = node
        elif self._claims and self._of_claims is None:
            places, self._claims = self._claims, []
            self._of_claims = node
        else:
            wanted = max(0, 2 - len(self._sent[node]))
            places, self._others = self._others[:wanted], self._others[wanted:]
        if places:
            self._sent[node] += places
            node.send_runtest_some(places)
        if node is self._of_claims or not self._others:
            node.shutdown()  # after the tests that it was sent
