"""The guides run as they stand."""

import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from repro.ledger import entries_at
from repro.plugin.command_line import OPTIONS as OURS
from repro.plugin.progress import WIDTH_OF_A_FILE
from repro.report.coverage import coverage_page
from repro.report.findings import findings_table, with_table
from tests.oracles import oracle

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text()
FINDINGS = (DOCS / "findings.md").read_text()
TEXTS = [README, *(path.read_text() for path in sorted(DOCS.rglob("*.md")))]
COMMANDS = {c for text in TEXTS for c in re.findall(r"`python -m repro ([^`\[]+)`", text)}
BENCHMARKS = {name for text in TEXTS for name in re.findall(r"benchmarks/\w+\.py", text)}
OPTIONS = {option for text in TEXTS for option in re.findall(r"`(--[a-z-]+)", text)}
MOST_LINES = 40
"""The lines that a session's end may have."""
ACTIONS = [("data", "fetch"), ("evidence", "pack"), ("findings",), ("new",)]


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
    result.stdout.fnmatch_lines(["reproduced*mine/more_draws_are_better*"])
    assert result.ret == 0


@pytest.mark.thorough
@pytest.mark.parametrize(
    "guide", ["tutorial", "module", "script", "trainers", "new-source", "real-data"]
)
def test_a_guide_goes_as_it_is_written(guide, tmp_path):
    """Its files are written and its commands run in their order; each prints what is shown.

    A block of `sh` needs the network, and one of `py` is a piece of code.
    """
    if guide == "trainers":
        oracle("transformers")
        oracle("pytorch_lightning")
    text = (DOCS / f"{guide}.md").read_text()
    environment = {**os.environ, "REPRO_STORE": str(tmp_path / ".repro"), "NO_COLOR": "1"}
    environment["PYTHONPATH"] = str(ROOT)
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    shown, said = 0, ""
    for kind, block in re.findall(r"^```(\w+)\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        if kind == "bash":
            command = ["bash", "-eo", "pipefail", "-c", block]
            done = subprocess.run(
                command, cwd=tmp_path, env=environment, capture_output=True, text=True
            )
            assert done.returncode == 0, done.stdout + done.stderr
            said = done.stdout
        elif kind == "text":
            for line in block.splitlines():
                shown += 1
                parts = [re.escape(part) for part in line.split("…")]
                assert re.search(f"^{'.*'.join(parts)}", said, re.MULTILINE | re.DOTALL), said
        elif kind not in ("sh", "py"):
            name, _, content = block.removeprefix("# ").partition("\n")
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(content)
    assert shown


@pytest.mark.thorough
def test_the_first_result_is_what_the_readme_shows():
    """Only the numbers that a new claim changes may have to be written again."""
    shown = re.search(r"counts the others:\n\n```text\n(.*?)```", README, re.DOTALL)[1]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "claims/documents"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout
    for line in shown.splitlines():
        parts = [re.escape(part) for part in line.split("…")]
        assert re.search(f"^{'.*'.join(parts)}$", said, re.MULTILINE), said
    assert "[  0%]" not in said
    assert said.count("statements of documents") == 1


def test_the_page_of_findings_is_current():
    ledgers = [ROOT / "claims" / "ledger", ROOT / "claims" / "documents" / "ledger"]
    entries = [entry for path in ledgers for entry in entries_at(path)]
    page = (DOCS / "findings.md").read_text()
    assert with_table(page, findings_table(entries)) == page, (
        f"run: python -m repro findings {' '.join(str(p.relative_to(ROOT)) for p in ledgers)}"
        " --into docs/findings.md"
    )


def test_the_readme_counts_what_the_ledgers_have():
    of = {}
    for row in re.findall(
        r"^\| (\d{3}) \| (\w+) \| (.+?) \| (\d+) \| (\d+) \| (\d+) \|$", FINDINGS, re.M
    ):
        source, size, data, *counts = row
        if not data.endswith("-twin") and data != "arithmetic":
            before = of.get((source, size), (0, 0, 0))
            of[source, size] = tuple(a + int(b) for a, b in zip(before, counts, strict=True))
    sources = sorted({source for source, _ in of})
    assert len(sources) == 5
    for source in sources:
        agree, disagree, _ = of[source, "any"]
        counted = [" / ".join(map(str, of.get((source, s), ()))) for s in ("documented", "small")]
        row = next(line for line in README.splitlines() if line.startswith(f"| [{source}]"))
        shown = [cell.strip() for cell in row.split("|")[3:-1]]
        assert shown == [f"{agree} / {disagree}", *counted], "README: What was found"


def test_the_readme_is_short():
    assert README.count("\n") <= 200


def test_the_page_of_coverage_is_current():
    assert (DOCS / "coverage.md").read_text() == coverage_page(ROOT / "claims"), (
        "run: python -m repro coverage claims --into docs/coverage.md"
    )


SAMPLE = [
    r"test session starts",
    r"^reproduced +\d+ statements of documents that agree with themselves \(",
    r"^\d+ claims wait for \d+ runs.*: about \d+ min of training",
    r"^\[█+ *\] \d+/\d+ claims, about \d+ min left: .* \| \d+/~?\d+ runs",
    r"^=+ claims =+$",
    r"^source +reproduced refuted inconclusive not run   agrees disagrees$",
    r"^not run: \d+, ",
    r"^\d+ of \d+ settled verdicts stand",
    r"^\d+ distinct runs needed: \d+ trained now",
    r"^=+ .*\d+ passed, .* =+$",
]
"""The parts of a session's log, in their order."""


def test_the_sample_of_a_session_has_all_that_is_said_of_it():
    text = (DOCS / "sample-session.log").read_text()
    found = [re.search(part, text, re.MULTILINE) for part in SAMPLE]
    assert [part for part, match in zip(SAMPLE, found, strict=True) if match is None] == []
    starts = [match.start() for match in found]
    assert starts == sorted(starts)
    lines = text[: found[4].start()].split("\n")
    assert max(map(len, lines)) <= WIDTH_OF_A_FILE
    named = r"(?:reproduced|refuted|inconclusive) +(\d{3}/.+?)(?:  | \()"
    announced = [match[1] for match in map(re.compile(named).match, lines) if match]
    assert len(announced) > 200
    assert len(announced) == len(set(announced))
    assert text[found[4].start() :].count("\n") <= MOST_LINES
    assert "\r" not in text
    assert not re.search(r"(?<![\w.])/(tmp|root|home|work|opt)\b", text)


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_commands_run_as_they_are_written(command, tmp_path):
    for folder in ("claims", "docs"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    done = subprocess.run([sys.executable, "-m", "repro", *shlex.split(command)], cwd=tmp_path)
    assert done.returncode == 0
    for page in DOCS.glob("*.md"):  # some commands write into them
        assert (tmp_path / "docs" / page.name).read_text() == page.read_text()


@pytest.mark.parametrize("name", sorted(BENCHMARKS))
def test_benchmarks_are_there_and_can_be_loaded(name, monkeypatch):
    """They take minutes each, so that is all."""
    if name == "benchmarks/in_jax.py":
        oracle("jax")
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks"), *sys.path])
    runpy.run_path(str(ROOT / name))


def test_options_are_those_that_there_are():
    asked = [("pytest", "-p", "no:cacheprovider"), *(("repro", *action) for action in ACTIONS)]
    helps = [[sys.executable, "-m", *command, "--help"] for command in asked]
    known = "".join(
        subprocess.run(each, cwd=ROOT, capture_output=True, text=True).stdout for each in helps
    )
    assert len(OPTIONS) > 8
    known += known.replace("--repro-", "--")  # the short names are in the place of these
    assert [option for option in sorted(OPTIONS) if option not in known] == []


def test_every_environment_variable_is_listed():
    """Those that pytest's workers and Python set for themselves are no settings of repro."""
    source = "".join(path.read_text() for path in (ROOT / "repro").rglob("*.py"))
    read = set(re.findall(r"environ(?:\.\w+)?[\[(]\"([A-Z_]+)\"", source))
    read = {name for name in read if not name.startswith(("PYTEST_", "PYTHON"))}
    assert "REPRO_DATA" in read
    page = (DOCS / "options.md").read_text()
    assert [name for name in sorted(read) if f"| `{name}` |" not in page] == []


def test_the_site_has_every_page():
    nav = (ROOT / "mkdocs.yml").read_text().partition("nav:\n")[2]
    assert [path.name for path in DOCS.glob("*.md") if f": {path.name}\n" not in nav] == []


@pytest.mark.thorough
def test_the_site_can_be_built(tmp_path):
    oracle("material")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict"]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        [*command, "--site-dir", str(tmp_path)], cwd=ROOT, env=quiet, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    words = (tmp_path / "words" / "index.html").read_text()
    assert "is_at_most_times(ratio, of)" in words
    options = (tmp_path / "options" / "index.html").read_text()
    for name in OURS:
        assert f"--{name}" in options
    helped = subprocess.run(
        [sys.executable, "-m", "repro", "--help"], capture_output=True, text=True
    )
    commands = re.findall(r"^    (\w+) +\w", helped.stdout, re.MULTILINE)
    assert "store" in commands
    assert [each for each in commands if f"python -m repro {each}" not in options] == []
    assert "<!-- words" not in words


PAGES = [*sorted(DOCS.rglob("*.md")), ROOT / "README.md"]


def links_of(page):
    """Return the places that a page leads to, from its folder."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"\]\((?!http)([^)#\s]+)[^)]*\)", text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    assert [link for link in links_of(page) if not (page.parent / link).exists()] == []


@pytest.mark.parametrize(
    "page", sorted((DOCS / "findings").glob("*.md")), ids=lambda page: page.name
)
def test_a_page_of_findings_says_where_its_source_is(page):
    assert "**Where it is.**" in page.read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_is_led_to_and_leads_on(page):
    others = [other for other in PAGES if other != page]
    ways = {other: {(other.parent / link).resolve() for link in links_of(other)} for other in PAGES}
    assert any(page.resolve() in ways[other] for other in others), "no page links to it"
    assert any(other.resolve() in ways[page] for other in others), "it links to no page"
