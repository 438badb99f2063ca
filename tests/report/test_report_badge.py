"""The command `badge`: what the ledgers say, as a picture."""

from xml.etree import ElementTree

from repro.__main__ import main
from repro.ledger import Entry, Ledger
from repro.report.badge import badge

SVG = "{http://www.w3.org/2000/svg}"


def entry(claim, verdict):
    return Entry(claim, "ci", "data", verdict, "A sentence", "", "", "source")


ENTRIES = [entry("004/a", "reproduced"), entry("004/b", "reproduced"), entry("004/c", "refuted")]


def texts(picture):
    return [each.text for each in ElementTree.fromstring(picture).iter(f"{SVG}text")]


def test_it_counts_what_was_checked_and_in_its_title_each_verdict():
    picture = badge(ENTRIES)
    assert texts(picture) == ["claims", "3 findings checked"]
    root = ElementTree.fromstring(picture)
    assert root.get("aria-label") == "claims: 2 reproduced, 1 refuted"


def test_an_empty_ledger_says_so():
    assert texts(badge([])) == ["claims", "none judged"]


def test_the_command(tmp_path, capsys):
    ledger, picture = tmp_path / "ledger" / "test_it.toml", tmp_path / "new" / "claims.svg"
    assert main(["badge", str(ledger)]) == 1
    assert "There is no ledger" in capsys.readouterr().err
    ledger.parent.mkdir()
    Ledger(ledger, []).accept(ENTRIES[:2])
    Ledger(ledger.with_name("test_other.toml"), []).accept(ENTRIES[2:])
    assert main(["badge", str(ledger)]) == 0
    assert texts(capsys.readouterr().out) == ["claims", "2 findings checked"]
    assert main(["badge", str(ledger.parent)]) == 0
    printed = capsys.readouterr().out
    assert texts(printed) == ["claims", "3 findings checked"]
    assert main(["badge", str(ledger.parent), "--into", str(picture)]) == 0
    assert picture.read_text() == printed
    assert main(["badge", str(ledger.parent), "--into", str(tmp_path)]) == 1
    assert "was not written" in capsys.readouterr().err
