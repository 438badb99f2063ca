"""The guides run as they stand."""

import re
from pathlib import Path

from repro.ledger import Ledger
from repro.report.findings import findings_table, with_table

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


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


def test_the_findings_in_the_readme_are_those_of_the_ledgers():
    ledgers = [ROOT / "claims" / "ledger.toml", ROOT / "claims" / "documents" / "ledger.toml"]
    entries = [e for path in ledgers for e in Ledger.read(path).entries.values()]
    readme = (ROOT / "README.md").read_text()
    assert with_table(readme, findings_table(entries)) == readme, (
        f"run: python -m repro findings {' '.join(str(p.relative_to(ROOT)) for p in ledgers)}"
        " --into README.md"
    )
