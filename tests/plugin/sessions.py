"""Sessions in the tests' projects, and what they say."""

import re


def run(project, *arguments):
    """Run a session in this process."""
    return project.runpytest_inprocess("-p", "no:cacheprovider", *arguments)


def run_apart(project, *arguments):
    """Run a session in a process of its own, as a user has it."""
    return project.runpytest_subprocess("-p", "no:cacheprovider", *arguments)


def change(project, old, new):
    """Change the text of the project's study."""
    study = project.path / "line.py"
    assert old in study.read_text()
    study.write_text(study.read_text().replace(old, new))


def trained(result):
    """Return how many distinct runs were needed, and how many were trained now."""
    counts = re.search(r"(\d+) distinct runs needed: (\d+) trained now", result.stdout.str())
    return tuple(map(int, counts.groups()))
