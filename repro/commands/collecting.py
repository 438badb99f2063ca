"""The claims that a command reads: its arguments that select them, and their session."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from repro.core.device import resolve_device
from repro.evidence import EvidenceError
from repro.store import DEFAULT_STORE, StoreError, project_above

if TYPE_CHECKING:
    import pytest

    from repro.plugin.session import ClaimSession

QUIET = (
    *("-p", "no:terminal", "-p", "no:cacheprovider"),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),  # the plugin is imported already
)


def add_claims(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that select claims, as on pytest's command line."""
    parser.add_argument("claims", nargs="*", metavar="CLAIM", help="files, folders or node ids")
    parser.set_defaults(goes_on="claims")
    parser.add_argument("-k", metavar="EXPRESSION", help="claims whose names match, as in pytest")


def named_store(chosen: argparse.Namespace) -> Path:
    """Return the folder that `--store` or the environment names, or else that of the project.

    >>> named_store(argparse.Namespace(store="runs"))
    PosixPath('runs')
    """
    if chosen.store == "":
        raise StoreError("--store has no name of a folder after it; give one.")
    named = chosen.store or os.environ.get("REPRO_STORE")
    if not named:
        return project_above(Path.cwd()) / DEFAULT_STORE
    return Path(os.path.expanduser(named))  # the shell does not expand --store=~/runs


def named_device(chosen: argparse.Namespace) -> str:
    """Return the kind of device that `--device` names; raises EvidenceError.

    >>> named_device(argparse.Namespace(device="cpu"))
    'cpu'
    """
    try:
        return resolve_device(chosen.device)
    except ValueError as error:
        raise EvidenceError(str(error)) from None


def collected(chosen: argparse.Namespace, *names: str, **options: object) -> ClaimSession:
    """Collect the selected claims and figures with pytest, and return their session.

    By default the claims are those of the folder `claims`, or else of this folder. pytest gets the
    options of the command with these names, and the further `options`. No test is run. Raises
    `EvidenceError` where there are no claims, or where pytest cannot collect them.

    >>> collected(chosen, "profile", "store").names
    """
    import pytest  # commands without claims do not need it

    given = {name: getattr(chosen, name) for name in names} | options
    told = [f"--repro-{x.replace('_', '-')}={v}" for x, v in given.items() if v is not None]
    told += ["-k", chosen.k] if getattr(chosen, "k", None) else []
    reader = _Reader()
    claims = chosen.claims or (["claims"] if Path("claims").is_dir() else ["."])
    code = pytest.main([*QUIET, *told, *claims], plugins=[reader])
    if reader.problems:
        raise EvidenceError(f"The claims cannot be collected: {' '.join(reader.problems)}")
    if reader.session is None:
        has_said = code == pytest.ExitCode.USAGE_ERROR
        why = "see above" if has_said else "the selection has none; name their folder or files"
        raise EvidenceError(f"No claims were read: {why}.")
    sys.path[:] = reader.path
    return reader.session


class _Reader:
    """A plugin of pytest that keeps the session of the claims, whose tests are not run."""

    def __init__(self) -> None:
        self.session: ClaimSession | None = None
        self.problems: list[str] = []
        self.path: Iterable[str] = ()
        """The module path of the project; pytest forgets its `pythonpath` at the end."""

    def pytest_load_initial_conftests(self, early_config: pytest.Config) -> None:
        from repro.plugin.plugin import INSTEAD

        early_config.stash[INSTEAD] = self._keep

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.problems.append(f"{report.nodeid}: {report.longreprtext}")

    def _keep(self, session: ClaimSession) -> None:
        self.session, self.path = session, sys.path[:]
