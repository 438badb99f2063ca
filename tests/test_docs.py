"""The guides run as they stand."""

import re
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from repro.ledger import Ledger
from repro.report.findings import findings_table, with_table

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text()
TEXTS = [README, *(path.read_text() for path in sorted(DOCS.glob("*.md")))]
COMMANDS = {c for text in TEXTS for c in re.findall(r"`python -m repro ([^`\[]+)`", text)}
BENCHMARKS = {name for text in TEXTS for name in re.findall(r"benchmarks/\w+\.py", text)}
OPTIONS = {option for text in TEXTS for option in re.findall(r"`(--[a-z-]+)", text)}
FETCH_ALONE = {"--mirror"}


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
    assert with_table(README, findings_table(entries)) == README, (
        f"run: python -m repro findings {' '.join(str(p.relative_to(ROOT)) for p in ledgers)}"
        " --into README.md"
    )


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_commands_run_as_they_are_written(command, tmp_path):
    shutil.copy(ROOT / "README.md", tmp_path)  # a command may write into it
    shutil.copytree(ROOT / "claims", tmp_path / "claims")
    done = subprocess.run([sys.executable, "-m", "repro", *shlex.split(command)], cwd=tmp_path)
    assert done.returncode == 0
    assert (tmp_path / "README.md").read_text() == README


@pytest.mark.parametrize("name", sorted(BENCHMARKS))
def test_benchmarks_are_there_and_can_be_loaded(name, monkeypatch):
    """They take minutes each, so that is all."""
    if name == "benchmarks/in_jax.py":
        pytest.importorskip("jax")
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks"), *sys.path])
    runpy.run_path(str(ROOT / name))


def test_options_are_those_that_there_are():
    asked = [sys.executable, "-m", "pytest", "--help", "-p", "no:cacheprovider"]
    known = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True).stdout
    assert len(OPTIONS) > 8
    assert [option for option in sorted(OPTIONS - FETCH_ALONE) if option not in known] == []


@pytest.mark.parametrize(
    "name", [*sorted(DOCS.glob("*.md")), ROOT / "README.md"], ids=lambda p: p.name
)
def test_links_lead_somewhere(name):
    links = re.findall(r"\]\((?!http)([^)#]+)\)", name.read_text())
    assert [link for link in links if not (name.parent / link).exists()] == []
