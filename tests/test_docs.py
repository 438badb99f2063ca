"""The guides run as they stand."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def files_of(guide):
    """The files that a guide shows: Python blocks whose first line names one."""
    blocks = re.findall(r"```python\n# (\S+\.py)\n(.*?)```", (DOCS / guide).read_text(), re.DOTALL)
    assert blocks
    return blocks


def test_the_guide_to_writing_a_study_ends_in_a_verdict(pytester, monkeypatch):
    for name, text in files_of("writing-a-study.md"):
        (pytester.path / name).write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(pytester.path))
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.stdout.fnmatch_lines(["REPRODUCED*mine/more_draws_are_better*"])
    assert result.ret == 0
