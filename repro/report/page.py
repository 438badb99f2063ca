"""Renders the page from the results as HTML, in which every text is escaped.

The page is one file that needs no network and can be sent to a co-author. Each source has a section
with its claims, its figures and its arms. Plots are SVG.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import statistics
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from repro.judge import Outcome
from repro.judge.effect import amount, digits
from repro.ledger import Change, short_source
from repro.recorded.readers import flat
from repro.recorded.runs import ranges
from repro.report.curves import caption, figure_plot, training
from repro.report.intervals import forest, seeds
from repro.report.records import (
    ArmData,
    ClaimRecord,
    EffectData,
    FigureData,
    FindingData,
    deciding_effect,
)
from repro.report.results_file import (
    CHANGES,
    ONE,
    ResultsDocument,
    count_lines,
    file_link,
    verdicts_of,
)
from repro.report.stored_runs import LOSS, ArmRuns, differing
from repro.report.svg import PagePlot
from repro.text import shown, shown_lines

if TYPE_CHECKING:
    from jinja2 import Environment

MOST_VALUES = 5
"""The most arms' values in a row of the table; the claim's own block shows all."""


def render(results: ResultsDocument, runs: Mapping[str, ArmRuns]) -> str:
    """Return the page as one HTML document, with its style and script."""
    return _templates().get_template("page.html").render(page=Page(results, runs))


@dataclass(frozen=True)
class Study:
    """The arms of one study with their runs, and their common and different settings."""

    name: str
    arms: dict[str, ArmData]
    runs: Mapping[str, ArmRuns]

    @cached_property
    def settings(self) -> dict[str, dict[str, str]]:
        """The settings of each arm as text."""
        return {
            name: {setting: written(value) for setting, value in flat(arm.settings).items()}
            for name, arm in self.arms.items()
        }

    @cached_property
    def columns(self) -> list[str]:
        """The settings in which arms differ."""
        return differing(self.settings.values())

    @property
    def common(self) -> list[tuple[str, str]]:
        """The settings that all arms share."""
        first = next(iter(self.settings.values()))
        return [(name, value) for name, value in first.items() if name not in self.columns]

    @property
    def made_by(self) -> list[str]:
        return list(dict.fromkeys(line for name in self.arms for line in self.runs[name].made_by))

    @property
    def seconds(self) -> float:
        return sum(self.runs[name].seconds for name in self.arms)


@dataclass
class Section:
    """The section of one source: its claims and its figures."""

    id: str
    trained: list[ClaimRecord] = field(default_factory=list)
    statements: list[ClaimRecord] = field(default_factory=list)
    """The claims about the document itself."""
    figures: list[FigureData] = field(default_factory=list)

    @property
    def claims(self) -> list[ClaimRecord]:
        return [*self.trained, *self.statements]

    @property
    def anchor(self) -> str:
        return anchor("source", self.id)

    @property
    def title(self) -> str:
        """The source's name, and the first sentence of the claim file with most of its claims."""
        return f"{self.id}: {self._said[0]}" if self._said[0] else f"Source {self.id}"

    @property
    def subtitle(self) -> str:
        """The rest of that file's first paragraph."""
        return self._said[1]

    @cached_property
    def _said(self) -> tuple[str, str]:
        files = Counter(record.about for record in self.trained or self.claims)
        about = files.most_common(1)[0][0] if files else ""
        first = re.match(r".+?[.?!](?= |$)", about)
        title = first[0] if first else about
        return title, about[len(title) :].strip()

    @property
    def forests(self) -> list[PagePlot]:
        return forest(self.trained, anchors=list(map(claim_anchor, self.trained)))


class Page:
    """The results and the stored runs, for the template of the page."""

    def __init__(self, results: ResultsDocument, runs: Mapping[str, ArmRuns]) -> None:
        self.results = results
        self._runs = runs
        sections: dict[str, Section] = {}
        for record in results.judged:
            name = short_source(record.source)
            section = sections.setdefault(name, Section(name))
            (section.statements if record.is_about_a_document else section.trained).append(record)
        for figure in results.figures:
            name = short_source(figure.source)
            sections.setdefault(name, Section(name)).figures.append(figure)
        self.sources = [section for _, section in sorted(sections.items())]
        self.by_command = {record.command: record for record in results.judged}

    @property
    def rows(self) -> list[tuple[Section, ClaimRecord]]:
        """All claims with their sections: what is settled first, and of that what was trained."""
        rows = [(source, record) for source in self.sources for record in source.claims]
        return sorted(rows, key=lambda row: (not row[1].is_settled, row[1].is_about_a_document))

    def change(self, record: ClaimRecord) -> str:
        """Return the kind of a claim's change against the ledger, for the filter."""
        if record.change_kind is Change.NEW:
            return "new"
        return "changed" if record.change_kind in CHANGES else "as it was"

    def link(self, record: ClaimRecord) -> str:
        """Return the address of a claim's test; empty without one."""
        return file_link(self.results.session.files, record.file, record.line)

    def values(self, record: ClaimRecord) -> list[ArmValue]:
        """Return the values of a claim's arms, in the order of the arms."""
        return arm_values(record, self.results.arms)

    def training(self, record: ClaimRecord) -> PagePlot | None:
        """Return the curves of a claim's arms: the loss, and its first metric with a curve."""
        curves = [
            {metric: curve.of(seeds) for metric, curve in self._runs[arm].curves.items()}
            for arm, seeds in record.arms.items()
        ]
        known = [metric for metric in record.metrics if any(metric in each for each in curves)]
        return training(curves, next((metric for metric in known if metric != LOSS), LOSS))

    def studies(self, source: Section) -> list[Study]:
        """Return the arms of a source, by study."""
        studies: dict[str, Study] = {}
        for name in (name for record in source.trained for name in record.arms):
            arm = self.results.arms[name]
            studies.setdefault(arm.study, Study(arm.study, {}, self._runs)).arms[name] = arm
        return list(studies.values())


