"""The pages on what was found: their tables are those of the ledgers, and so is their prose."""

import re
from pathlib import Path

import pytest

from repro.ledger import entries_at
from repro.report.findings import BEGIN, END
from repro.report.source_tables import size_of, source_tables

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs/findings").glob("*.md"))
ENTRIES = [
    entry
    for ledger in ("claims/ledger", "claims/documents/ledger")
    for entry in entries_at(ROOT / ledger)
]
CITED = re.compile(r"\[([^\]]+)\]\(\S+coverage\.md#source-(\d+) \"([^\"]+), (\w+), ([^\",]+)\"\)")
"""What a page says of a claim: a verdict or a number, with claim, size and data in the link."""


def cited_entries(source, claim, size, data):
    """Return the entries that a page cites: one case, or all of a claim."""
    return [
        entry
        for entry in ENTRIES
        if f"{source}/{claim}" in (entry.claim, entry.claim.partition("[")[0])
        and (size_of(entry.profile), entry.data) == (size, data)
    ]


def cited_wrongly(page):
    """Return the citations of a page that the ledgers do not bear out."""
    wrong = []
    for said, source, claim, size, data in CITED.findall(page):
        entries = cited_entries(source, claim, size, data)
        verdict = {"open": "inconclusive"}.get(said, said)
        if not entries or not all(verdict in (e.verdict, *_numbers(e.measured)) for e in entries):
            wrong.append((said, claim, [entry.verdict for entry in entries]))
    return wrong


def _numbers(measured):
    return re.findall(r"-?\d+(?:\.\d+)?(?:e[+-]\d+)?", measured)


def between_marks(page):
    return page.partition(BEGIN)[2].partition(END)[0]


def test_each_source_has_a_page():
    assert [page.stem for page in PAGES] == sorted({e.claim.partition("/")[0] for e in ENTRIES})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_has_the_tables_of_the_ledgers_and_says_what_they_say(page):
    text = page.read_text()
    assert between_marks(text).startswith(source_tables(ENTRIES, page.stem))
    assert len(CITED.findall(text)) == text.count("coverage.md#") >= 5
    assert cited_wrongly(text) == []


def test_a_verdict_that_a_page_gets_wrong_is_found():
    entry = next(e for e in ENTRIES if e.verdict == "refuted" and "[" not in e.claim)
    source, _, claim = entry.claim.partition("/")
    place = f'../coverage.md#source-{source} "{claim}, {size_of(entry.profile)}, {entry.data}"'
    assert cited_wrongly(f"[refuted]({place})") == []
    assert cited_wrongly(f"[reproduced]({place})") == [("reproduced", claim, ["refuted"])]
