"""The index of many claims in a real browser: what is not in view is not laid out."""

from dataclasses import replace

import pytest

from repro.report.write import MOST_ON_ONE_PAGE, write_page
from tests.report.browser.conftest import require_readable

pytestmark = pytest.mark.thorough

COUNT = MOST_ON_ONE_PAGE + 200
ROWS = "#table tbody tr"
LAID_OUT = """(rows) => rows.filter(
    (row) => row.checkVisibility({ contentVisibilityAuto: true })).length"""


@pytest.fixture(scope="module")
def folder(shared_results, store, tmp_path_factory):
    """A report with an index, of a claim of each kind over and over."""
    once = shared_results.claims
    many = [replace(once[n % len(once)], claim=f"000/claim_{n}") for n in range(COUNT)]
    folder = tmp_path_factory.mktemp("many")
    write_page(folder, replace(shared_results, claims=many), store)
    return folder


@pytest.fixture
def page(browser, folder, open_page):
    """The index; only files of the report may be asked for."""
    page = open_page(browser, (folder / "index.html").as_uri())
    yield page
    own = (folder.as_uri(), "chrome-error:")
    assert [each for each in page.complaints if not each.startswith(own)] == []
    page.context.close()


def test_rows_out_of_view_are_not_laid_out(page):
    rows = page.locator(ROWS)
    assert rows.count() == COUNT
    rows.first.scroll_into_view_if_needed()
    page.evaluate("new Promise((d) => requestAnimationFrame(() => requestAnimationFrame(d)))")
    assert 0 < rows.evaluate_all(LAID_OUT) < COUNT / 2
    assert page.get_by_role("table").get_by_role("row").count() > 0


def test_a_claim_opens_with_its_plots_and_the_way_back_keeps_the_filter(page):
    page.fill("[name=text]", "claim_1151")
    page.locator(f"{ROWS}:visible a").click()
    page.wait_for_url("**/claims/*.html*")  # which ends when the page has loaded
    shown = page.locator("details[open]")
    shown.first.wait_for()
    assert shown.count() == 1
    assert "claim_1151" in shown.locator("summary").first.text_content()
    assert shown.locator("svg").count() > 0
    page.go_back()
    assert page.locator(f"{ROWS}:visible").count() == 1
    page.locator(f"{ROWS}:visible a").click()
    page.get_by_role("link", name="All claims").click()
    page.wait_for_url("**/index.html*")
    assert page.locator(ROWS).count() == COUNT


def test_the_address_that_a_claim_had_on_one_page_leads_to_it(browser, folder, open_page, page):
    name = page.locator(ROWS).last.get_attribute("data-for")
    page.goto(f"{(folder / 'index.html').as_uri()}#{name}")
    page.wait_for_url(f"**/claims/*.html#{name}")
    assert page.locator("details[open]").get_attribute("id") == name


@pytest.mark.parametrize("name", ["index.html", "claims/0002.html"])
def test_everybody_can_read_a_large_report(browser, folder, open_page, name):
    page = open_page(browser, (folder / name).as_uri(), width=390)
    require_readable(page, 390)
