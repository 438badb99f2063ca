"""A report of many claims: an index, and pages of their details, each plot drawn once."""

import re
from dataclasses import replace

import pytest

from repro.report import write
from repro.report.page import blocks, claim
from repro.report.page.blocks import Block, in_blocks
from repro.report.page.view import Group
from repro.report.settled import Change
from repro.report.write import write_page
from tests.report.records import depth_ladder, record
from tests.report.test_report_page import HOSTILE, Reader, with_words


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Few claims are many here."""
    monkeypatch.setattr(write, "MOST_ON_ONE_PAGE", 4)
    monkeypatch.setattr(blocks, "CLAIMS_OF_A_BLOCK", 3)


def group(source, count, figures=()):
    return Group(source, [record(f"{source}/{n}") for n in range(count)], list(figures))


def pages_of(folder, results, store):
    return {
        path.relative_to(folder).as_posix(): Reader(path.read_text(encoding="utf-8"))
        for path in write_page(folder, results, store)
        if path.suffix == ".html"
    }


def attributes(page, tag, name):
    return [value for each, called, value in page.attributes if (each, called) == (tag, name)]


def test_a_page_has_small_sources_whole_and_parts_of_long_ones():
    figure = depth_ladder()
    made = in_blocks([group("000", 2), group("001", 5, [figure]), group("002", 0, [figure])])
    parts = [[(g.source, len(g.records), len(g.figures)) for g in each.groups] for each in made]
    assert parts == [
        [("000", 2, 0), ("001", 1, 1)],
        [("001", 3, 0)],
        [("001", 1, 0), ("002", 0, 1)],
    ]
    assert [each.name for each in made] == ["0001.html", "0002.html", "0003.html"]
    assert Block(12345).name == "12345.html"


def test_every_row_leads_to_its_claim(results, store, tmp_path):
    pages = pages_of(tmp_path, results, store)
    index = pages.pop("index.html")
    assert len(pages) == 4
    assert len(attributes(index, "tr", "data-for")) == len(results.claims)
    led = [link for link in attributes(index, "a", "href") if "claim-" in link]
    assert len(led) >= len(results.claims)
    for link in led:
        page, _, anchor = link.partition("#")
        assert anchor in attributes(pages[page], "details", "id"), link
    assert "svg" not in index.elements
    for each in results.claims:
        [page] = [page for page in pages.values() if each.command in page.text]
        assert each.text in page.text
        assert each.sentence in index.text


def test_every_link_of_a_page_is_answered(results, store, tmp_path):
    pages = pages_of(tmp_path, results, store)
    for name, page in pages.items():
        ids = [value for _, called, value in page.attributes if called == "id"]
        assert len(ids) == len(set(ids))
        for tag in ("a", "use"):
            for link in attributes(page, tag, "href"):
                to, _, anchor = link.partition("#")
                path = (tmp_path / name).parent / to
                there = path.resolve().relative_to(tmp_path.resolve()).as_posix() if to else name
                known = [v for _, called, v in pages[there].attributes if called == "id"]
                assert not anchor or anchor in known, f"{name} → {link}"


def test_what_two_pages_show_is_read_and_drawn_once(results, store, tmp_path, monkeypatch):
    wanted = next(each for each in results.claims if each.claim == "004/climbs")
    many = [replace(wanted, claim=f"004/{n}") for n in range(9)]
    drawn, read = [], []
    usual, measured = claim.training, store.measured
    monkeypatch.setattr(
        claim, "training", lambda *a, **k: drawn.append(k["name"]) or usual(*a, **k)
    )
    monkeypatch.setattr(store, "measured", lambda key: read.append(key) or measured(key))
    pages = pages_of(tmp_path, replace(results, claims=many, figures=[]), store)
    assert len(pages) == 4
    assert len(drawn) == 1
    assert len(read) == len(set(read)) > 0


@pytest.mark.thorough
def test_hostile_words_stay_words_on_every_page(results, store, tmp_path):
    def written(text):
        made = with_words(results, text)
        claims = [replace(made.claims[0], profile=f"{n}") for n in range(5)]
        (folder := tmp_path / str(len(text))).mkdir()
        return pages_of(folder, replace(made, claims=claims, figures=[]), store)

    calm, hostile = written("calm " * 20), written(HOSTILE)
    assert hostile.keys() == calm.keys()
    for name, page in hostile.items():
        assert page.elements == calm[name].elements
        names = [[each[:2] for each in one.attributes] for one in (page, calm[name])]
        assert names[0] == names[1]
        policy = next(v for _, called, v in page.attributes if called == "content" and "src" in v)
        assert re.search(r"default-src 'none'.*script-src 'sha256-[^' ]+';", policy)
        links = attributes(page, "a", "href")
        assert all(re.match(r"#|claims/\d+\.html#|\d+\.html$|\.\./index\.html$", x) for x in links)


def test_a_long_list_above_the_table_is_cut(results, store, tmp_path, monkeypatch):
    monkeypatch.setattr("repro.report.page.render.MOST_LISTED", 2)
    changed = [
        replace(each, accepted="refuted", change_kind=Change.BETTER) for each in results.claims
    ]
    index = pages_of(tmp_path, replace(results, claims=changed), store)["index.html"]
    assert f"Changed against the ledger: {len(changed)}" in index.text
    assert f"And {len(changed) - 2} more: choose “changed” below." in index.text
