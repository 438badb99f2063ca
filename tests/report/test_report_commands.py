"""The commands `diff` and `badge`: two reports or ledgers compared, and one as a picture."""

import json
from pathlib import Path
from xml.etree import ElementTree

from repro.__main__ import main
from repro.ledger import Entry, Ledger
from repro.report.badge import badge
from repro.report.diff import Said, pairs
from repro.report.write import write_data
from tests.attacks.strategies import is_calm

SAID = Said("reproduced", "")


def ledger(folder, **verdicts):
    path = folder / "ledger" / "test_it.toml"
    path.parent.mkdir(parents=True)
    Ledger(path, []).accept(
        Entry(f"004/{name}", "ci", "twin", verdict, "A sentence", "", measured)
        for name, (verdict, measured) in verdicts.items()
    )
    return str(path.parent)


def test_claims_are_paired_by_their_place_and_else_by_their_name():
    climbs, falls = ("004/climbs", "ci", "twin"), ("004/falls", "ci", "twin")
    real, large = ("004/climbs", "ci", "cifar10"), ("004/climbs", "paper", "cifar10")
    for old, new, expected in (
        ([climbs, falls], [climbs, falls], [(climbs, climbs), (falls, falls)]),
        ([climbs], [real], [(climbs, real)]),
        ([climbs], [real, large], [(climbs, None), (None, real), (None, large)]),
        ([climbs, falls], [climbs], [(climbs, climbs), (falls, None)]),
    ):
        found = pairs(*(dict.fromkeys(places, SAID) for places in (old, new)))
        assert sorted(found, key=str) == sorted(expected, key=str)


def test_two_ledgers_are_compared_claim_by_claim(tmp_path, capsys):
    old = ledger(tmp_path / "old", a=("reproduced", "1"), b=("refuted", "2"), c=("refuted", "3"))
    new = ledger(tmp_path / "new", a=("refuted", "4"), b=("refuted", "5"), d=("inconclusive", ""))
    assert main(["diff", old, old]) == 0
    assert capsys.readouterr().out.startswith("3 verdicts the same, 0 of them")
    assert main(["diff", old, new]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "reproduced → refuted  004/a (ci, twin)",
        "  1",
        "  4",
        "only old: refuted  004/c (ci, twin)  3",
        "only new: inconclusive  004/d (ci, twin)  ",
        "1 verdict the same, 1 of them with other numbers; 1 other, 1 only old, 1 only new",
    ]


def test_a_report_is_compared_by_its_results(results, tmp_path, capsys):
    write_data(tmp_path / "old", results)
    assert main(["diff", str(tmp_path / "old"), str(tmp_path / "old" / "results.json")]) == 0
    judged = sum(record.verdict != "not run" for record in results.claims)
    assert capsys.readouterr().out.startswith(f"{judged} verdicts the same")


def test_words_of_a_report_stay_on_their_lines(tmp_path, capsys):
    words = "\x1b[2J\u202ea\nb"
    for name, verdict, data in (("old", "reproduced", "twin"), ("new", "refuted", f"real{words}")):
        each = {"claim": words, "profile": words, "data": data, "verdict": verdict}
        (tmp_path / f"{name}.json").write_text(json.dumps({"claims": [each | {"measured": words}]}))
    assert main(["diff", *(str(tmp_path / f"{name}.json") for name in ("old", "new"))]) == 1
    lines = capsys.readouterr().out.removesuffix("\n").split("\n")
    assert len(lines) == 4
    assert all(map(is_calm, lines))


def test_what_is_no_report_is_refused_in_a_sentence(tmp_path, capsys):
    for content in ("[", "[]", "{}", json.dumps({"claims": [{"claim": "a"}]})):
        (tmp_path / "results.json").write_text(content)
        assert main(["diff", str(tmp_path), str(tmp_path)]) == 1, content
        said = capsys.readouterr().err
        assert "is no results.json of a report" in said
        assert said.count("\n") == 1


def texts(picture):
    root = ElementTree.fromstring(picture)
    return root.get("aria-label"), [each.text for each in root.findall(".//{*}text")]


def test_a_badge_counts_what_ledgers_have_checked(tmp_path, capsys):
    whole = Path(ledger(tmp_path, a=("reproduced", ""), b=("refuted", "")))
    Ledger(whole / "test_other.toml", []).accept([Entry("9/c", "ci", "", "refuted", "", "", "")])
    assert main(["badge", str(whole / "test_it.toml")]) == 0
    assert texts(capsys.readouterr().out)[1] == ["claims", "2 findings checked"]
    assert main(["badge", str(whole)]) == 0
    printed = capsys.readouterr().out
    counts = "claims: 1 reproduced, 2 refuted"
    assert texts(printed) == (counts, ["claims", "3 findings checked"])
    assert texts(badge([])) == ("claims: none judged", ["claims", "none judged"])
    picture = tmp_path / "new" / "claims.svg"
    assert main(["badge", str(whole), "--into", str(picture)]) == 0
    assert picture.read_text() == printed
    assert main(["badge", str(whole), "--into", str(tmp_path)]) == 1
    assert "was not written" in capsys.readouterr().err
