"""The HTML of a page that was laid out. Everything shown is escaped; plots are SVG."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from repro.report.counts import ONE, count_lines
from repro.report.page.arms import ranges
from repro.report.page.view import MOST_VALUES, VERDICTS, View, counted
from repro.report.words import WORDS
from repro.text import shown, shown_lines

if TYPE_CHECKING:
    from jinja2 import Environment

MOST_LISTED = 100
"""Rows of a list above the table of an index; on a page of everything a list is whole."""

ROWS_IN_A_BODY = 100
"""Rows of the index that a browser lays out together, once they come into view."""


def render(view: View) -> str:
    """Return the page of everything as one document, with its style and its script inside."""
    return "".join(_parts("page.html", "table.js", view=view, most_listed=None))


def render_index(view: View) -> Iterator[str]:
    """Yield the parts of the page that has a row for each claim, and its details elsewhere."""
    most = {"most_listed": MOST_LISTED, "rows_in_a_body": ROWS_IN_A_BODY}
    return _parts("index.html", "table.js", view=view, **most)


def render_block(view: View, title: str, beside: list[tuple[str, str]]) -> Iterator[str]:
    """Yield the parts of a page of some claims; `beside` are the pages next to it."""
    return _parts("block.html", view=view, title=title, beside=beside)


def _parts(template: str, *scripts: str, **given: Any) -> Iterator[str]:
    from markupsafe import Markup

    script = "\n".join(['"use strict";', *map(_read, (*scripts, "details.js"))])
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    given |= {"script": Markup(script), "allowed_script": f"sha256-{allowed}"}
    return _templates().get_template(template).generate(**given)


@cache
def _templates() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup, escape

    templates = Environment(
        loader=PackageLoader("repro.report", "page"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {"number": number, "counted": counted, "ranges": ranges}
    templates.filters["by_kind"] = lambda claims: "; ".join(count_lines([c.record for c in claims]))
    templates.filters["lines"] = lambda text: escape(shown_lines(text))
    templates.globals |= {
        "verdicts": VERDICTS,
        "whose": ONE,
        "words": WORDS,
        "most_values": MOST_VALUES,
        "markup": Markup,
        "style": Markup(_read("page.css")),
    }
    return templates


def _shown(value: Any) -> Any:
    """Return what the page shows for a value: of markup itself, of a text what can be seen."""
    return shown(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def number(value: float | None) -> str:
    """Return a number as text, with as many digits as a reader can use.

    >>> number(1234.5), number(-0.0412), number(2e-9), number(None)
    ('1234', '−0.0412', '2e−09', '')
    """
    if value is None:
        return ""
    digits = f"{value:.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.3g}"
    return digits.replace("-", "−")


@cache
def _read(name: str) -> str:
    return files("repro.report.page").joinpath(name).read_text(encoding="utf-8")
