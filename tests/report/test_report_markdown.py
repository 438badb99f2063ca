"""The summary for a pull request: short, and what it quotes stays text."""

from dataclasses import replace

import pytest

from repro.judge import Outcome
from repro.ledger import Change
from repro.report.ending import LIMIT, ROWS, summary
from repro.report.results import Failure, ResultsDocument
from tests.report.records import record


def test_the_end_of_the_session_comes_first_and_claims_are_folded(results):
    failures = [Failure("refuted", "pytest one.py"), Failure("error", "pytest two.py")]
    text = summary(replace(results, failures=failures))
    order = [
        "## Claims", "    failed: 2\n      refuted: pytest one.py", "    against the ledger: 1",
        "    not run: 1", "quantities are settled", "Not in the ledger yet: 8", "Refuted: 3",
    ]  # fmt: skip
    assert sorted(order, key=text.index) == order
    assert text.count("<details><summary>") == text.count("\n\n</details>") == 2
    assert "004/climbs" in text[text.index("<details>") :]
    assert "004/climbs" not in text[: text.index("<details>")]
    records = [replace(each, change_kind=Change.NONE) for each in results.claims]
    assert "Nothing changed against the ledger." in summary(replace(results, claims=records))


def test_a_list_has_so_many_rows_and_says_how_many_more(results):
    one = next(each for each in results.claims if each.claim == "004/falls")
    text = summary(replace(results, claims=[one] * (ROWS[0] + 3)))
    assert text.count("      004/falls: refuted, worse") == ROWS[0]
    assert text.count("and 3 more, ") == 2


def fullest(letter, claims):
    """The results that have the most to say, in words of one letter."""
    words = letter * 5000
    sources = [f"{n % 500:03}/{n}{words}" for n in range(claims)]
    records = [
        record(name, verdict, sentence=words, documented=words, measured=words, text=name,
               accepted="reproduced" if n % 2 else None, change_kind=Change.WORSE)
        for n, name in enumerate(sources)
        for verdict in (Outcome.REFUTED, Outcome.NOT_RUN)
    ]  # fmt: skip
    failures = [Failure("refuted", words)] * claims
    return ResultsDocument(
        claims=records, arms={}, figures=[], evidence=[words] * 50, failures=failures
    )


@pytest.mark.parametrize("claims", [3, pytest.param(600, marks=pytest.mark.thorough)])
def test_however_much_there_is_to_say_it_fits(claims):
    sizes = {letter: len(summary(fullest(letter, claims)).encode()) for letter in "x&<界|"}
    assert max(sizes.values()) <= LIMIT, sizes
