"""The page: everything is on it, nothing on it can inject, it is small and asks no network."""

import re
import sys
from html.parser import HTMLParser

import pytest

from repro.report.page.render import render
from repro.report.page.view import lay_out_page
from repro.report.results import gather
from repro.report.runs import read_runs
from repro.report.write import NothingToDrawWith, write_data, write_page

HOSTILE = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</style><script>alert(1)</script>",
    "{{ 7 * 7 }} {% raw %}",
    "<!-- ]]> &lt;b&gt; &#60;",
    "$\\frac{ $ \\x00 \x07 \x1b[31m",
    "javascript:alert(1)",
    "../../etc/passwd\u202e\u2028",
]


class Reader(HTMLParser):
    """What a browser would see: elements, attributes, text."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.attributes, self.text = [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_data(self, data):
        self.text += data


def page_of(records, figures, store):
    results = gather(records, figures)
    view = lay_out_page(results, read_runs(store, results["arms"]))
    return render(view, over_the_suite="all stand")


def with_words(session, words):
    """The same session, with these words wherever somebody else chooses them."""
    (first, *_), (figure,) = session
    finding = first["findings"][0]
    effects = [effect | {"label": words, "unit": words} for effect in finding["effects"]]
    samples = [sample | {"label": words} for sample in finding["samples"]]
    arms = [
        arm | {"label": words, "study": words, "settings": arm["settings"] | {"data": words}}
        for arm in first["arms"]
    ]
    chosen = ("sentence", "about", "documented", "data", "measured", "text", "file", "command")
    record = first | dict.fromkeys(chosen, words)
    record |= {"claim": f"004/{words}", "source": f"004, {words}", "change": words, "arms": arms}
    record["findings"] = [finding | {"effects": effects, "samples": samples}]
    (panel,) = figure["panels"]
    line = panel["lines"][0] | {"label": words}
    figure = figure | {"title": words, "x": words, "y": words, "data": [words], "name": words}
    return [record], [figure | {"panels": [panel | {"title": words, "lines": [line]}]}]


def test_everything_of_a_claim_is_on_the_page(session, store):
    page = Reader(page_of(*session, store))
    records, (figure,) = session
    for record in records:
        assert record["command"] in page.text
        assert record["text"] in page.text
        assert record["sentence"] in page.text
    for words in ("abcabcabca", "repro.studies.depth_ladder.study", figure["title"], "Holm"):
        assert words in page.text
    assert len(set(page.attributes)) > 0
    ids = [value for _, name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    links = {value[1:] for tag, name, value in page.attributes if (tag, name) == ("a", "href")}
    assert links <= set(ids)
    stamps = {value[1:] for tag, name, value in page.attributes if (tag, name) == ("use", "href")}
    assert stamps <= set(ids)


def test_it_asks_no_network(session, store):
    page = Reader(page_of(*session, store))
    assert not {"link", "img", "iframe", "object", "embed"} & set(page.elements)
    assert not [each for each in page.attributes if each[1] in ("src", "xlink:href")]
    policy = next(v for tag, name, v in page.attributes if name == "content" and "src" in v)
    assert policy.startswith("default-src 'none'")


@pytest.fixture(scope="module")
def calm(judged, figure, store):
    return Reader(page_of(*with_words((judged, [figure]), "calm"), store))


@pytest.mark.parametrize("words", HOSTILE)
def test_words_cannot_inject(session, store, calm, words):
    page = Reader(page_of(*with_words(session, words), store))
    assert page.elements == calm.elements
    assert [each[:2] for each in page.attributes] == [each[:2] for each in calm.attributes]
    links = [value for tag, name, value in page.attributes if name == "href"]
    assert all(link.startswith("#") for link in links)
    styles = [value for _, name, value in page.attributes if name == "style"]
    assert not [style for style in styles if words in style]


def test_colours_are_those_of_the_page(session, store):
    text = page_of(*session, store)
    drawn = "".join(re.findall(r"<svg.*?</svg>", text, re.S))
    assert drawn
    assert not re.search(r"(fill|stroke):\s*#", drawn)
    classes = "".join(re.findall(r"^\.p[0-9a-f]{4}\{.*\}$", text, re.M))
    assert "var(--ink)" in classes
    assert not re.search(r"#[0-9a-f]{6}", classes)


def test_it_stays_small(session, store):
    """At most 5 kB a claim beside what a page needs anyway, so that 400 fit into 2 MB."""
    records, figures = session
    many = [
        record | {"claim": f"{record['claim']}[{i}]"} for i in range(5) for record in records[:8]
    ]
    one = len(page_of(records[:8], figures, store).encode())
    five = len(page_of(many, figures, store).encode())
    assert (five - one) / (len(many) - 8) < 5000


@pytest.mark.parametrize("missing", ["matplotlib", "jinja2"])
def test_without_what_draws_the_data_is_written_and_one_sentence_says_what_to_install(
    session, store, tmp_path, monkeypatch, missing
):
    monkeypatch.setitem(sys.modules, missing, None)
    results, paths = write_data(tmp_path, *session)
    assert {path.name for path in paths} >= {"results.json", "claims.csv", "summary.md"}
    with pytest.raises(NothingToDrawWith, match=r"pip install 'repro\[report\]'"):
        write_page(tmp_path, results, store)


def test_the_same_results_are_the_same_page(session, store):
    assert page_of(*session, store) == page_of(*session, store)
