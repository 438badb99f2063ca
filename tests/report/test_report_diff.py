"""The command `diff`: what two reports or ledgers say of the same claims."""

import json

import pytest

from repro.__main__ import main
from repro.ledger import Entry, Ledger
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
    same = dict.fromkeys([climbs, falls], SAID)
    assert pairs(same, same) == [(climbs, climbs), (falls, falls)]
    assert pairs({climbs: SAID}, {real: SAID}) == [(climbs, real)]
    several = pairs({climbs: SAID}, dict.fromkeys([real, large], SAID))
    assert sorted(several, key=str) == sorted(
        [(climbs, None), (None, real), (None, large)], key=str
    )
    assert pairs({climbs: SAID, falls: SAID}, {climbs: SAID}) == [(climbs, climbs), (falls, None)]


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


@pytest.mark.parametrize(
    "content",
    ["[", "[]", "{}", json.dumps({"claims": [{"claim": "a"}]})],
)
def test_what_is_no_report_is_refused_in_a_sentence(content, tmp_path, capsys):
    (tmp_path / "results.json").write_text(content)
    assert main(["diff", str(tmp_path), str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert "is no results.json of a report" in said
    assert said.count("\n") == 1
