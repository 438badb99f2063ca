"""The layout of a page, made from the results: sources, their claims, the arms behind them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from repro.document import ANY_PROFILE
from repro.judge import Outcome
from repro.ledger import short_source
from repro.report.ending import Failure, changes_of, reasons_of
from repro.report.figure import FigureData, caption
from repro.report.page.anchor import anchor
from repro.report.page.arms import Study, studies
from repro.report.page.claim import Row, claim_of, row_of
from repro.report.plots import figure_plot, forest
from repro.report.record import ClaimRecord
from repro.report.results import ResultsDocument
from repro.report.runs import ArmRuns
from repro.report.session import SessionData
from repro.report.svg import PagePlot

VERDICTS = tuple(Outcome)

MOST_VALUES = 5
"""Values of arms that a row of the table shows; the claim itself shows all."""


@dataclass(frozen=True)
class Source:
    """A document with its claims, and on the page that has their details its figures and arms."""

    id: str
    about: str
    anchor: str
    trained: Sequence[Row]
    statements: Sequence[Row]
    page: str = ""
    """The page where its claims' details begin; empty where that is the same one."""
    forests: list[PagePlot] = field(default_factory=list)
    figures: list[tuple[str, str, PagePlot]] = field(default_factory=list)
    """Title, caption, plot."""
    studies: list[Study] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"{self.page}#{self.anchor}"

    @property
    def claims(self) -> list[Row]:
        return [*self.trained, *self.statements]


@dataclass
class View:
    """A whole page."""

    sources: list[Source]
    shared: dict[str, PagePlot] = field(default_factory=dict)
    """Plots that several claims show."""
    standing: str = ""
    """The sentence on how many settled verdicts stand."""
    evidence: list[str] = field(default_factory=list)
    """Sentences on the files that the claims were judged from."""
    session: SessionData = field(default_factory=SessionData)
    failures: list[tuple[Failure, Row | None]] = field(default_factory=list)
    """The failures, each with its claim where that came to a verdict."""
    changed: list[Row] = field(default_factory=list)
    """Claims that are in the ledger with another verdict, what needs attention first."""
    not_run: list[tuple[str, int]] = field(default_factory=list)
    """Reasons why claims were not run, and how many there are of each."""

    @property
    def data(self) -> list[str]:
        return sorted({claim.record.data for claim in self.claims})

    @property
    def profiles(self) -> list[str]:
        return sorted({claim.record.profile for claim in self.claims})

    @property
    def rows(self) -> list[tuple[Source, Row]]:
        return [(source, claim) for source in self.sources for claim in source.claims]

    @property
    def claims(self) -> list[Row]:
        return [claim for source in self.sources for claim in source.claims]

    @property
    def trained(self) -> list[Row]:
        return [claim for source in self.sources for claim in source.trained]

    @property
    def statements(self) -> list[Row]:
        return [claim for source in self.sources for claim in source.statements]


@dataclass
class Group:
    """The claims of one source, those that were trained first, and its figures."""

    source: str
    records: list[ClaimRecord] = field(default_factory=list)
    figures: list[FigureData] = field(default_factory=list)

    @property
    def about(self) -> str:
        return next((record.about for record in self.records), "")

    @property
    def anchor(self) -> str:
        return anchor("source", self.source)


def groups_by_source(results: ResultsDocument) -> list[Group]:
    """Return the sources of these results in the order of the page."""
    groups: dict[str, Group] = {}
    for record in sorted(results.claims, key=_is_about_a_document):
        name = short_source(record.source)
        groups.setdefault(name, Group(name)).records.append(record)
    for figure in results.figures:
        name = short_source(figure.source)
        groups.setdefault(name, Group(name)).figures.append(figure)
    return [group for _, group in sorted(groups.items())]


def lay_out_page(
    results: ResultsDocument,
    runs: Mapping[str, ArmRuns],
    *,
    drawn: Mapping[str, PagePlot] | None = None,
) -> View:
    """Lay out these results with the stored runs of their arms.

    A plot of several claims that is in `drawn` already is not drawn again.
    """
    shared: dict[str, PagePlot] = {}
    sources: list[Source] = []
    for group in groups_by_source(results):
        claims = [claim_of(each, results, runs, shared, drawn or {}) for each in group.records]
        measured = [claim for claim in claims if not claim.about_a_document]
        sources.append(
            Source(
                id=group.source,
                about=group.about,
                anchor=group.anchor,
                trained=measured,
                statements=[claim for claim in claims if claim.about_a_document],
                forests=forest(
                    [claim.record for claim in measured],
                    name=anchor("forest", group.source),
                    anchors=[claim.anchor for claim in measured],
                ),
                figures=[(each.title, caption(each), _figure(each)) for each in group.figures],
                studies=studies(
                    group.source, [claim.record for claim in measured], results.arms, runs
                ),
            )
        )
    return _view(results, sources, shared)


def lay_out_index(results: ResultsDocument, page_of: Mapping[int, str]) -> View:
    """Lay out a row for each claim; `page_of` has the page of its details, by the record's id."""
    sources: list[Source] = []
    for group in groups_by_source(results):
        rows = [row_of(each, results, page_of[id(each)]) for each in group.records]
        sources.append(
            Source(
                id=group.source,
                about=group.about,
                anchor=group.anchor,
                trained=[row for row in rows if not row.about_a_document],
                statements=[row for row in rows if row.about_a_document],
                page=rows[0].page if rows else "",
            )
        )
    return _view(results, sources, {})


def _view(results: ResultsDocument, sources: list[Source], shared: dict[str, PagePlot]) -> View:
    """Return the page of these sources, with what the session says of all of them."""
    view = View(
        sources=sources,
        shared=shared,
        standing=results.standing,
        evidence=results.evidence,
        session=results.session,
        not_run=reasons_of(results.claims).most_common(),
    )
    by_record = {id(claim.record): claim for claim in view.claims}
    by_command = {claim.record.command: claim for claim in view.claims}
    view.failures = [(each, by_command.get(each.command)) for each in results.failures]
    changes = [by_record[id(record)] for record in changes_of(results.claims)]
    view.changed = [claim for claim in changes if claim.record.accepted is not None]
    return view


def _is_about_a_document(record: ClaimRecord) -> bool:
    return record.profile == ANY_PROFILE


def _figure(figure: FigureData) -> PagePlot:
    return figure_plot(figure, name=anchor("figure", figure.source, figure.name))


def counted(claims: Sequence[Row]) -> list[tuple[Outcome, int]]:
    """Return the verdicts of claims, each with its count, in the order of `VERDICTS`."""
    counts = Counter(claim.record.verdict for claim in claims)
    return [(verdict, counts[verdict]) for verdict in VERDICTS if counts[verdict]]
