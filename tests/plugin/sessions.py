"""Sessions in the tests' projects, and what they say."""

import re


def run(project, *arguments):
    """Run a session in this process."""
    return project.runpytest_inprocess("-v", "-p", "no:cacheprovider", *arguments)


def run_apart(project, *arguments):
    """Run a session in a process of its own, as a user has it."""
    return project.runpytest_subprocess("-v", "-p", "no:cacheprovider", *arguments)


def change(project, old, new):
    """Change the text of the project's study."""
    study = project.path / "line.py"
    assert old in study.read_text()
    study.write_text(study.read_text().replace(old, new))


def counted(shown):
    """Return what the table at the end counts of all that was trained, verdict by verdict."""
    return re.search(r"^all +(.*)$", shown, re.MULTILINE)[1].split()[:4]


def trained(result):
    """Return how many distinct runs were needed, and how many were trained now."""
    counts = re.search(r"(\d+) distinct runs? needed: (\d+) trained now", result.stdout.str())
    return tuple(map(int, counts.groups()))
