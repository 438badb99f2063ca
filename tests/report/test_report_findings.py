"""The command `findings`: verdicts counted by source and data, for a page."""

import pytest

from repro.__main__ import main
from repro.ledger import VERDICTS, Entry, Ledger
from repro.report.findings import BEGIN, END, findings_table
from repro.report.source_tables import source_tables


def entry(claim, data, verdict, kind="source", *, profile="ci"):
    return Entry(claim, profile, data, verdict, "A sentence", "", "a = 1 \u00b1 2", kind)


ENTRIES = [
    entry("004/b", "cifar10", "reproduced"),
    entry("004/a[x/y]", "cifar10", "reproduced"),
    entry("004/a[x/y]", "cifar10-twin", "refuted"),
    entry("000/c", "text", "inconclusive"),
    entry("004/d", "cifar10", "reproduced", "control"),
    entry("004/b", "cifar10", "refuted", profile="paper"),
]
TABLE = """\
| source | size | judged on | reproduced | refuted | inconclusive |
| --- | --- | --- | --: | --: | --: |
| 000 | small | text | 0 | 0 | 1 |
| 004 | documented | cifar10 | 0 | 1 | 0 |
| 004 | small | cifar10 | 2 | 0 | 0 |
| 004 | small | cifar10-twin | 0 | 1 | 0 |
| 004, our controls | small | cifar10 | 1 | 0 | 0 |
"""


@pytest.fixture
def ledgers(tmp_path):
    Ledger(tmp_path / "one.toml", []).accept(ENTRIES[:2])
    Ledger(tmp_path / "two.toml", []).accept(ENTRIES[2:])
    return [str(tmp_path / name) for name in ("one.toml", "two.toml")]


def test_verdicts_are_counted_by_source_and_data():
    assert findings_table(ENTRIES) == TABLE


def test_it_is_written_between_its_marks_and_nowhere_else(ledgers, tmp_path, capsys):
    assert main(["findings", *ledgers]) == 0
    assert capsys.readouterr().out == TABLE
    page = tmp_path / "findings.md"
    page.write_text(f"before\n{BEGIN}old\n{END}\nafter\n")
    for _ in range(2):
        assert main(["findings", *ledgers, "--into", str(page)]) == 0
        assert page.read_text() == f"before\n{BEGIN}{TABLE}{END}\nafter\n"


def test_without_marks_nothing_is_written(ledgers, tmp_path, capsys):
    page = tmp_path / "findings.md"
    for text in ("no marks", f"only {BEGIN}", f"only {END}"):
        page.write_text(text)
        assert main(["findings", *ledgers, "--into", str(page)]) == 1
        assert page.read_text() == text
        assert "findings: begin" in capsys.readouterr().err


def test_what_is_not_there_or_not_what_it_should_be_is_said_in_a_sentence(
    ledgers, tmp_path, capsys
):
    bad, none = tmp_path / "bad.toml", tmp_path / "none.toml"
    bad.write_text("[[claim]\n")
    (tmp_path / "results.json").write_text("{}")
    figures = ["--source", "004", "--figures", str(tmp_path / "results.json")]
    for arguments, sentence in (
        ([str(none)], "There is no ledger"),
        ([str(bad)], "cannot be read"),
        ([*ledgers, "--source", "007"], "no claim of a source '007'"),
        ([*ledgers, *figures], "is no results.json of a report"),
    ):
        assert main(["findings", *arguments]) == 1
        assert sentence in capsys.readouterr().err


def test_each_claim_of_a_source_is_shown_at_its_largest_size_and_on_real_data():
    assert (
        source_tables(ENTRIES, "004")
        == """\
### The source's claims

| claim | cifar10 |
| --- | --- |
| A sentence<br>`a` | *small size*: reproduced: a = 1 ± 2 |
| A sentence<br>`b` | *documented size*: refuted: a = 1 ± 2 |

### Our controls

| claim | cifar10 |
| --- | --- |
| A sentence<br>`d` | *small size*: reproduced: a = 1 ± 2 |
"""
    )


def test_generated_data_is_shown_where_there_is_no_other_and_cases_are_counted():
    cases = [entry(f"001/a[{n}]", "text-twin", verdict) for n, verdict in enumerate(VERDICTS)]
    assert "| *small size*: 1 reproduced, 1 refuted, 1 inconclusive |" in source_tables(
        cases, "001"
    )


def test_a_figure_is_a_table_of_every_point_beside_what_is_documented():
    lines = [
        {"label": "BP", "at": [0, 1], "values": [[0.5, 0.6, 0.7], []], "documented": [0.4, 0.45]},
        {"label": "FA", "at": [0, 1], "values": [[0.5], []], "documented": []},
    ]
    figure = {
        "title": "Accuracy",
        "source": "004, Results",
        "x": "k",
        "profile": "paper",
        "data": ["cifar10"],
        "panels": [{"title": "d=256", "lines": lines}],
    }
    small = figure | {"profile": "ci", "data": ["cifar10-twin"]}
    elsewhere = figure | {"source": "000", "title": "Elsewhere"}
    shown = source_tables(ENTRIES, "004", figures=[small, figure, elsewhere])
    assert shown.count("### Accuracy\n") == 1
    documented, at, of_small = shown.partition("At the small size, on cifar10-twin.")
    assert "At the documented size, on cifar10." in documented
    assert at
    assert "| d=256 | FA | 0 |  | 0.5 |  | 1 |" in of_small
    assert "| d=256 | BP | 0 | 0.4 | 0.6 | 0.1 | 3 |" in shown
    assert "| d=256 | BP | 1 | 0.45 |  |  | 0 |" in shown
    assert "| d=256 | FA | 0 |  | 0.5 |  | 1 |" in documented
    assert "| FA | 1 |" not in shown  # neither documented nor trained
    assert "Elsewhere" not in shown
