"""The session of pytest that judges the claims of all shards, from the results that they packed."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import pytest

from repro.evidence.errors import EvidenceError
from repro.evidence.file import EvidenceFile
from repro.evidence.results import Evidence
from repro.plugin import orphans
from repro.plugin.evidence_command import add_files
from repro.store.command import named_store
from repro.text import shown

MOST_NAMED = 5


def merge_shards(chosen: argparse.Namespace) -> int:
    """Add the results of shards to a store, and judge all claims from it; the exit code.

    >>> merge_shards(parser.parse_args(["merge", "1.jsonl.gz", "2.jsonl.gz"]))
    0
    """
    evidence = Evidence.read(chosen.shards)
    require_whole(evidence.files)
    root = named_store(chosen)
    is_whole = add_files(evidence, root, chosen.device)
    options = {"store": root, "profile": evidence.files[0].profile, "device": chosen.device}
    arguments = [f"--repro-{name}={value}" for name, value in options.items()]
    expected = _Expected({name for file in evidence.files for name in file.claims})
    # pytest and the plugin are imported already
    quiet = ("-W", "ignore::pytest.PytestAssertRewriteWarning")
    arguments = [*quiet, *chosen.claims, *arguments, *chosen.passed_on]
    code = pytest.main(arguments, plugins=[expected])
    return int(code) or int(not is_whole)


def require_whole(files: Sequence[EvidenceFile]) -> None:
    """Raise `EvidenceError` unless these are all shards of one partition, each of them once."""
    first = files[0]
    for file in files:
        if file.shard is None or first.shard is None:
            raise EvidenceError(
                f"{file.path} is not the file of a shard; write it by `python -m repro"
                " evidence pack FILE --shard K/N`, or judge from it by pytest --evidence."
            )
        is_alike = file.shard.partition == first.shard.partition and file.profile == first.profile
        if not is_alike or file.shard.of != first.shard.of:
            raise EvidenceError(
                f"{file.path} and {first.path} are of different partitions: let all shards be of"
                " one commit, with the same claims, options and data."
            )
    assert first.shard is not None
    numbers = [file.shard.number for file in files if file.shard is not None]
    for number in range(1, first.shard.of + 1):
        if numbers.count(number) != 1:
            found = "is missing" if number not in numbers else "is there twice"
            raise EvidenceError(
                f"Shard {number} of {first.shard.of} {found}: give the file of each shard once."
            )


class _Expected:
    """A plugin that fails a session which did not collect all claims of the shards."""

    def __init__(self, names: set[str]) -> None:
        self._names = names
        self._lost: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        told = session.config.pluginmanager.getplugin(orphans.NAME)
        if exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            self._lost = sorted(self._names - {name for _, name in told.known})
        if self._lost:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._lost:
            names = ", ".join(self._lost[:MOST_NAMED])
            more = f" and {len(self._lost) - MOST_NAMED} more" if self._lost[MOST_NAMED:] else ""
            terminalreporter.write_line(
                shown(f"The shards have claims that are not here: {names}{more}. Select the same")
                + " claims as in the shards, at their commit.",
                red=True,
            )
