"""Sessions in the tests' projects, and what they say; and results that no session has trained."""

import re
from typing import ClassVar

from repro.runs.results import RunsMissing
from repro.store import Result


class Made:
    """The results of runs, each with the values that a function makes; None is not there."""

    identity: ClassVar[dict] = {"device": "cpu", "torch": "2", "engine": "loop"}

    def __init__(self, values):
        self.values = values
        self.looked_up = 0

    def located(self, arm):
        return arm.located()

    def missing_error(self, runs):
        return RunsMissing(runs)

    def remarks(self, runs):
        return []

    def require_sound(self, arm):
        pass

    def failed(self, run):
        return None

    def get(self, run):
        self.looked_up += 1
        values = self.values(run)
        return values and Result("0" * 64, self.identity, values, {"machine": "here"})


def run(project, *arguments):
    """Run a session in this process, which trains in it too."""
    return project.runpytest_inprocess("-v", "-n", "0", "-p", "no:cacheprovider", *arguments)


def run_apart(project, *arguments):
    """Run a session in a process of its own, as a user has it."""
    return project.runpytest_subprocess("-v", "-p", "no:cacheprovider", *arguments)


def change(project, old, new):
    """Change the text of the project's study."""
    study = project.path / "line.py"
    assert old in study.read_text()
    study.write_text(study.read_text().replace(old, new))


def with_claims(project, claims):
    """Write these claims in the place of the project's."""
    head = "import pytest\nfrom repro import claim\nfrom line import Line\n"
    (project.path / "test_lines.py").write_text(head + claims)
    return project


def counted(shown):
    """Return what the table at the end counts of all that was trained, verdict by verdict."""
    return re.search(r"^all +(.*)$", shown, re.MULTILINE)[1].split()[:4]


def trained(result):
    """Return how many distinct runs were needed, and how many were trained now."""
    counts = re.search(r"(\d+) distinct runs? needed: (\d+) trained now", result.stdout.str())
    return tuple(map(int, counts.groups()))
