"""The HTML of a page that was laid out. Everything shown is escaped; plots are SVG."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from repro.judge import Outcome
from repro.report.counts import ONE, count_lines, verdicts_of
from repro.report.curves import figure_plot
from repro.report.figure import caption
from repro.report.intervals import seeds
from repro.report.page.view import Page, anchor, claim_anchor, ranges
from repro.report.results import ResultsDocument
from repro.report.runs import ArmRuns
from repro.report.values import measurement_of
from repro.text import shown, shown_lines

if TYPE_CHECKING:
    from jinja2 import Environment

MOST_VALUES = 5
"""Values of arms that a row of the table shows; the claim itself shows all."""


def render(results: ResultsDocument, runs: Mapping[str, ArmRuns]) -> str:
    """Return the page as one document, with its style and its script inside."""
    return _templates().get_template("page.html").render(page=Page(results, runs))


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
    templates.filters |= {
        "number": number,
        "ranges": ranges,
        "lines": lambda text: escape(shown_lines(text)),
        "counted": verdicts_of,
        "by_kind": count_lines,
    }
    script = _read("page.js")
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    templates.globals |= {
        "anchor": anchor,
        "claim_anchor": claim_anchor,
        "measurement_of": measurement_of,
        "seeds": seeds,
        "figure_plot": figure_plot,
        "caption": caption,
        "verdicts": tuple(Outcome),
        "whose": ONE,
        "most_values": MOST_VALUES,
        "style": Markup(_read("plots.css") + _read("page.css")),
        "script": Markup(script),
        "allowed_script": f"sha256-{allowed}",
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


def _read(name: str) -> str:
    return files("repro.report.page").joinpath(name).read_text(encoding="utf-8")
