"""The option `--changed-since REF`: a session judges the claims that reach a change.

Every process of a session comes to the same claims by itself. The others are deselected, and how
many these are is said at the end, with the changes that the selected ones reach.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from repro.plugin.command_line import option
from repro.text import shown

NAME = "repro-changed-since"

SHOWN = 8
"""The number of changes that are named at the end of a session."""


class ChangedClaims:
    """A plugin that leaves the claims which reach a change to its session."""

    def __init__(self, ref: str) -> None:
        self.ref = ref
        self._told: list[str] = []
        """The lines that say what was selected, and by which changes."""

    @pytest.hookimpl(trylast=True)  # after other plugins have selected
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        from repro.code.before import Changes
        from repro.git import GitError
        from repro.plugin.affected import Affected
        from repro.plugin.survey import survey_of

        claims = [item for item in items if item.get_closest_marker("claim")]
        try:
            changes = Changes.since(config.invocation_params.dir, self.ref)
        except GitError as error:
            raise pytest.UsageError(str(error)) from error
        project = config.inipath.parent if config.inipath else config.rootpath
        affected = Affected(
            changes,
            claims,
            survey_of(config),
            project=project,
            conftests=list(_conftests(config)),
        )
        by = {item: affected.by(item) for item in claims}
        others = [item for item in claims if not by[item]]
        items[:] = [item for item in items if by.get(item, True)]
        config.hook.pytest_deselected(items=others)
        self._told = self._lines(changes.commit, by)

    def _lines(self, commit: str, by: dict[pytest.Item, list[str]]) -> list[str]:
        names = Counter(name for found in by.values() for name in found)
        selected = sum(map(bool, by.values()))
        lines = [
            f"changed since {self.ref} ({commit[:9]}): {selected} of {len(by)} claims reach"
            f" what changed, {len(by) - selected} are left out"
        ]
        lines += [f"  {name} ({count})" for name, count in names.most_common(SHOWN)]
        return [*lines, f"  and {len(names) - SHOWN} more"] if len(names) > SHOWN else lines

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[NAME] = self._told
        elif self._told and exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
            session.exitstatus = pytest.ExitCode.OK  # a change may reach no claim

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self._told = getattr(node, "workeroutput", {}).get(NAME) or self._told

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not hasattr(terminalreporter.config, "workerinput"):
            for line in self._told:
                terminalreporter.write_line(shown(line))


def register_changed_since(config: pytest.Config) -> None:
    """Let a session judge the claims that reach a change, if its options ask for that.

    Raises `UsageError` where the commit cannot be found.
    """
    ref = option(config, "changed-since")
    if ref is None:
        return
    if not hasattr(config, "workerinput"):
        from repro.code.before import Changes
        from repro.git import GitError

        try:
            Changes.since(config.invocation_params.dir, ref)
        except GitError as error:
            raise pytest.UsageError(f"--changed-since {ref}: {error}") from error
    config.pluginmanager.register(ChangedClaims(ref), NAME)


def _conftests(config: pytest.Config) -> list[ModuleType]:
    """Return the conftest modules of a session, those of outer folders first."""
    plugins = (each for each in config.pluginmanager.get_plugins() if isinstance(each, ModuleType))
    named = ((Path(each.__file__ or ""), each) for each in plugins)
    found = [(path, each) for path, each in named if path.name == "conftest.py"]
    return [each for _, each in sorted(found, key=lambda pair: (len(pair[0].parts), pair[0]))]