@dataclass(frozen=True)
class ArmValue:
    """The value of one arm over its seeds."""

    label: str
    mean: float
    least: float
    most: float
    unit: str
    """The metric; empty if the claim has several and does not say which."""

    @property
    def varies(self) -> bool:
        return self.least < self.most


def arm_values(record: ClaimRecord, arms: Mapping[str, ArmData]) -> list[ArmValue]:
    """Return the value of each compared arm, in the order of the claim's arms."""
    values: list[ArmValue] = []
    for finding in record.findings:
        for place, sample in enumerate(finding.samples):
            known = [value for value in sample.values if value is not None]
            if known and not sample.fixed:
                mean, unit = statistics.fmean(known), _unit(record, finding, place)
                values.append(ArmValue(sample.label, mean, min(known), max(known), unit))
    labels = [arms[name].label for name in record.arms if name in arms]
    return sorted(dict.fromkeys(values), key=lambda value: _place(value.label, labels))


def _unit(record: ClaimRecord, finding: FindingData, place: int) -> str:
    units = {each.unit for each in finding.effects if place in each.sides} - {"ratio"}
    named = units & set(record.metrics) or set(record.metrics)
    return next(iter(named)).replace("_", " ") if len(named) == 1 else ""


def _place(label: str, arms: list[str]) -> int:
    """Return the index of the arm whose label begins this one; of several, the longest."""
    alike = [arm for arm in arms if label.startswith(arm)]
    return arms.index(max(alike, key=len)) if alike else len(arms)


def compared(record: ClaimRecord) -> EffectData | None:
    """Return the deciding comparison of a claim; None without one, or without a finite estimate."""
    decided = deciding_effect(record)
    return decided[1] if decided and decided[1].estimate is not None else None


def amount_of(effect: EffectData) -> str:
    """Return the effect of a comparison as text, with its interval if that is finite."""
    has_ends = not effect.exact and None not in (effect.low, effect.high)
    ends = [effect.low, effect.high] if has_ends else []
    if effect.unit != "ratio":
        return amount(*map(number, [effect.estimate, *ends]), on_scale=effect.on_scale)
    ratios = [digits(x, effect.unit) for x in (effect.estimate, *ends) if x is not None]
    return amount(*ratios, unit="times", on_scale=effect.on_scale)


@cache
def _templates() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup, escape

    templates = Environment(
        loader=PackageLoader("repro.report", "templates"),
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
        "amount": amount_of,
        "anchor": anchor,
        "claim_anchor": claim_anchor,
        "compared": compared,
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


def _read(name: str) -> str:
    return files("repro.report").joinpath("templates", name).read_text(encoding="utf-8")


def _shown(value: Any) -> Any:
    """Return a value for the page: markup as it is, a text with hidden characters escaped."""
    return shown(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def number(value: float | None) -> str:
    """Return a number as text, with three or four digits.

    >>> number(1234.5), number(-0.0412), number(2e-9), number(None)
    ('1234', '−0.0412', '2e−09', '')
    """
    if value is None:
        return ""
    digits = f"{value:.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.3g}"
    return digits.replace("-", "−")


def written(value: Any) -> str:
    """Return the value of a setting as text.

    >>> written(True), written(1), written(0.30000000000000004), written((1, None))
    ('yes', '1', '0.3', '1, none')
    """
    if isinstance(value, list | tuple):
        return ", ".join(map(written, value))
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)


def anchor(kind: str, *parts: str) -> str:
    """Return an element's anchor, a hash of its content: the same in every report."""
    return f"{kind}-{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:10]}"


def claim_anchor(record: ClaimRecord) -> str:
    """Return the anchor of a claim."""
    return anchor("claim", record.claim, record.profile, record.data)
