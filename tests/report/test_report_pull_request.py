"""The summary for a pull request: short, and what it quotes stays text."""

import re

from repro.report.pull_request import MOST_ROWS, summary


def test_it_counts_and_says_what_changed(session):
    records, _ = session
    text = summary(records, "over the whole suite 3 of 3 settled verdicts stand")
    assert "1 not run" in text
    assert "| `004/falls` | reproduced | refuted |" in text
    assert "### Refuted" in text


def test_nothing_changed_is_said_too(session):
    records = [record | {"change": ""} for record in session[0]]
    assert "Nothing changed against the ledger." in summary(records, "")


def test_it_stays_short(session):
    records = session[0] * 30
    assert summary(records, "").count("\n| `") == MOST_ROWS + min(
        MOST_ROWS, sum(record["verdict"] == "refuted" for record in records)
    )


def test_markup_stays_text(session):
    nasty = "a|b`<script>alert(1)</script> [x](javascript:y) @all\n# big"
    records = [session[0][1] | {"claim": nasty, "sentence": nasty, "measured": nasty}]
    text = summary(records, "")
    outside_of_code = re.sub(r"(?<!\\)`[^`]*`", "", text)
    assert "<script>" not in outside_of_code
    assert "@all" not in outside_of_code
    assert "\n# big" not in text
    assert "\\[x\\](javascript" in outside_of_code
