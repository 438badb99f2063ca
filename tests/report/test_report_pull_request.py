"""The summary for a pull request: short, and what it quotes stays text."""

import re
from dataclasses import replace

from repro.judge import Outcome
from repro.report.pull_request import MOST_ROWS, summary
from tests.report.records import record


def test_it_counts_and_says_what_changed(results):
    text = summary(results.claims)
    assert "1 not run" in text
    assert "| `004/falls` | reproduced | refuted |" in text
    assert "### Refuted" in text
    assert "over the whole suite (Holm" in text


def test_nothing_changed_is_said_too(results):
    records = [replace(each, change="") for each in results.claims]
    assert "Nothing changed against the ledger." in summary(records)


def test_it_stays_short(results):
    records = results.claims * 30
    refuted = sum(each.verdict is Outcome.REFUTED for each in records)
    assert summary(records).count("\n| `") == MOST_ROWS + min(MOST_ROWS, refuted)


def test_markup_stays_text():
    nasty = "a|b`<script>alert(1)</script> [x](javascript:y) @all\n# big"
    text = summary([record(nasty, Outcome.REFUTED, sentence=nasty, measured=nasty)])
    outside_of_code = re.sub(r"(?<!\\)`[^`]*`", "", text)
    assert "<script>" not in outside_of_code
    assert "@all" not in outside_of_code
    assert "\n# big" not in text
    assert "\\[x\\](javascript" in outside_of_code
