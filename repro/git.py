"""Asks git about the history of a project."""

from __future__ import annotations

import subprocess
from pathlib import Path


class GitError(Exception):
    """Git is not there, or says no; the message is a sentence for whoever gave the command."""


def git(folder: Path, *arguments: str) -> str:
    """Return what git prints; raises `GitError` with its reason where it fails.

    >>> git(Path("."), "rev-parse", "HEAD")
    '2f1c0b…'
    """
    return git_bytes(folder, *arguments).decode(errors="surrogateescape").strip("\n")


def git_bytes(folder: Path, *arguments: str) -> bytes:
    """Return the bytes that git prints; raises `GitError` with its reason where it fails.

    >>> git_bytes(Path("."), "show", "HEAD:README.md")
    b'# repro…'
    """
    try:
        done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, check=True)
    except FileNotFoundError:
        raise GitError("There is no git here: install it.") from None
    except subprocess.CalledProcessError as failed:
        reason = failed.stderr.decode(errors="replace").strip().partition("\n")[0]
        command = next(each for each in arguments if each[0] != "-" and "=" not in each)
        raise GitError(f"git {command} failed: {reason}") from None
    return done.stdout
