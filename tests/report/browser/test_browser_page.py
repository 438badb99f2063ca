"""The page in a real browser: it opens, filters, sorts, follows links, prints, and can be read."""

import pytest

from tests.report.browser.conftest import open_page, require_readable

pytestmark = pytest.mark.thorough

FORESTS = 2 + 2  # of 004: a difference, a value; of 000: a ratio, a difference


def rows(page):
    return page.locator("#table tbody tr:visible")


def names(page):
    return [name.split("/")[1] for name in rows(page).locator(".name").all_text_contents()]


def test_it_shows_every_claim_and_every_plot(page, results):
    assert rows(page).count() == len(results.claims)
    assert page.locator("section.source").count() == 2
    trained = [record for record in results.claims if record.arms]
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    plots = page.locator("main svg[aria-label]:visible")
    # a claim has its seeds and its curves, a source a forest a unit; its figure is there twice
    assert plots.count() == 2 * len(trained) + FORESTS + 2 * len(results.figures)
    for i in range(plots.count()):
        box = plots.nth(i).bounding_box()
        assert box["width"] > 200
        assert box["height"] > 30
    sizes = page.locator("main svg text").evaluate_all(
        "(all) => [...new Set(all.map((text) => getComputedStyle(text).fontSize))]"
    )
    assert set(sizes) == {"8px", "7.5px"}  # points of the plot: no rule of the page's own texts


def test_it_filters_by_what_a_claim_is_and_says(page, results):
    refuted = {r.claim.split("/")[1] for r in results.claims if r.verdict == "refuted"}
    for name, chosen, expected in (
        ("verdict", "refuted", refuted),
        ("change", "changed", {"falls"}),
        ("data", "the document", {"agrees", "share"}),
        ("size", "any", {"agrees", "share"}),
        ("whose", "control", {"within"}),
        ("kind", "document", {"agrees", "share"}),
    ):
        page.select_option(f"[name={name}]", chosen)
        assert set(names(page)) == expected, name
        assert page.locator("section.source > details:visible").count() == len(expected)
        claims = f"{len(expected)} claim{'s' * (len(expected) > 1)}"
        assert page.locator("#shown").text_content() == claims
        page.select_option(f"[name={name}]", "")
    page.select_option("[name=verdict]", "refuted")
    page.select_option("[name=source]", "004")
    assert names(page) == ["falls"]
    page.select_option("[name=verdict]", "")
    page.select_option("[name=source]", "000")
    page.fill("[name=text]", "149 PRINTED")
    assert names(page) == ["share"]
    page.fill("[name=text]", "no claim says this")
    assert rows(page).count() == 0


def test_it_sorts_numbers_as_numbers_and_by_keyboard(page):
    button = page.locator("#table th button").last
    button.focus()
    page.keyboard.press("Enter")
    head = page.locator("th[aria-sort]")
    assert head.get_attribute("aria-sort") == "ascending"
    cells = "#table tbody tr td:nth-child(5)"
    values = page.locator(cells).evaluate_all("(all) => all.map((cell) => cell.dataset.n ?? null)")
    numbers = [float(value) for value in values if value is not None]
    assert numbers == sorted(numbers)
    assert values[len(numbers) :] == [None] * (len(values) - len(numbers))
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    page.get_by_role("button", name="Claim").click()
    assert page.locator("th[aria-sort]").count() == 1


def test_a_link_opens_its_claim(page):
    page.locator("#table tr", has_text="004/climbs").get_by_role("link").click()
    shown = page.locator("details[open]")
    shown.first.wait_for()  # the address changes first, and the page is told of it then
    assert shown.count() == 1
    assert "REPRODUCED" in shown.locator("pre").text_content()
    assert shown.bounding_box()["y"] < 200


def test_it_prints_what_is_shown_in_full(page):
    page.select_option("[name=kind]", "document")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("section.source > details[open]").count() == 2
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details[open]").count() == 0


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_read_it(browser, report, width, scheme):
    page = open_page(browser, report, width=width, scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    require_readable(page, width)
