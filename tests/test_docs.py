"""The guides run as they stand, and the pages say what the ledgers have."""

import html
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.oracles import oracle

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text()
FINDINGS = (DOCS / "findings.md").read_text()
LEDGERS = [ROOT / "claims" / "ledger", ROOT / "claims" / "documents" / "ledger"]
COVERAGE, TABLES, HEADLINES = (
    runpy.run_path(str(ROOT / "scripts" / x)) for x in ("coverage", "findings", "headlines")
)
ENTRIES = TABLES["read_entries"](LEDGERS)
CITED = re.compile(r"\[(\w+)\]\((\S+\.py) \"([^\"]+), (\w+), ([^\",]+)\"\)(?: \| ([^|]+) \|)?")
"""A verdict on a page, with claim, size and data in the link; in a table, what was measured too."""

MEASURED = re.compile(
    r"-?\d[\d.e+-]* \[-?[\d.e+-]+, -?[\d.e+-]+\](?: times)?(?: on log(?:-odds)?)?"
    r"(?:, claimed [<>] [\d.e+-]+)?, \d+ seeds"
)


@pytest.mark.thorough
def test_the_guide_to_writing_a_study_ends_in_a_verdict(pytester, monkeypatch):
    text = (DOCS / "writing-a-study.md").read_text()
    for name, content in re.findall(r"```python\n# (\S+\.py)\n(.*?)```", text, re.DOTALL):
        (pytester.path / name).write_text(content)
    monkeypatch.setenv("PYTHONPATH", str(pytester.path))
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.stdout.fnmatch_lines(["reproduced*mine/more_draws_are_better*"])
    assert result.ret == 0


