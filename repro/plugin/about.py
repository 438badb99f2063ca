"""The report's account of its session: it is asked of pytest, of git, and of the machine."""

from __future__ import annotations

import os
import shlex
from datetime import UTC, datetime
from pathlib import Path

import pytest

import repro
from repro.core.device import machine
from repro.plugin.command_line import option
from repro.report.session import SessionData, project_name, way_from, web_address
from repro.runs.provenance import commit_of, place_of


def session_of(config: pytest.Config, *, report: Path) -> SessionData:
    """Return what is known of a session whose report goes into this folder.

    >>> session_of(request.config, report=Path("report")).profile
    'ci'
    """
    project = config.rootpath
    at, (remote, below) = commit_of(project), place_of(project)
    commit = at["commit"] or ""
    return SessionData(
        project=project_name(project),
        version=repro.__version__,
        commit=commit,
        uncommitted_changes=bool(commit) and at["uncommitted_changes"],
        date=datetime.now(UTC).isoformat(timespec="minutes"),
        command=shlex.join(["pytest", *config.invocation_params.args]),
        profile=option(config, "profile"),
        machine=f"{machine('cpu')}, {os.cpu_count()} cores",
        files=web_address(remote, commit, below) or way_from(report, project),
    )
