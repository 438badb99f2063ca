"""Notes the claims that pytest collects, and what leaves some of them out.

Each process that collects tests notes them: pytest's only one, or each worker of xdist, which sends
its notes to the controller.
"""

from __future__ import annotations

import argparse
import copy
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from repro.plugin import workers
from repro.plugin.command_line import from_command_line

NAME = "repro-collected"
"""The name of `Collected` among pytest's plugins."""

SELECTED, BY_HAND, OTHERWISE = "selected", "left out by hand", "left out otherwise"

_CHOOSING = "repro-choosing"
"""A key of `workerinput`: the options of the command line that select tests."""


class Seen(NamedTuple):
    """A claim that pytest collected."""

    nodeid: str
    file: str
    claim: str
    """Its name; empty where its decorator cannot be read."""
    state: str
    """`SELECTED`, `BY_HAND` or `OTHERWISE`."""
    sentence: str
    """The claim's sentence; a renamed claim still has it."""


class Collected:
    """The claims that pytest collects, in each process that does; a plugin of pytest."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        names = ("keyword", "markexpr", "deselect", "file_or_dir")
        self.typed = from_command_line(config)
        """The options of the command line, those of a worker's controller left out."""
        self._choosing = {name: getattr(self.typed, name) for name in names}
        """The options of the command line that select tests."""
        if workers.is_worker(config):
            self._choosing = config.workerinput[_CHOOSING]  # type: ignore[attr-defined]
        self._members: dict[pytest.Collector, list[pytest.Item | pytest.Collector]] = {}
        """The tests and classes of each collected file and class."""
        self._named: set[pytest.Item] = set()
        """The tests that the arguments name, also by their files and folders."""
        self._deselected: list[pytest.Item] = []
        self.claims: dict[str, Seen] = {}
        """The claims, by node id."""
        self.paths: set[Path] = set()
        """The files and folders that the arguments name, and all folders below that are walked."""
        self.goes_by_failures = False
        """True where --lf or --sw of the command line leave tests out, since others failed."""

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        is_named, path = collector.session.isinitpath, collector.path
        is_walked = isinstance(collector, pytest.Directory) and any(map(is_named, path.parents))
        if is_walked or (is_named(path) and not isinstance(collector, pytest.Session)):
            self.paths.add(path)
        report = yield
        if isinstance(collector, pytest.Module | pytest.Class):
            self._members[collector] = report.result or []
        return report

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        self._named.add(item)

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        self._deselected += items

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        items = [*session.items, *self._deselected]
        selected = {item.nodeid for item in session.items}
        unnamed = self._unnamed() if any("::" in x for x in self._choosing["file_or_dir"]) else []
        claims = [item for item in (*items, *unnamed) if item.get_closest_marker("claim")]
        excused = self._left_out_by_the_command_line(items) if claims else set()
        excused |= {item.nodeid for item in unnamed}
        for item in claims:
            from repro.plugin.claims import claim_id, mark_or_none  # a session without does without

            state = BY_HAND if item.nodeid in excused else OTHERWISE
            if item.nodeid in selected:
                state = SELECTED
            mark = mark_or_none(item)
            name, sentence = (claim_id(item), mark.sentence) if mark else ("", "")
            self.claims[item.nodeid] = Seen(item.nodeid, str(item.path), name, state, sentence)
        self.goes_by_failures = self._leaves_out_what_passed(items)
        if workers.is_worker(self._config):
            paths = list(map(str, self.paths))
            seen = [list(self.claims.values()), paths, self.goes_by_failures]
            workers.tell(self._config, "seen", seen)

    def take_in(self, told: Sequence[Any]) -> None:
        """Take over what xdist's workers have collected, all of them the same tests."""
        for seen, paths, self.goes_by_failures in told:
            self.claims = {nodeid: Seen(nodeid, *others) for nodeid, *others in seen}
            self.paths.update(map(Path, paths))

    def _unnamed(self) -> list[pytest.Item]:
        """Return the tests of collected files that the arguments do not name, but others beside."""

        def tests_in(node: pytest.Item | pytest.Collector) -> Iterator[pytest.Item]:
            if isinstance(node, pytest.Item):
                yield node
            elif isinstance(node, pytest.Module | pytest.Class):
                members = self._members.get(node)
                if members is None:  # a class that pytest has had no reason to look into
                    with suppress(Exception, pytest.skip.Exception):
                        members = list(node.collect())
                for each in members or ():
                    yield from tests_in(each)

        files = [node for node in self._members if isinstance(node, pytest.Module)]
        return [item for file in files for item in tests_in(file) if item not in self._named]

    def _left_out_by_the_command_line(self, items: list[pytest.Item]) -> set[str]:
        """Return the names of the tests that the command line leaves out, without settings."""
        from repro.plugin.claims import select_by_name

        alone, left = copy.copy(self._config), list(items)
        alone.option = argparse.Namespace(**{**vars(alone.option), **self._choosing})
        alone.hook = argparse.Namespace(pytest_deselected=lambda items: None)  # type: ignore[assignment]
        select_by_name(alone, left)
        for name in ("main", "mark"):
            pytests: Any = alone.pluginmanager.getplugin(name)
            pytests.pytest_collection_modifyitems(config=alone, items=left)
        return {item.nodeid for item in items} - {item.nodeid for item in left}

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput[_CHOOSING] = self._choosing

    def _leaves_out_what_passed(self, items: list[pytest.Item]) -> bool:
        """Return whether tests are left out since others failed last: one of these is there."""
        cache, option_of = getattr(self._config, "cache", None), self._config.getoption
        last = cache.get("cache/lastfailed", {}) if cache and option_of("lf", False) else {}
        step = cache.get("cache/stepwise", None) if cache and option_of("stepwise", False) else None
        step = step.get("last_failed") if isinstance(step, dict) else step
        is_there = any(item.nodeid in last for item in items)
        return is_there or bool(self._deselected and any(item.nodeid == step for item in items))
