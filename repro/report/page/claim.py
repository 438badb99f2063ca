"""A claim on the page: its row in the table of all claims, and the details below."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from repro.document import ANY_PROFILE
from repro.ledger import short_source
from repro.report.ending import CHANGES
from repro.report.page.anchor import anchor
from repro.report.page.measurement import Measurement, measurement_of
from repro.report.plots import seeds, training
from repro.report.record import ClaimRecord, SampleData
from repro.report.results import ResultsDocument
from repro.report.runs import LOSS, ArmRuns
from repro.report.session import file_link
from repro.report.suite import SETTLED
from repro.report.svg import PagePlot
from repro.report.values import ArmValue, arm_values


@dataclass(frozen=True)
class Row:
    """One claim, as the table of all claims has it."""

    record: ClaimRecord
    anchor: str
    page: str
    """The page that its details are on; empty where that is the same one."""
    name: str
    """The claim's name without its source."""
    measured: Measurement | None
    values: list[ArmValue]
    """The arms' own values, in the unit of what is documented."""

    @property
    def address(self) -> str:
        return f"{self.page}#{self.anchor}"

    @property
    def about_a_document(self) -> bool:
        return self.record.profile == ANY_PROFILE

    @property
    def change(self) -> str:
        """The kind of its change against the ledger, to filter by."""
        if self.record.change_kind not in CHANGES:
            return "as it was"
        return "new" if self.record.accepted is None else "changed"

    @property
    def stands(self) -> str:
        """Tells if the verdict stands, to filter by; empty where that is no question."""
        if self.record.stands is None or self.record.verdict not in SETTLED:
            return ""
        return "stands" if self.record.stands else "does not stand"


@dataclass(frozen=True)
class Claim(Row):
    """One claim with everything that is known of it, and its plots."""

    link: str
    """The address of its test; empty where there is none."""
    samples: list[SampleData]
    seeds: list[PagePlot]
    training: PagePlot | None
    arms: list[tuple[str, str]]
    """Anchor and label, in the order of the curves."""


def row_of(record: ClaimRecord, results: ResultsDocument, page: str = "") -> Row:
    """Return the row of a claim whose details are on another page, or on the same one."""
    return Row(
        record=record,
        anchor=anchor("claim", record.claim, record.profile, record.data),
        page=page,
        name=record.claim.partition("/")[2] or record.claim,
        measured=measurement_of(record),
        values=arm_values(record, results.arms),
    )


def claim_of(
    record: ClaimRecord,
    results: ResultsDocument,
    runs: Mapping[str, ArmRuns],
    shared: dict[str, PagePlot],
    drawn: Mapping[str, PagePlot],
) -> Claim:
    """Return a claim with its plots; one that others may show is put into `shared`.

    A plot that is in `drawn` is not drawn again.
    """
    row = row_of(record, results)
    return Claim(
        **vars(row),
        link=file_link(results.session.files, record.file, record.line),
        samples=[each for finding in record.findings for each in finding.samples],
        seeds=seeds(record.findings, name=f"seeds-{row.anchor}"),
        training=_training(record, results, runs, shared, drawn),
        arms=[
            (anchor("arm", short_source(record.source), arm), results.arms[arm].label)
            for arm in record.arms
        ],
    )


def _training(
    record: ClaimRecord,
    results: ResultsDocument,
    runs: Mapping[str, ArmRuns],
    shared: dict[str, PagePlot],
    drawn: Mapping[str, PagePlot],
) -> PagePlot | None:
    """Return the curves of a claim's arms; claims of the same arms and metric share a plot."""
    if not record.arms:
        return None
    curves = [(results.arms[a].label, runs[a].curves) for a in record.arms]
    known = [metric for metric in record.metrics if any(metric in c for _, c in curves)]
    metric = next((metric for metric in known if metric != LOSS), LOSS)
    name = anchor("training", *record.arms, metric)
    if name not in shared:
        plot = drawn.get(name) or training(curves, metric, name=name)
        if plot is None:
            return None
        shared[name] = plot
    return shared[name]
