"""The command `findings`: verdicts counted by source and data, for a page."""

import pytest

from repro.__main__ import main
from repro.ledger import Entry, Ledger
from repro.report.findings import BEGIN, END, findings_table


def entry(claim, data, verdict, kind="source"):
    return Entry(claim, "ci", data, verdict, "A sentence", "", "", kind)


ENTRIES = [
    entry("004/b", "cifar10", "reproduced"),
    entry("004/a[x/y]", "cifar10", "reproduced"),
    entry("004/a[x/y]", "cifar10-twin", "refuted"),
    entry("000/c", "text", "inconclusive"),
    entry("004/d", "cifar10", "reproduced", "control"),
]
TABLE = """\
| source | judged on | reproduced | refuted | inconclusive |
| --- | --- | --: | --: | --: |
| 000 | text | 0 | 0 | 1 |
| 004 | cifar10 | 2 | 0 | 0 |
| 004 | cifar10-twin | 0 | 1 | 0 |
| 004, our controls | cifar10 | 1 | 0 | 0 |
"""


@pytest.fixture
def ledgers(tmp_path):
    Ledger(tmp_path / "one.toml", []).accept(ENTRIES[:2])
    Ledger(tmp_path / "two.toml", []).accept(ENTRIES[2:])
    return [str(tmp_path / name) for name in ("one.toml", "two.toml")]


def test_verdicts_are_counted_by_source_and_data():
    assert findings_table(ENTRIES) == TABLE


def test_several_ledgers_are_one_table(ledgers, capsys):
    assert main(["findings", *ledgers]) == 0
    assert capsys.readouterr().out == TABLE


def test_it_is_written_between_its_marks_and_nowhere_else(ledgers, tmp_path):
    page = tmp_path / "findings.md"
    page.write_text(f"before\n{BEGIN}old\n{END}\nafter\n")
    for _ in range(2):
        assert main(["findings", *ledgers, "--into", str(page)]) == 0
        assert page.read_text() == f"before\n{BEGIN}{TABLE}{END}\nafter\n"


@pytest.mark.parametrize("text", ["no marks", f"only {BEGIN}", f"only {END}"])
def test_without_marks_nothing_is_written(ledgers, tmp_path, capsys, text):
    page = tmp_path / "findings.md"
    page.write_text(text)
    assert main(["findings", *ledgers, "--into", str(page)]) == 1
    assert page.read_text() == text
    assert "findings: begin" in capsys.readouterr().err


def test_a_ledger_that_is_not_there_or_not_one_is_said_in_a_sentence(tmp_path, capsys):
    assert main(["findings", str(tmp_path / "none.toml")]) == 1
    assert "There is no ledger" in capsys.readouterr().err
    (tmp_path / "bad.toml").write_text("[[claim]\n")
    assert main(["findings", str(tmp_path / "bad.toml")]) == 1
    assert "cannot be read" in capsys.readouterr().err
