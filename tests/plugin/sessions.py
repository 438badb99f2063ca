"""Starts sessions of a project and reads what they print."""

import re


def run(project, *arguments):
    """Run a session in this process."""
    return project.runpytest_inprocess("-p", "no:cacheprovider", *arguments)


def run_apart(project, *arguments):
    """Run a session in a process of its own, as a user does."""
    return project.runpytest_subprocess("-p", "no:cacheprovider", *arguments)


def change(project, old, new):
    """Replace text in the study of a project."""
    study = project.path / "line.py"
    assert old in study.read_text()
    study.write_text(study.read_text().replace(old, new))


def trained(result):
    """Return the number of distinct runs that a session needed, and of those that it trained."""
    counts = re.search(r"(\d+) distinct runs needed: (\d+) trained now", result.stdout.str())
    return tuple(map(int, counts.groups()))
