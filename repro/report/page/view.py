"""The layout of the page, made from the results: sources, their claims, the arms behind them."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from repro.document import ANY_PROFILE
from repro.judge import Outcome
from repro.ledger import short_source
from repro.report.ending import CHANGES, Failure, changes_of, reasons_of
from repro.report.figure import FigureData, caption
from repro.report.page.measurement import Measurement, measurement_of
from repro.report.plots import figure_plot, forest, seeds, training
from repro.report.record import ClaimRecord, SampleData
from repro.report.results import ResultsDocument
from repro.report.runs import LOSS, ArmRuns
from repro.report.session import SessionData, file_link
from repro.report.suite import SETTLED
from repro.report.svg import PagePlot
from repro.report.values import ArmValue, arm_values

VERDICTS = tuple(Outcome)

MOST_VALUES = 5
"""Values of arms that a row of the table shows; the claim itself shows all."""


@dataclass(frozen=True)
class Claim:
    """One claim, with its plots."""

    record: ClaimRecord
    anchor: str
    name: str
    """The claim's name without its source."""
    measured: Measurement | None
    values: list[ArmValue]
    """The arms' own values, in the unit of what is documented."""
    link: str
    """The address of its test; empty where there is none."""
    samples: list[SampleData]
    seeds: list[PagePlot]
    training: PagePlot | None
    arms: list[tuple[str, str]]
    """Anchor and label, in the order of the curves."""

    @property
    def about_a_document(self) -> bool:
        return self.record.profile == ANY_PROFILE

    @property
    def change(self) -> str:
        """The kind of its change against the ledger, to filter by."""
        if not self.record.change.startswith(CHANGES):
            return "as it was"
        return "new" if self.record.accepted is None else "changed"

    @property
    def stands(self) -> str:
        """Tells if the verdict stands, to filter by; empty where that is no question."""
        if self.record.stands is None or self.record.verdict not in SETTLED:
            return ""
        return "stands" if self.record.stands else "does not stand"


@dataclass(frozen=True)
class ArmRow:
    """An arm, and the settings in which it differs from others of its study."""

    anchor: str
    label: str
    varying: list[str]
    seeds: list[int]
    runs: ArmRuns


@dataclass(frozen=True)
class Study:
    """The arms of one study: what all of them share, and what differs."""

    name: str
    common: list[tuple[str, str]]
    columns: list[str]
    arms: list[ArmRow]
    made_by: list[str]
    seconds: float


@dataclass(frozen=True)
class Source:
    """A document with its claims, figures and arms."""

    id: str
    about: str
    trained: list[Claim]
    statements: list[Claim]
    forests: list[PagePlot]
    figures: list[tuple[str, str, PagePlot]]
    """Title, caption, plot."""
    studies: list[Study]

    @property
    def claims(self) -> list[Claim]:
        return [*self.trained, *self.statements]


@dataclass
class View:
    """The whole page."""

    sources: list[Source] = field(default_factory=list)
    shared: dict[str, PagePlot] = field(default_factory=dict)
    """Plots that several claims show."""
    standing: str = ""
    """The sentence on how many settled verdicts stand."""
    evidence: list[str] = field(default_factory=list)
    """Sentences on the files that the claims were judged from."""
    session: SessionData = field(default_factory=SessionData)
    failures: list[tuple[Failure, Claim | None]] = field(default_factory=list)
    """The failures, each with its claim where that came to a verdict."""
    changed: list[Claim] = field(default_factory=list)
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
    def claims(self) -> list[Claim]:
        return [claim for source in self.sources for claim in source.claims]

    @property
    def trained(self) -> list[Claim]:
        return [claim for source in self.sources for claim in source.trained]

    @property
    def statements(self) -> list[Claim]:
        return [claim for source in self.sources for claim in source.statements]


def lay_out_page(results: ResultsDocument, runs: Mapping[str, ArmRuns]) -> View:
    """Lay out these results with the stored runs of their arms."""
    view = View(
        standing=results.standing,
        evidence=results.evidence,
        session=results.session,
        not_run=reasons_of(results.claims).most_common(),
    )
    of_source: dict[str, list[ClaimRecord]] = {}
    for record in results.claims:
        of_source.setdefault(short_source(record.source), []).append(record)
    for figure in results.figures:
        of_source.setdefault(short_source(figure.source), [])
    for source, records in sorted(of_source.items()):
        figures = [each for each in results.figures if short_source(each.source) == source]
        view.sources.append(_lay_out_source(source, records, figures, results, runs, view))
    by_record = {id(claim.record): claim for claim in view.claims}
    by_command = {claim.record.command: claim for claim in view.claims}
    view.failures = [(each, by_command.get(each.command)) for each in results.failures]
    changes = [by_record[id(record)] for record in changes_of(results.claims)]
    view.changed = [claim for claim in changes if claim.record.accepted is not None]
    return view


