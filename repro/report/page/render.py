"""The HTML of a page that was laid out. Everything shown is escaped; plots are SVG."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import Any

from repro.report.counts import ONE, count_lines
from repro.report.page.view import MOST_VALUES, VERDICTS, View, counted, ranges
from repro.report.words import WORDS
from repro.text import shown, shown_lines


def render(view: View) -> str:
    """Return the page as one document, with its style and its script inside."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup, escape

    pages = Environment(
        loader=PackageLoader("repro.report", "page"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pages.filters |= {"number": number, "counted": counted, "ranges": ranges}
    pages.filters["by_kind"] = lambda claims: "; ".join(count_lines([c.record for c in claims]))
    pages.filters["lines"] = lambda text: escape(shown_lines(text))
    style, script = _read("page.css"), _read("page.js")
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return pages.get_template("page.html").render(
        view=view,
        verdicts=VERDICTS,
        whose=ONE,
        style=Markup(style),
        script=Markup(script),
        words=WORDS,
        most_values=MOST_VALUES,
        allowed_script=f"sha256-{allowed}",
        markup=Markup,
    )


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


def _read(name: str) -> str:
    return files("repro.report.page").joinpath(name).read_text(encoding="utf-8")
