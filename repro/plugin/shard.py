"""The option `--shard K/N`: a session trains and judges one of N parts of its claims.

Every shard comes to the same parts by itself. Claims of the others are deselected. A claim whose
programs lie in several shards is judged when these are merged; until then each trains its own runs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import pytest

from repro.plugin.command_line import option
from repro.text import shown

if TYPE_CHECKING:
    from repro.arm import Arm, Run
    from repro.plugin.partition import Partition
    from repro.plugin.session import ClaimSession

NAME = "repro-shard"


@dataclass(frozen=True)
class Shard:
    """One of so many shards; they are counted from 1."""

    number: int
    of: int

    @classmethod
    def named(cls, text: str) -> Self:
        """Return the shard that is written like this; raises ValueError.

        >>> Shard.named("2/8")
        Shard(number=2, of=8)
        """
        parts = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text)
        number, of = map(int, parts.groups()) if parts else (0, 0)
        if not 1 <= number <= of:
            raise ValueError(f"--shard {text} is no shard: the second of eight is --shard 2/8.")
        return cls(number, of)

    def __str__(self) -> str:
        return f"shard {self.number} of {self.of}"


@dataclass(eq=False)  # plugins are put into sets
class Shards:
    """A plugin that leaves one shard's claims to its session."""

    shard: Shard
    parts: Partition | None = None
    also: dict[str, list[Run]] = field(default_factory=dict)
    """The runs that are trained here for claims that are judged by the merge, by claim."""
    session: ClaimSession | None = None
    """The claims of this process, once they are collected."""
    _told: dict[str, Any] = field(default_factory=dict)
    """The line that describes the shard, and why runs of `also` could not be trained."""

    @pytest.hookimpl(trylast=True)  # after other plugins have selected
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        from repro.plugin.claims import name_or_none
        from repro.plugin.partition import MERGE
        from repro.plugin.survey import survey_of

        claims = {x.nodeid: x for x in items if x.get_closest_marker("claim")}
        survey = survey_of(config)
        wanted = {node: survey.arms_of(item) for node, item in claims.items()}
        self.parts = _divided(wanted, self.shard.of)
        for node, arms in wanted.items():
            if self.parts.claims[node] == MERGE and (runs := self._runs_here(arms)):
                self.also[name_or_none(claims[node]) or node] = runs
        others = [item for item in items if self._place(item) != self.shard.number]
        items[:] = [item for item in items if self._place(item) == self.shard.number]
        config.hook.pytest_deselected(items=others)
        self._told = {"line": self._line(), "failed": {}}

    def _place(self, item: pytest.Item) -> int | None:
        """Return the shard of a test; figures wait for the merge, which has all their runs."""
        assert self.parts is not None
        if item.get_closest_marker("figure"):
            return None
        return self.parts.claims.get(item.nodeid, 1)

    def _runs_here(self, arms: Mapping[Arm, int]) -> list[Run]:
        from repro.plugin.survey import runs_of

        assert self.parts is not None
        mine = self.parts.programs
        return [run for run in runs_of(arms) if mine[run.arm.program] == self.shard.number]

    def _line(self) -> str:
        from repro.plugin.partition import MERGE

        assert self.parts is not None
        places = list(self.parts.claims.values())
        here, later = places.count(self.shard.number), places.count(MERGE)
        line = f"{self.shard}: {here} of {len(places)} claims"
        runs = len({run for runs in self.also.values() for run in runs})
        return line + (
            f"; claims that lie in several shards: {later}, judged by `python -m repro merge`;"
            f" runs for them here: {runs}"
            if later
            else ""
        )

    def told_to_merge(self) -> dict[str, Any]:
        """Return which shard of which partition this is, for the merge to tell what it has."""
        assert self.parts is not None
        return {**vars(self.shard), "partition": self.parts.digest}

    def plan_text(self) -> str:
        """Return the partition as `--plan` prints it."""
        from repro.plugin.partition import MERGE

        assert self.parts is not None
        claims, programs = list(self.parts.claims.values()), list(self.parts.programs.values())
        lines = [f"{'shard':>6}{'claims':>8}{'programs':>10}{'minutes':>9}  guessed, of one core"]
        for number, seconds in enumerate(self.parts.seconds, 1):
            mark = "  this one" if number == self.shard.number else ""
            lines.append(
                f"{number:>6}{claims.count(number):>8}{programs.count(number):>10}"
                f"{seconds / 60:>9.1f}{mark}"
            )
        return "\n".join([*lines, f" merge{claims.count(MERGE):>8}", self._line(), ""])

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if self.session is not None:
            self._told["failed"] = self.session.failed_also()
        output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[NAME] = self._told
        elif self._told and exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
            session.exitstatus = pytest.ExitCode.OK  # a shard may have nothing to judge
        if self._told.get("failed"):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        told = getattr(node, "workeroutput", {}).get(NAME)
        if told:
            failed = {**self._told.get("failed", {}), **told["failed"]}
            self._told = {**told, "failed": failed}

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if hasattr(terminalreporter.config, "workerinput") or not self._told:
            return
        for claim, why in self._told["failed"].items():
            terminalreporter.write_line(
                shown(f"{claim} is judged by the merge, and lacks a run of this shard: {why}"),
                red=True,
            )
        if not option(terminalreporter.config, "plan"):
            terminalreporter.write_line(self._told["line"])


def register_shards(config: pytest.Config) -> None:
    """Let a session judge the shard that its options name, if they name one.

    Raises `UsageError` where there is no such shard, or where an option is about all claims.
    """
    text = option(config, "shard")
    if text is None:
        return
    try:
        shard = Shard.named(text)
    except ValueError as error:
        raise pytest.UsageError(str(error)) from error
    if option(config, "family-wise"):
        raise pytest.UsageError(
            "--family-wise counts all claims of a session, and a shard has some of them: give it to"
            " `python -m repro merge` instead."
        )
    config.pluginmanager.register(Shards(shard), NAME)


def shards_of(config: pytest.Config) -> Shards | None:
    """Return the plugin of a session that judges a shard; None of any other session."""
    shards: Shards | None = config.pluginmanager.getplugin(NAME)
    return shards


def _divided(wanted: Mapping[str, Mapping[Arm, int]], shards: int) -> Partition:
    from repro.plugin.partition import partition
    from repro.plugin.survey import bound_programs, seconds_of

    return partition(
        {claim: {arm.program for arm in arms} for claim, arms in wanted.items()},
        seconds_of(wanted.values()),
        bound=bound_programs(wanted.values()),
        shards=shards,
    )
