"""The content of the page, made from the results: sources, their claims, the arms behind them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from repro.ledger import Change, short_source
from repro.report.curves import training
from repro.report.figure import FigureData
from repro.report.intervals import forest
from repro.report.page.arms import Study, studies
from repro.report.record import ClaimRecord
from repro.report.results import CHANGES, ResultsDocument
from repro.report.runs import LOSS, ArmRuns
from repro.report.session import file_link
from repro.report.svg import PagePlot
from repro.report.values import ArmValue, arm_values


@dataclass
class Section:
    """The content of the page about one source: its claims and its figures."""

    id: str
    claims: list[ClaimRecord] = field(default_factory=list)
    """The trained claims of the source, and after them its statements about itself."""
    figures: list[FigureData] = field(default_factory=list)

    @property
    def anchor(self) -> str:
        return anchor("source", self.id)

    @property
    def about(self) -> str:
        return self.claims[0].about if self.claims else ""

    @property
    def trained(self) -> list[ClaimRecord]:
        return [record for record in self.claims if not record.is_about_a_document]

    @property
    def statements(self) -> list[ClaimRecord]:
        return [record for record in self.claims if record.is_about_a_document]

    @property
    def forests(self) -> list[PagePlot]:
        return forest(self.trained, anchors=list(map(claim_anchor, self.trained)))


class Page:
    """The results, and the stored runs of their arms, as the page asks for them."""

    def __init__(self, results: ResultsDocument, runs: Mapping[str, ArmRuns]) -> None:
        self.results = results
        self._runs = runs
        sources: dict[str, Section] = {}
        for record in sorted(results.claims, key=lambda record: record.is_about_a_document):
            name = short_source(record.source)
            sources.setdefault(name, Section(name)).claims.append(record)
        for figure in results.figures:
            name = short_source(figure.source)
            sources.setdefault(name, Section(name)).figures.append(figure)
        self.sources = [source for _, source in sorted(sources.items())]
        self.by_command = {record.command: record for record in results.claims}

    def change(self, record: ClaimRecord) -> str:
        """Return the kind of a claim's change against the ledger, to filter by."""
        if record.change_kind is Change.NEW:
            return "new"
        return "changed" if record.change_kind in CHANGES else "as it was"

    def link(self, record: ClaimRecord) -> str:
        """Return the address of a claim's test; empty where there is none."""
        return file_link(self.results.session.files, record.file, record.line)

    def values(self, record: ClaimRecord) -> list[ArmValue]:
        """Return the arms' own values, in the unit of what is documented."""
        return arm_values(record, self.results.arms)

    def training(self, record: ClaimRecord) -> PagePlot | None:
        """Return the curves of a claim's arms: the loss, and the first metric that has some."""
        curves = [self._runs[arm].curves for arm in record.arms]
        known = [metric for metric in record.metrics if any(metric in each for each in curves)]
        return training(curves, next((metric for metric in known if metric != LOSS), LOSS))

    def studies(self, source: Section) -> list[Study]:
        """Return the arms that were trained for a source, by study."""
        return studies(source.trained, self.results.arms, self._runs)


def anchor(kind: str, *parts: str) -> str:
    """Return a short name made of what an element shows, the same in every report."""
    return f"{kind}-{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:10]}"


def claim_anchor(record: ClaimRecord) -> str:
    """Return the name by which the page links to a claim."""
    return anchor("claim", record.claim, record.profile, record.data)
