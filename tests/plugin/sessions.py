"""Starts sessions of a project and reads what they print."""

import re


def run(project, *arguments):
    """A session in this process."""
    return project.runpytest_inprocess("-p", "no:cacheprovider", *arguments)


def run_apart(project, *arguments):
    """A session in a process of its own, as a user has it."""
    return project.runpytest_subprocess("-p", "no:cacheprovider", *arguments)


def change(project, old, new):
    """Change what stands in the project's study."""
    study = project.path / "line.py"
    assert old in study.read_text()
    study.write_text(study.read_text().replace(old, new))


def trained(result):
    """(distinct runs needed, runs trained now)."""
    counts = re.search(r"(\d+) distinct runs needed: (\d+) trained now", result.stdout.str())
    return tuple(map(int, counts.groups()))
