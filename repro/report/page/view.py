"""The layout of the page, made from the results: sources, their claims, the arms behind them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from repro.ledger import Change, short_source
from repro.report.curves import figure_plot, training
from repro.report.figure import FigureData, caption
from repro.report.intervals import forest, seeds
from repro.report.page.arms import Study, studies
from repro.report.record import ClaimRecord, SampleData
from repro.report.results import CHANGES, Failure, ResultsDocument
from repro.report.runs import LOSS, ArmRuns
from repro.report.session import file_link
from repro.report.svg import PagePlot
from repro.report.values import ArmValue, Measurement, arm_values, measurement_of


@dataclass(frozen=True)
class Claim:
    """One claim with everything that is shown of it: a row of the table, and its details."""

    record: ClaimRecord
    anchor: str
    name: str
    """The claim's name without its source."""
    link: str
    """The address of its test; empty where there is none."""
    measured: Measurement | None
    values: list[ArmValue]
    """The arms' own values, in the unit of what is documented."""
    samples: list[SampleData]
    seeds: list[PagePlot]
    training: PagePlot | None
    arms: list[tuple[str, str]]
    """Anchor and label, in the order of the curves."""

    @property
    def change(self) -> str:
        """The kind of its change against the ledger, to filter by."""
        if self.record.change_kind is Change.NEW:
            return "new"
        return "changed" if self.record.change_kind in CHANGES else "as it was"

    @property
    def stands(self) -> str:
        """Tells if the verdict stands, to filter by; empty where that is no question."""
        if self.record.stands is None or not self.record.is_settled:
            return ""
        return "stands" if self.record.stands else "does not stand"


@dataclass
class Source:
    """A document with its claims, its figures, and the arms that were trained for it."""

    id: str
    claims: list[Claim] = field(default_factory=list)
    figures: list[tuple[str, str, PagePlot]] = field(default_factory=list)
    """Title, caption, plot."""
    forests: list[PagePlot] = field(default_factory=list)
    studies: list[Study] = field(default_factory=list)

    @property
    def anchor(self) -> str:
        return anchor("source", self.id)

    @property
    def about(self) -> str:
        return self.claims[0].record.about if self.claims else ""

    @property
    def trained(self) -> list[Claim]:
        return [claim for claim in self.claims if not claim.record.is_about_a_document]

    @property
    def statements(self) -> list[Claim]:
        return [claim for claim in self.claims if claim.record.is_about_a_document]


@dataclass(frozen=True)
class View:
    """The whole page."""

    results: ResultsDocument
    sources: list[Source]
    shared: list[PagePlot]
    """Plots that several claims show."""

    @property
    def claims(self) -> list[Claim]:
        return [claim for source in self.sources for claim in source.claims]

    @property
    def failures(self) -> list[tuple[Failure, Claim | None]]:
        """The failures, each with its claim where that came to a verdict."""
        by_command = {claim.record.command: claim for claim in self.claims}
        return [(each, by_command.get(each.command)) for each in self.results.failures]

    @property
    def changed(self) -> list[Claim]:
        """Claims that are in the ledger with another verdict, what needs attention first."""
        by_record = {id(claim.record): claim for claim in self.claims}
        return [by_record[id(record)] for record in self.results.changed]


def anchor(kind: str, *parts: str) -> str:
    """Return a short name made of what an element shows, the same in every report."""
    return f"{kind}-{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:10]}"


def lay_out_page(results: ResultsDocument, runs: Mapping[str, ArmRuns]) -> View:
    """Lay out these results with the stored runs of their arms."""
    shared: dict[str, PagePlot] = {}
    sources: dict[str, Source] = {}
    for record in sorted(results.claims, key=lambda record: record.is_about_a_document):
        name = short_source(record.source)
        claims = sources.setdefault(name, Source(name)).claims
        claims.append(_claim(record, results, runs, shared))
    for figure in results.figures:
        name = short_source(figure.source)
        sources.setdefault(name, Source(name)).figures.append(_figure(figure))
    for source in sources.values():
        trained = source.trained
        records = [claim.record for claim in trained]
        anchors = [claim.anchor for claim in trained]
        source.forests = forest(records, name=anchor("forest", source.id), anchors=anchors)
        source.studies = studies(records, results.arms, runs)
    return View(results, [source for _, source in sorted(sources.items())], list(shared.values()))


def _claim(
    record: ClaimRecord,
    results: ResultsDocument,
    runs: Mapping[str, ArmRuns],
    shared: dict[str, PagePlot],
) -> Claim:
    """Return a claim with its plots; one that others may show is put into `shared`."""
    named = anchor("claim", record.claim, record.profile, record.data)
    source = short_source(record.source)
    return Claim(
        record=record,
        anchor=named,
        name=record.claim.partition("/")[2] or record.claim,
        link=file_link(results.session.files, record.file, record.line),
        measured=measurement_of(record),
        values=arm_values(record, results.arms),
        samples=[each for finding in record.findings for each in finding.samples],
        seeds=seeds(record.findings, name=f"seeds-{named}"),
        training=_training(record, results, runs, shared),
        arms=[(anchor("arm", source, arm), results.arms[arm].label) for arm in record.arms],
    )


def _training(
    record: ClaimRecord,
    results: ResultsDocument,
    runs: Mapping[str, ArmRuns],
    shared: dict[str, PagePlot],
) -> PagePlot | None:
    """Return the curves of a claim's arms; claims of the same arms and metric share a plot."""
    if not record.arms:
        return None
    curves = [(results.arms[arm].label, runs[arm].curves) for arm in record.arms]
    known = [metric for metric in record.metrics if any(metric in c for _, c in curves)]
    metric = next((metric for metric in known if metric != LOSS), LOSS)
    name = anchor("training", *record.arms, metric)
    if name not in shared:
        plot = training(curves, metric, name=name)
        if plot is None:
            return None
        shared[name] = plot
    return shared[name]


def _figure(figure: FigureData) -> tuple[str, str, PagePlot]:
    plot = figure_plot(figure, name=anchor("figure", figure.source, figure.name))
    return figure.title, caption(figure), plot