@pytest.mark.thorough
@pytest.mark.parametrize(
    "guide", ["judge", "tutorial", "module", "script", "trainers", "new-source", "data-and-store"]
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


def first_training():
    """The command of the README's first training, and the line that it shows of it."""
    block = r"^(pytest claims -k .*)\n```\n\n```text\n(\w+ .*)\n```"
    return re.search(block, README, re.MULTILINE).groups()


def test_the_recorded_terminal_is_of_the_first_training():
    picture = (DOCS / "first-training.svg").read_text()
    said = html.unescape(re.sub(r"<[^>]*>", "", picture))
    for line in first_training():
        assert line in said, "run: scripts/terminal"
    assert not re.search(r"/(?:tmp|home|root)/", said)


@pytest.mark.thorough
def test_the_first_training_of_the_readme_is_one_claim_and_ends_as_shown():
    selected, shown = first_training()
    command = [sys.executable, "-m", *shlex.split(selected), "--collect-only", "-q"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "\n1/" in f"\n{said}", said
    verdict, name, measured = shown.split(maxsplit=2)
    (entry,) = (e for e in ENTRIES if (e.claim, e.data) == (name, "cifar10-twin"))
    assert (verdict, measured) == (entry.verdict, entry.measured)


def test_the_page_of_findings_is_current():
    made = TABLES["findings_table"](ENTRIES, TABLES["not_run"](ROOT / "claims", ENTRIES))
    assert TABLES["with_table"](FINDINGS, made) == FINDINGS, (
        f"run: python scripts/findings {' '.join(str(p.relative_to(ROOT)) for p in LEDGERS)}"
        " --into docs/findings.md"
    )


def test_the_readme_says_what_the_ledgers_have():
    assert len(CITED.findall(README)) >= 4
    assert len(MEASURED.findall(README)) >= len(CITED.findall(README))
    assert cited_wrongly(README, ROOT) == []
    made = HEADLINES["table"](ROOT / "claims")
    assert HEADLINES["with_table"](README, made) == README, (
        "run: python scripts/headlines claims --into README.md"
    )
    assert "not judged" not in made


def test_the_story_and_the_figure_of_the_readme_are_what_was_found():
    """Its numbers fit 30 characters and not 106; decreasing rates win, not over half the rate.

    Eight models are alike on WikiText-2, and BP stops climbing at two of four blocks.
    """
    verdicts = {
        (entry.claim.removeprefix("000/"), entry.profile): entry.verdict for entry in ENTRIES
    }
    assert verdicts["vocabulary_of_the_fallback[3-layers]", "any"] == "reproduced"
    assert verdicts["vocabulary_of_wikitext[3-layers]", "any"] == "refuted"
    assert verdicts["decreasing_rates_are_best[repeated-sentences]", "ci"] == "reproduced"
    of_half = verdicts["decreasing_rates_beat_half_the_rate[repeated-sentences]", "ci"]
    assert of_half == "inconclusive"
    means = figure_means("000", "wikitext-2", "the eight models")
    assert f"between {min(means):.1f} and {max(means):.1f}" in README
    assert len(means) == 8
    climb = figure_means("004", "d=256, L=4", "BP")
    assert climb.index(max(climb)) == 2
    assert len(climb) == 5


def figure_means(source, panel, line):
    """Our means along a line of a source's first figure, which is of the documented size."""
    text = (DOCS / "findings" / f"{source}.md").read_text()
    text = text.partition("At the documented size, on ")[2].partition("At the small size, on ")[0]
    rows = re.findall(rf"^\| {panel} \| {line} \|[^|]*\|[^|]*\| ([\d.]+) \|", text, re.MULTILINE)
    return [float(mean) for mean in rows]


def test_exit_codes_are_the_same_in_the_skill_that_the_package_brings():
    rows = re.compile(r"^\| \d \| .* \|$", re.MULTILINE)
    skill = (ROOT / "repro" / "skill" / "SKILL.md").read_text()
    assert len(rows.findall(skill)) == 6
    assert rows.findall(skill) == rows.findall((DOCS / "options.md").read_text())


def test_the_page_of_coverage_is_current():
    assert (DOCS / "coverage.md").read_text() == COVERAGE["coverage_page"](ROOT / "claims"), (
        "run: python scripts/coverage claims --into docs/coverage.md"
    )


def test_each_test_of_a_claim_is_in_the_list_of_sentences():
    rows = COVERAGE["read_rows"](ROOT / "claims" / "coverage.toml")
    listed = {name for row in rows for name, _ in row.judges}
    files = (ROOT / "claims").rglob("test_*.py")
    judged = {name for path in files for name, _ in COVERAGE["read_judges"](path)}
    assert len(judged) > 200
    assert judged - listed == set()


def test_an_experiment_that_each_profile_has_at_its_documented_size_counts_once():
    (entry,) = (e for e in ENTRIES if (e.claim, e.data) == ("004/initial_stack_ratio", "cifar10"))
    assert entry.profile == "paper"


def test_a_row_names_a_case_and_no_case_whose_name_contains_it():
    entries = [entry for entry in ENTRIES if entry.claim.startswith("002/steps_help[")]
    of_case = COVERAGE["of_case"]
    assert {entry.claim for entry in of_case(entries, "wide")} == {"002/steps_help[wide]"}
    assert not of_case(entries, "deep")
    assert of_case(entries, "*wide*") != of_case(entries, "wide")
    assert of_case(entries, "") == entries


def test_a_sentence_that_nothing_judges_is_refused(tmp_path):
    row = 'source = "900"\nnumber = "1"\nsays = "It rises"\nread = "today"\n'
    for judges in ("", 'judged_by = ["it_falls"]', 'tested_by = ["tests/test_it.py::test_it"]'):
        (tmp_path / "coverage.toml").write_text(f"[[claim]]\n{row}{judges}")
        with pytest.raises(COVERAGE["CoverageError"], match="Claim 1 of source 900"):
            COVERAGE["coverage_page"](tmp_path)


def cited_wrongly(text, folder):
    """Return the citations of a page in a folder that the ledgers do not bear out."""
    wrong = []
    for said, place, claim, size, data, measured in CITED.findall(text):
        entries = [
            entry
            for entry in ENTRIES
            if claim in (entry.claim, entry.claim.partition("[")[0])
            and (TABLES["size_of"](entry.profile, entry.data), entry.data) == (size, data)
        ]
        test = f"def test_{claim.partition('/')[2].partition('[')[0]}("
        is_there = test in (folder / place).read_text()
        is_so = entries and all(entry.verdict == said for entry in entries)
        if measured and is_so:
            is_so = f" = {measured}" in entries[0].measured
        if not (is_there and is_so):
            wrong.append((said, claim, [(entry.verdict, entry.measured) for entry in entries]))
    return wrong


def test_each_source_has_a_page_with_the_tables_of_the_ledgers():
    pages = {page.stem: page.read_text() for page in sorted((DOCS / "findings").glob("*.md"))}
    assert list(pages) == sorted({entry.claim.partition("/")[0] for entry in ENTRIES})
    for source, text in pages.items():
        assert TABLES["source_tables"](ENTRIES, source) in text, (
            f"run: python scripts/findings ({source})"
        )
        assert len(CITED.findall(text)) >= 5, source
        assert cited_wrongly(text, DOCS / "findings") == [], source
        measured = [entry.measured for entry in ENTRIES if entry.claim.startswith(source)]
        for number in MEASURED.findall(text):
            assert any(f" = {number}" in each for each in measured), (source, number)


RUNS = "method,loss\n" + "".join(f"new,0.{n}\nold,1.{n}\n" for n in range(10, 15))
"""A table of one's own, which the pages judge."""


@pytest.mark.thorough
def test_commands_run_as_they_are_written(tmp_path):
    """Some write into the pages, which stay as they are."""
    pages = [ROOT / "README.md", *DOCS.rglob("*.md")]
    texts = [re.sub(r"^#.*", "", path.read_text(), flags=re.MULTILINE) for path in pages]
    form = r"`python (-m repro [^`\[]+|scripts/(?:coverage|findings|headlines) [^`\[]+)`"
    written = {command for text in texts for command in re.findall(form, text)}
    before = {path.name: path.read_bytes() for path in DOCS.glob("*.md")}
    failed = []
    for place, command in enumerate(sorted(written)):
        project = tmp_path / str(place)
        for folder in ("claims", "docs"):
            shutil.copytree(ROOT / folder, project / folder)
        for folder in ("tests", "scripts"):
            (project / folder).symlink_to(ROOT / folder)
        (project / "runs.csv").write_text(RUNS)
        said = [sys.executable, *shlex.split(command)]
        done = subprocess.run(said, cwd=project, capture_output=True, text=True)
        failed += [f"{command}: {done.stderr}"] if done.returncode else []
        after = {path.name: path.read_bytes() for path in (project / "docs").glob("*.md")}
        failed += [f"{command} changes {name}" for name in before if after[name] != before[name]]
    assert failed == []
