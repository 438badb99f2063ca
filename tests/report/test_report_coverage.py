"""The page of coverage: no claim of a source without its judge, its sizes and its verdicts."""

import re
from pathlib import Path

import pytest

from repro.__main__ import main
from repro.ledger import Entry, Ledger
from repro.report.coverage import CoverageError, coverage_page, read_judges, read_rows

ROOT = Path(__file__).parents[2]
SHEETS = ROOT.parent / "shared" / "sources"
CLAIMS = """
import pytest
from repro import claim
from repro.arm import Needs

RESULTS = "900, Results"
places = f"{RESULTS}, Table"

@claim("climbs", source=RESULTS)
def test_it_climbs(trials):
    assert trials(ARM).accuracy > 0.5

@claim("as printed", source=f"{places} 2", only_at="paper")
@pytest.mark.parametrize("row", [1, 2])
def test_row(trials, row):
    assert trials(ARM).accuracy > 0.5

@claim("starts", source="900")
def test_start(trials):
    assert trials(ARM, size="paper").norm > 0.5

@claim("agrees", source="900, Table")
def test_table(document):
    assert document("1") < 2

@claim("takes a minute", source="900")
def test_duration(trials):
    raise Needs("needs its | machine")

def test_nothing():
    pass
"""
LISTED = """
[[claim]]
source = "900"
number = "1"
says = "it climbs | by k"
judged_by = ["it_climbs", "table"]
read = "2026-11-23"
mended = "nothing"

[[claim]]
source = "900"
number = "2"
says = "the rest"
judged_by = ["row", "start", "duration"]
tested_by = ["tests/test_x.py::test_exactly"]
read = "2026-11-23"
mended = "a claim of its own"
"""


@pytest.fixture
def claims(tmp_path):
    folder = tmp_path / "claims"
    folder.mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_x.py").write_text("def test_exactly():\n    pass\n")
    (folder / "test_it.py").write_text(CLAIMS)
    (folder / "coverage.toml").write_text(LISTED)
    entries = [
        Entry(f"900/it_climbs[{case}]", "ci", "images", verdict, "climbs", "", "")
        for case, verdict in (("a", "reproduced"), ("b", "refuted"))
    ]
    (folder / "ledger").mkdir()
    Ledger(folder / "ledger" / "test_it.toml", []).accept(entries)
    return folder


def test_a_file_of_claims_says_how_each_is_judged(claims):
    judges = dict(read_judges(claims / "test_it.py"))
    assert {name: judge.sizes for name, judge in judges.items()} == {
        "900/it_climbs": "ci, paper",
        "900/row": "paper",
        "900/start": "paper, untrained",
        "900/table": "the document",
        "900/duration": "ci, paper",
    }
    assert judges["900/duration"].needs == "needs its | machine"


def test_each_claim_is_shown_with_its_judges_and_verdicts(claims, capsys):
    assert main(["coverage", str(claims)]) == 0
    shown = capsys.readouterr().out
    first, second = (line for line in shown.splitlines() if line.startswith(("| 1 ", "| 2 ")))
    assert first == (
        "| 1 | it climbs \\| by k | `it_climbs`<br>`table` | ci, paper; the document | ci, images:"
        " 1 refuted, 1 reproduced<br>no verdict yet | 2026-11-23 | nothing |"
    )
    assert "not run: needs `--profile paper`" in second
    assert "not run: needs its \\| machine" in second
    assert "holds exactly, by ordinary tests" in second
    page = claims.parent / "coverage.md"
    assert main(["coverage", str(claims), "--into", str(page)]) == 0
    assert page.read_text() == shown == coverage_page(claims)


def test_of_a_claim_that_names_cases_those_alone_are_shown(claims):
    of_one = LISTED.replace('"it_climbs", "table"', '"it_climbs[b]", "it_climbs[c]"')
    (claims / "coverage.toml").write_text(of_one)
    (line,) = (x for x in coverage_page(claims).splitlines() if x.startswith("| 1 "))
    assert "| ci, images: 1 refuted<br>no verdict yet |" in line


WRONG = [
    ('judged_by = ["it_climbs", "table"]', "", "Claim 1 of source 900 .* judged by nothing"),
    ('"it_climbs", ', '"it_falls", ', "judged by '900/it_falls', which is no claim"),
    ("::test_exactly", "::test_else", "tested by 'tests/test_x.py::test_else', which there is"),
    ("test_x.py", "test_y.py", "tested by 'tests/test_y.py::test_exactly', which there is not"),
    ('number = "2"', 'number = "1"', "lists claim 1 of source 900 twice"),
    ("says", "say", "cannot be read .* list each claim as"),
    ("[[claim]]", "[[claims]]", "cannot be read"),
    ('read = "2026-11-23"', 'read = ""', "Claim 1 of source 900 .* has no read"),
]


def test_a_claim_without_a_judge_is_refused(claims, capsys):
    for old, new, sentence in WRONG:
        (claims / "coverage.toml").write_text(LISTED.replace(old, new))
        with pytest.raises(CoverageError, match=sentence):
            coverage_page(claims)
    assert main(["coverage", str(claims)]) == 1
    assert re.search(WRONG[-1][2], capsys.readouterr().err)
    assert main(["coverage", str(claims.parent)]) == 1
    assert "coverage.toml cannot be read" in capsys.readouterr().err


def test_no_claim_of_the_project_is_missing_in_its_table():
    claims = ROOT / "claims"
    listed = {name for row in read_rows(claims / "coverage.toml") for name, _ in row.judges}
    judged = {name for path in claims.rglob("test_*.py") for name, _ in read_judges(path)}
    assert len(judged) > 200
    assert judged - listed == set()


def listed_in(sheet):
    """The claims of a fact sheet: by their numbers, else by their places under a heading."""
    source = sheet.name[:3]
    text = re.search(
        rf"### Claims list {source}\n(.*?)(?=\n### |\Z)", sheet.read_text(), re.DOTALL
    )[1]
    numbers = re.findall(r"(?:^|; |\. )(\d{1,2}) ", text)
    if numbers[:2] == ["1", "2"]:
        return numbers
    found = []
    for line in text.strip().splitlines():
        label, rest = re.match(r"(?:((?:BLiMP|LAMBADA|Text|Extended)[^:]*): )?(.*)", line).groups()
        without_asides = re.sub(r"\([^()]*\)|\[[^\[\]]*\]", "", rest)
        count = without_asides.count(";") + 1
        found += [f"{label} {n}" if label else str(n) for n in range(1, count + 1)]
    return found


@pytest.mark.skipif(not SHEETS.is_dir(), reason="needs the fact sheets of the sources")
def test_no_claim_of_a_fact_sheet_is_missing():
    rows = read_rows(ROOT / "claims" / "coverage.toml")
    for source in ("000", "001", "002", "003", "004"):
        (sheet,) = (path for path in SHEETS.glob(f"{source}-*.md") if "original" not in path.name)
        listed = [row.number for row in rows if row.source == source]
        assert [number for number in listed if not number.startswith("+")] == listed_in(sheet)
        assert len(listed) >= 20
