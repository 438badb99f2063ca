"""The option `--evidence`: files that a session judges from, instead of training."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from repro.plugin.command_line import is_set, option, set_option

if TYPE_CHECKING:
    from repro.evidence.results import Evidence

READ = pytest.StashKey[Any]()  # an Evidence, whose module is imported when files are named

ABOUT_TRAINING = ("plan", "device", "engine", "executor", "same-machine", "update-ledger")
"""Options that mean nothing where results are read from evidence."""


def evidence_of(config: pytest.Config) -> Evidence | None:
    """Return the evidence that the command line names, read once a process; raises EvidenceError.

    None where it names none.
    """
    from repro.evidence.results import Evidence

    named = option(config, "evidence")
    if named and READ not in config.stash:
        config.stash[READ] = Evidence.read(map(Path, named))
    evidence: Evidence | None = config.stash.get(READ, None)
    return evidence


def evidence_option(config: pytest.Config) -> str:
    """Return the option as it is written behind a command that judges from the same files."""
    named = option(config, "evidence") or ()
    return f" --evidence {shlex.join(named)}" if named else ""


def check_evidence(config: pytest.Config) -> None:
    """Raise ValueError where evidence is named that cannot be read, or with options of training."""
    if not option(config, "evidence"):
        return
    for name in ABOUT_TRAINING:
        if is_set(config, name):
            raise ValueError(
                f"--evidence judges what is in the files and trains nothing; leave out --{name}, or"
                " add the files to a store first: python -m repro evidence add FILE."
            )
    from repro.evidence.errors import EvidenceError

    try:
        evidence = evidence_of(config)
    except EvidenceError as error:
        raise ValueError(str(error)) from error
    assert evidence is not None
    _settle_profile(config, evidence)


def _settle_profile(config: pytest.Config, evidence: Evidence) -> None:
    """Take the profile of the files; raises ValueError where they, or an option, have another."""
    first, *others = evidence.files
    for file in others:
        if file.profile != first.profile:
            raise ValueError(
                f"{file.path} is of the profile {file.profile} and {first.path} of"
                f" {first.profile}: judge them one after the other."
            )
    asked = option(config, "profile")
    if asked is not None and asked != first.profile:
        raise ValueError(
            f"{first.path} is of the profile {first.profile}; leave out --profile {asked}."
        )
    set_option(config, "profile", first.profile)
