"""The end of a session: short, in order, with commands that can be pasted; and as Markdown."""

import re
from dataclasses import replace

import pytest

from repro.judge import Outcome
from repro.ledger import Change
from repro.report.ending import LIMIT, MOST, MOST_LINES, ROWS, WIDTH, ending, summary
from repro.report.results_file import Failure, ResultsDocument, false_verdicts
from tests.report.records import record


def lines_of(records, failures=()):
    results = ResultsDocument(claims=records, arms={}, figures=[], failures=list(failures))
    return ending(results)


def text_of(records, failures=()):
    return "\n".join(line for line, _ in lines_of(records, failures))


def claim(n, verdict=Outcome.REPRODUCED, source="004", change_kind=Change.NONE, **more):
    given = {"change": change_kind, "change_kind": change_kind, "command": f"pytest c{n}"} | more
    return record(f"{source}/claim_{n}", verdict, **given)


def rows_of(records):
    lines = text_of(records).split("\n")
    head = next(i for i, line in enumerate(lines) if line.startswith("source"))
    rows = (re.split(r"  +", line.strip(), maxsplit=1) for line in lines[head + 1 :] if line)
    return {name: cells.split() for name, cells in rows}


def test_each_source_has_a_row_and_what_is_ours_is_apart():
    rows = rows_of(
        [
            claim(1), claim(2, Outcome.REFUTED), claim(3, Outcome.INCONCLUSIVE),
            claim(4, Outcome.REFUTED, profile="any"), claim(5, source="000", profile="any"),
            claim(6, kind="control"), claim(7, source="000", kind="control"),
            claim(8, Outcome.REFUTED, kind="question"), claim(9, "error"),
        ]
    )  # fmt: skip
    assert rows == {
        "000": ["·", "·", "·", "·", "1", "·"],
        "004": ["1", "1", "1", "·", "·", "1"],
        "our questions": ["·", "1", "·", "·", "·", "·"],
        "our controls": ["2", "·", "·", "·", "·", "·"],
        "all": ["3", "2", "1", "·", "1", "1"],
    }


def test_numbers_stand_below_their_words():
    head, row = text_of([claim(n) for n in range(1234)]).split("\n")[1:3]
    assert head.index("reproduced") + len("reproduced") == row.index("1234") + 4


def test_what_changed_comes_worst_first_and_what_is_new_is_only_counted():
    changes = [
        claim(1, change_kind=Change.NEW),
        claim(2, change_kind=Change.BETTER, accepted="refuted"),
        claim(3, Outcome.INCONCLUSIVE, change_kind=Change.OTHER, accepted="refuted"),
        claim(4, Outcome.REFUTED, change_kind=Change.WORSE, accepted="reproduced"),
        claim(5, Outcome.INCONCLUSIVE, change_kind=Change.OPEN, accepted="reproduced"),
        claim(6, change_kind=Change.SMALLER, accepted="reproduced"),
    ]
    text = text_of(changes)
    assert text.startswith("against the ledger: 4 changed, 1 not in it yet\n  004/claim_4: refuted")
    assert re.findall(r"^  004/claim_(\d)", text, re.MULTILINE) == ["4", "5", "3", "2"]


def test_what_failed_has_its_whole_command_and_is_not_told_twice():
    command = f'pytest "claims/test_it.py::test_it[{"x" * 99}]" --profile ci'
    worse = claim(1, Outcome.REFUTED, change_kind=Change.WORSE, command=command)
    text = text_of([worse], [Failure("refuted", command), Failure("error", "pytest e")])
    assert text.startswith(f"failed: 2\n  refuted: {command}\n  error: pytest e\n")
    assert "against the ledger" not in text


def test_reasons_not_to_run_are_told_once_the_most_frequent_first():
    reasons = ["needs a GPU", "needs --profile paper", "needs --profile paper"]
    text = text_of([claim(n, Outcome.NOT_RUN, text=why) for n, why in enumerate(reasons)])
    assert text.endswith("not run: 2, needs --profile paper\nnot run: 1, needs a GPU")


def test_however_much_there_is_to_say_it_is_short():
    """With what follows it, it is at most 40 lines; only commands may be longer than a line."""
    many = [
        claim(n, verdict, source=source, kind=kind, accepted="refuted", text=f"needs {n}",
              change_kind=Change.OTHER, sentence="long " * 99, measured="long " * 99)
        for source in ("000", "001", "002", "003", "004")
        for kind in ("source", "repository", "question", "control")
        for verdict in Outcome
        for n in range(30)
    ]  # fmt: skip
    failures = [Failure("refuted", f"pytest f{n}") for n in range(200)]
    lines = lines_of(many, failures)
    assert len(lines) <= 34
    assert max(len(line) for line, _ in lines) <= WIDTH
    assert sum(line.startswith("  and ") for line, _ in lines) == 3
    assert sum(line.startswith("  refuted: pytest") for line, _ in lines) == MOST


def test_of_many_sources_the_largest_have_a_row():
    many = [claim(n, source=f"{s:03}") for s in range(100) for n in range(1 + s % 50)]
    rows = rows_of(many)
    assert len(lines_of(many)) <= MOST_LINES + 2
    assert rows["049"][0] == "50"
    others = [cells for name, cells in rows.items() if name.endswith("other sources")]
    shown = sum(int(cells[0]) for name, cells in rows.items() if name.isdigit())
    assert shown + int(others[0][0]) == int(rows["all"][0]) == len(many)


def test_settled_verdicts_are_false_no_more_often_than_levels_add_up_to():
    judged = [
        *(record(f"strong {n}", Outcome.REPRODUCED, 0.001, false_at_most=0.01) for n in range(30)),
        record("against", Outcome.REFUTED, 0.004, false_at_most=0.02),
        *(record(f"open {n}", Outcome.INCONCLUSIVE, 1.0, false_at_most=0.01) for n in range(48)),
        record("exact", Outcome.REPRODUCED, None),
        record("absent", Outcome.NOT_RUN, None),
    ]
    assert false_verdicts(judged) == (
        "31 verdicts on random quantities are settled: on average at most 0.8 of them are false"
    )
    [one] = [record("one", Outcome.REPRODUCED, 0.001, false_at_most=0.01)]
    assert false_verdicts([one]).endswith("at most 0.01 of them is false")
    assert false_verdicts([record("open", Outcome.INCONCLUSIVE, 1.0, false_at_most=0.01)]) == ""
    assert false_verdicts([record("exact", Outcome.REPRODUCED, None)]) == ""


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
