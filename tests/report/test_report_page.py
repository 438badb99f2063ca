"""The page: everything is on it, nothing on it can inject, it is small and asks no network."""

import json
import re
import statistics
import sys
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from repro.judge import Design, Judge
from repro.report.headlines import Headline
from repro.report.page import amount_of, arm_values, compared, render
from repro.report.records import from_json, to_json
from repro.report.results_file import Failure, ResultsDocument, SessionData
from repro.report.stored_runs import read_runs
from repro.report.write import NothingToDrawWith, write_data, write_page
from repro.text import HIDDEN
from tests.attacks.strategies import MARKUP, STEERING
from tests.report.records import arm, judged, measured

HOSTILE = " ".join(
    [*MARKUP, *STEERING, "</style></script><script>alert(1)</script>", "$\\frac{ $ {% raw %}"]
)


class Reader(HTMLParser):
    """The elements, attributes and text that a browser would see."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.attributes, self.text = [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_data(self, data):
        self.text += data


def page_of(results, store):
    return render(results, read_runs(results.arms, store))


CHOSEN = (
    "Every trained block adds", "Which credit rules", "0.389 → 0.617", "cifar10-twin", "climbs",
    "BP", "claims/test_depth_ladder.py", "pytest", "Results", "repro.studies.depth_ladder.study",
    "LadderArm", "another change", "depth_ladder", "Which rules", "trained blocks", "accuracy",
    "d=256", "--profile",
)  # fmt: skip
"""Pieces of all texts of the results that somebody chooses, such as names and sentences."""


def with_words(results, words):
    """The results with these words wherever somebody chooses them."""
    claims = [replace(record, change="another change") for record in results.claims]
    text = json.dumps(to_json(replace(results, claims=claims)), ensure_ascii=False)
    for piece in CHOSEN:
        assert piece in text, piece
        text = text.replace(piece, json.dumps(words)[1:-1])
    return from_json(ResultsDocument, json.loads(text))


def test_the_first_sentences_stand_first_and_what_is_settled_before_what_is_open(results, store):
    row = {name: f"its {name}" for name in ("sentence", "setting", "says", "compared", "claim")}
    first = Headline(**row, profile="ci", data="points", verdict="refuted", effect_size="smaller")
    text = page_of(replace(results, headlines=[first]), store)
    assert all(
        text.index(said) < text.index("At a glance") for said in row.values() if said != "its claim"
    )
    assert "refuted</span>, smaller <span" in text
    rows = re.findall(r'<tr data-for.*?data-verdict="([\w ]+)"', text)
    settled = [verdict in ("reproduced", "refuted") for verdict in rows]
    assert settled == sorted(settled, reverse=True)
    assert len(set(settled)) == 2


def test_everything_of_a_claim_is_on_the_page_which_asks_no_network(results, store):
    page = Reader(page_of(results, store))
    for record in results.claims:
        assert record.command in page.text
        assert record.text in page.text
        assert record.sentence in page.text
        if effect := compared(record):
            assert f"{effect.label} = {amount_of(effect)}" in page.text
    title = results.figures[0].title
    study, errors = "repro.studies.depth_ladder.study", "random quantities are settled"
    for words in ("abcabcabca", study, title, errors):
        assert words in page.text
    ids = [value for _, name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    links = {value[1:] for tag, name, value in page.attributes if (tag, name) == ("a", "href")}
    assert links <= set(ids)
    assert not {"link", "img", "iframe", "object", "embed"} & set(page.elements)  # no network
    assert not [each for each in page.attributes if each[1] in ("src", "xlink:href")]
    policy = next(v for tag, name, v in page.attributes if name == "content" and "src" in v)
    assert policy.startswith("default-src 'none'")


def test_words_cannot_inject(results, store):
    calm = Reader(page_of(with_words(results, "calm"), store))
    written = page_of(with_words(results, HOSTILE), store)
    assert not HIDDEN.search(written)
    page = Reader(written)
    assert page.elements == calm.elements
    assert [each[:2] for each in page.attributes] == [each[:2] for each in calm.attributes]
    links = [value for tag, name, value in page.attributes if name == "href"]
    assert all(link.startswith("#") for link in links)
    styles = [value for _, name, value in page.attributes if name == "style"]
    assert not [style for style in styles if "alert" in style]


def test_colours_are_those_of_the_page(results, store):
    text = page_of(results, store)
    drawn = "".join(re.findall(r"<svg.*?</svg>", text, re.S))
    assert drawn
    assert not re.search(r"(fill|stroke|key):\s*(#|rgb)", drawn)
    named = set(re.findall(r"--key:var\((--[\w -]+)\)", drawn))
    assert named >= {"--reproduced", "--refuted", "--inconclusive", "--series-0"}
    for scheme in re.findall(r":root \{(.*?)\}", text, re.S):
        assert named <= set(re.findall(r"(--[\w-]+):", scheme))


def test_it_stays_small(results, store):
    """A claim takes at most 7.5 kB beside what a page needs anyway: 2,000 fit into 15 MB."""
    once = [record for record in results.claims if record.claim not in ("000/share", "004/paper")]
    often = [replace(each, claim=f"{each.claim}[{i}]") for i in range(5) for each in once]
    one, five = (
        len(page_of(replace(results, claims=claims), store).encode()) for claims in (once, often)
    )
    assert (five - one) / (len(often) - len(once)) < 7500


def test_without_what_draws_the_data_is_written_and_one_sentence_says_what_to_install(
    results, store, tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    paths = write_data(tmp_path, results)
    assert {path.name for path in paths} >= {"results.json", "claims.csv", "summary.md"}
    with pytest.raises(NothingToDrawWith, match=r"pip install 'repro-claims\[report\]'"):
        write_page(tmp_path, results, store)


def test_the_foot_says_which_session_it_was_and_claims_link_to_their_lines(results, store):
    session = SessionData(
        project="study",
        version="7.8.9",
        commit="1f2e" * 10,
        uncommitted_changes=True,
        date="2026-01-02T03:04+00:00",
        command="pytest claims --report found",
        profile="paper",
        machine="a machine",
        files="https://github.com/some/study/blob/1f2e/",
    )
    page = Reader(page_of(replace(results, session=session), store))
    links = [value for tag, name, value in page.attributes if (tag, name) == ("a", "href")]
    assert session.files + "claims/test_depth_ladder.py#L8" in links
    text = page.text
    assert "claims/test_depth_ladder.py, line 8" in text
    head, _, rest = " ".join(text.split()).partition("At a glance")
    foot = rest[: rest.index("Written by")][-600:]
    assert "study · size paper · 2026-01-02" in head
    for words in ("study", "1f2e1f2e1f2e with uncommitted changes", "2026-01-02T03:04", "paper",
                  "pytest claims --report found", "a machine", "repro 7.8.9"):  # fmt: skip
        assert words in foot


def test_the_order_is_that_of_the_terminal(results, store):
    falls = next(record for record in results.claims if record.claim == "004/falls")
    said = "Traceback\n  ValueError: <no seven>"
    failures = [Failure("refuted", falls.command), Failure("error", "pytest lost.py", said)]
    text = Reader(page_of(replace(results, failures=failures), store)).text
    parts = ["Failed: 2", "Changed against the ledger: 1", "At a glance", "Not run", "All claims"]
    assert sorted(parts, key=text.index) == parts
    assert "pytest lost.py" in text
    assert said in text
    assert "1 claim: needs --profile paper" in text


def test_the_sentence_comes_before_the_name_and_the_values_beside_what_is_documented(
    results, store
):
    text = page_of(results, store)
    row = re.search(r'<tr data-for="[^>]*><td>.*?004/value.*?</tr>', text, re.S)[0]
    row = row[row.rindex("<tr") :]
    shown = " ".join(re.sub(r"<[^>]+>", " ", row).split())
    assert shown.startswith("Every trained block adds to the accuracy 004/value")
    assert "0.389 → 0.617 BP k=1 0.4" in shown


def claim(means, finding):
    judge = Judge(Design(looks=(5,)))
    rungs = [measured(judge, f"BP k={k}", mean) for k, mean in means.items()]
    return judged("004/it", finding(*rungs), arms=[arm(k) for k in means])


def values_of(claim):
    return arm_values(claim.record, claim.arms)


def test_every_arm_has_its_mean_its_range_and_its_metric():
    one = claim({2: 0.4, 3: 0.6}, lambda a, b: b > a)
    low, high = values_of(one)
    assert (low.label, high.label, low.unit) == ("BP k=2", "BP k=3", "accuracy")
    assert low.mean == statistics.fmean(one.record.findings[0].samples[1].values)
    assert low.least < low.mean < low.most
    only = claim({2: 0.4}, lambda a: a > 0.1)  # a number is no arm
    assert [value.label for value in values_of(only)] == ["BP k=2"]
    one.record.findings[0].samples[0].values[:] = [None] * 5
    assert len(values_of(one)) == 1


def test_values_come_in_the_order_of_the_arms_and_not_of_the_comparison():
    for means, finding, expected in (
        ((2, 12), lambda a, b: b > a, (2, 12)),
        ((1, 2, 12), lambda a, b, c: c > a, (1, 12)),  # the name of one begins that of another
        ((1, 2, 12), lambda a, b, c: (c > b) & (b > a), (1, 2, 12)),
    ):
        made = claim({k: 0.4 + 0.02 * k for k in means}, finding)
        assert made.record.findings[0].samples[0].label == "BP k=12"
        assert [value.label for value in values_of(made)] == [f"BP k={k}" for k in expected]


def test_the_table_shows_the_comparison_that_decides():
    """Of several findings it is the last with the claim's own outcome."""
    one = claim({2: 0.4, 3: 0.6}, lambda a, b: a > b)
    other = claim({2: 0.4, 3: 0.6}, lambda a, b: b > a)
    findings = [*one.record.findings, *other.record.findings]
    both = replace(one.record, findings=findings)
    assert both.verdict == "refuted"
    assert compared(both).label == compared(one.record).label == "BP k=2 - BP k=3"


def test_an_effect_is_said_as_in_a_verdict():
    one = claim({2: 0.4, 3: 0.6}, lambda a, b: b > a).record
    effect = compared(one)
    assert one.measured == f"{effect.label} = {amount_of(effect)}, 5 seeds"
    scaled = replace(effect, plain=-0.1, on_scale="log", estimate=-1234.5, low=None)
    assert amount_of(scaled) == "−1234 on log"
    ratio = replace(effect, unit="ratio", estimate=1.0471, low=0.97143, high=2.1234)
    assert amount_of(ratio) == "1.047 [0.971, 2.12] times"