def _lay_out_source(
    source: str,
    records: Sequence[ClaimRecord],
    figures: Sequence[FigureData],
    results: ResultsDocument,
    runs: Mapping[str, ArmRuns],
    view: View,
) -> Source:
    claims = [_lay_out_claim(record, results, runs, view) for record in records]
    measured = [claim for claim in claims if not claim.about_a_document]
    statements = [claim for claim in claims if claim.about_a_document]
    name = _digest("source", source)
    return Source(
        id=source,
        about=next((claim.record.about for claim in [*measured, *statements]), ""),
        trained=measured,
        statements=statements,
        forests=forest(
            [claim.record for claim in measured],
            name=f"forest-{name}",
            anchors=[claim.anchor for claim in measured],
        ),
        figures=[(each.title, caption(each), _figure(each)) for each in figures],
        studies=_studies(source, [claim.record for claim in measured], results, runs),
    )


def _lay_out_claim(
    record: ClaimRecord, results: ResultsDocument, runs: Mapping[str, ArmRuns], view: View
) -> Claim:
    anchor = _digest("claim", record.claim, record.profile, record.data)
    return Claim(
        record=record,
        anchor=anchor,
        name=record.claim.partition("/")[2] or record.claim,
        measured=measurement_of(record),
        values=arm_values(record, results.arms),
        link=file_link(results.session.files, record.file, record.line),
        samples=[each for finding in record.findings for each in finding.samples],
        seeds=seeds(record.findings, name=f"seeds-{anchor}"),
        training=_training(record, results, runs, view),
        arms=[
            (_digest("arm", short_source(record.source), arm), results.arms[arm].label)
            for arm in record.arms
        ],
    )


def _training(
    record: ClaimRecord, results: ResultsDocument, runs: Mapping[str, ArmRuns], view: View
) -> PagePlot | None:
    """Return the curves of a claim's arms; claims of the same arms and metric share a plot."""
    if not record.arms:
        return None
    curves = [(results.arms[a].label, runs[a].curves) for a in record.arms]
    known = [metric for metric in record.metrics if any(metric in c for _, c in curves)]
    metric = next((metric for metric in known if metric != LOSS), LOSS)
    name = _digest("training", *record.arms, metric)
    if name not in view.shared:
        plot = training(curves, metric, name=name)
        if plot is None:
            return None
        view.shared[name] = plot
    return view.shared[name]


def _figure(figure: FigureData) -> PagePlot:
    return figure_plot(figure, name=_digest("figure", figure.source, figure.name))


def _studies(
    source: str,
    records: Sequence[ClaimRecord],
    results: ResultsDocument,
    runs: Mapping[str, ArmRuns],
) -> list[Study]:
    of_study: dict[str, dict[str, dict[str, str]]] = {}
    for record in records:
        for name in record.arms:
            arm = results.arms[name]
            of_study.setdefault(arm.study, {})[name] = _flat(arm.settings)
    return [_study(source, study, arms, results, runs) for study, arms in of_study.items()]


def _study(
    source: str,
    study: str,
    settings: Mapping[str, Mapping[str, str]],
    results: ResultsDocument,
    runs: Mapping[str, ArmRuns],
) -> Study:
    every = list(settings.values())
    columns = list(dict.fromkeys(name for each in every for name in each))
    varying = [
        name for name in columns if any(a.get(name) != b.get(name) for a, b in pairwise(every))
    ]
    return Study(
        name=study,
        common=[(name, every[0][name]) for name in columns if name not in varying],
        columns=varying,
        arms=[
            ArmRow(
                anchor=_digest("arm", source, name),
                label=results.arms[name].label,
                varying=[flat.get(column, "") for column in varying],
                seeds=results.arms[name].seeds,
                runs=runs[name],
            )
            for name, flat in settings.items()
        ],
        made_by=list(dict.fromkeys(line for name in settings for line in runs[name].made_by)),
        seconds=sum(runs[name].seconds for name in settings),
    )


def _flat(settings: Mapping[str, Any], before: str = "") -> dict[str, str]:
    """Return settings as text; those of a mapping are called by their path.

    >>> _flat({"width": 64, "recipe": {"lr": 0.001}})
    {'width': '64', 'recipe.lr': '0.001'}
    """
    flat: dict[str, str] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{before}{name}.")
        else:
            flat[before + name] = _written(value)
    return flat


def _written(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_written, value))
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, bool):  # asked for by type: 1 is no yes
        return "yes" if value else "no"
    return "none" if value is None else str(value)


def counted(claims: Sequence[Claim]) -> list[tuple[Outcome, int]]:
    """Return the verdicts of claims, each with its count, in the order of `VERDICTS`."""
    counts = Counter(claim.record.verdict for claim in claims)
    return [(verdict, counts[verdict]) for verdict in VERDICTS if counts[verdict]]


def ranges(numbers: Sequence[int]) -> str:
    """Return numbers as text, consecutive ones as a range.

    >>> ranges([42, 1, 2, 3, 7])
    '42, 1–3, 7'
    """
    rows: list[list[int]] = []
    for number in numbers:
        if rows and number == rows[-1][-1] + 1:
            rows[-1].append(number)
        else:
            rows.append([number])
    return ", ".join(f"{r[0]}–{r[-1]}" if len(r) > 1 else f"{r[0]}" for r in rows)


def _digest(kind: str, *parts: str) -> str:
    """Return a short name made of what an element shows, the same in every report."""
    return f"{kind}-{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:10]}"
