"""The session behind a report: project, commit, date, command, size, machine."""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import quote

_REMOTE = re.compile(
    r"(?:(?:https?|ssh)://(?:[^@/]*@)?|(?:[^@/:]*@))"  # user and password are not captured
    r"(?P<host>[\w.-]+)(?::\d+)?[:/](?P<path>[\w./~-]+?)(?:\.git)?/?",
)
_BELOW = {"github": "blob", "gitlab": "-/blob"}
"""The part of a file's address before the commit, by a part of the host's name."""


@dataclass(frozen=True, kw_only=True)
class SessionData:
    """The session behind the results; unknown fields are empty."""

    project: str = ""
    version: str = ""
    """The version of repro that judged."""
    commit: str = ""
    uncommitted_changes: bool = False
    """True if the files differed from the commit."""
    date: str = ""
    """The time at which the session ended, in UTC."""
    command: str = ""
    profile: str = ""
    """The profile: ci or paper."""
    machine: str = ""
    """The processor of the machine that judged, and its number of cores."""
    files: str = ""
    """The base address for links to the files of claims; ends in a slash."""


def project_name(project: Path) -> str:
    """Return the name of a project from its pyproject.toml, or else of its folder."""
    try:
        content = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))
        name = content["project"]["name"]
    except (OSError, ValueError, KeyError, TypeError):
        name = None
    return name if isinstance(name, str) and name else project.resolve().name


def web_address(remote: str, commit: str, below: str = "") -> str:
    """Return the web address of the files of a commit; empty if it is not known.

    It contains no user name or password of the remote's address.

    >>> web_address("git@github.com:someone/study.git", "1f2e", "code/")
    'https://github.com/someone/study/blob/1f2e/code/'
    """
    found = _REMOTE.fullmatch(remote.strip())
    kind = next((k for k in _BELOW if found and k in found["host"].split(".")), None)
    if found is None or kind is None or not commit:
        return ""
    path = quote(found["path"].strip("/"))
    return f"https://{found['host']}/{path}/{_BELOW[kind]}/{commit}/{quote(below)}"


def way_from(report: Path, project: Path) -> str:
    """Return the relative path from a report to its project's folder.

    It is empty for a report outside the project, so that no report names a path of this machine.
    """
    inside, outside = report.resolve(), project.resolve()
    if inside == outside or outside not in inside.parents:
        return ""
    return PurePosixPath(os.path.relpath(outside, inside)).as_posix() + "/"


def file_link(files: str, file: str, line: int) -> str:
    """Return the address of a line (from 0) of a file; empty without a base address.

    >>> file_link("https://github.com/someone/study/blob/1f2e/", "claims/test_it.py", 6)
    'https://github.com/someone/study/blob/1f2e/claims/test_it.py#L7'
    """
    outside = PurePosixPath(file).is_absolute() or ".." in PurePosixPath(file).parts
    return "" if not files or outside else f"{files}{quote(file)}#L{line + 1}"
