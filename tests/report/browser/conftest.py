"""A real browser, where one is installed: these tests skip elsewhere."""

import os
import shutil

import pytest

from repro.report.write import write_page
from tests.oracles import oracle

RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}
SWITCHES = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"]


@pytest.fixture(scope="session")
def browser():
    """Chromium, started once; `CHROMIUM` names one that is not on the path."""
    program = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if program is None:
        pytest.skip("needs chromium: apt-get install chromium, or name one in CHROMIUM")
    sync_api = oracle("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=SWITCHES)
        yield started
        started.close()


@pytest.fixture(scope="session")
def report(shared_results, store, tmp_path_factory):
    """The address of a page on disk."""
    folder = tmp_path_factory.mktemp("report")
    write_page(folder, shared_results, store)
    return (folder / "index.html").as_uri()


@pytest.fixture
def page(browser, report):
    """The page as a reader sees it; the messages of its console are in `page.complaints`."""
    opened = open_page(browser, report)
    opened.evaluate("document.getElementById('filter').hidden = false")  # its claims are few
    yield opened
    assert opened.complaints == []
    opened.context.close()


def open_page(browser, address, *, width=1280, scheme="light"):
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True
    )
    page = context.new_page()
    page.complaints = []
    page.on("console", lambda message: page.complaints.append(message.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on(
        "request",
        lambda request: request.url == address or page.complaints.append(request.url),
    )
    page.goto(address)
    return page


def require_readable(page, width):
    """Hold a page against the rules of WCAG; the test is skipped where axe is not installed."""
    axe = oracle("axe_playwright_python.sync_playwright")
    checks = axe.Axe().run(page, options=RULES).response
    assert [(v["id"], v["nodes"][0]["html"][:120]) for v in checks["violations"]] == []
    assert {"color-contrast", "landmark-one-main", "region"} <= {p["id"] for p in checks["passes"]}
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.complaints == []
