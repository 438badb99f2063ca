"""The content of the page, made from the results: sources, their claims, the arms behind them."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from repro.ledger import Change, short_source
from repro.recorded.readers import flat
from repro.report.curves import training
from repro.report.figure import FigureData
from repro.report.intervals import forest
from repro.report.record import ArmData, ClaimRecord
from repro.report.results import CHANGES, ResultsDocument
from repro.report.runs import LOSS, ArmRuns
from repro.report.session import file_link
from repro.report.svg import PagePlot
from repro.report.values import ArmValue, arm_values


@dataclass(frozen=True)
class Study:
    """The arms of one study with their runs: what all of them share, and what differs."""

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
        every = self.settings.values()
        names = dict.fromkeys(name for each in every for name in each)
        return [name for name in names if len({each.get(name) for each in every}) > 1]

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


def studies(
    records: Sequence[ClaimRecord], arms: Mapping[str, ArmData], runs: Mapping[str, ArmRuns]
) -> list[Study]:
    """Return the studies of these claims' arms, each with its arms."""
    of_study: dict[str, Study] = {}
    for name in (name for record in records for name in record.arms):
        study = arms[name].study
        of_study.setdefault(study, Study(study, {}, runs)).arms[name] = arms[name]
    return list(of_study.values())


def written(value: Any) -> str:
    """Return the value of a setting as text."""
    if isinstance(value, list | tuple):
        return ", ".join(map(written, value))
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, bool):  # asked for by type: 1 is no yes
        return "yes" if value else "no"
    return "none" if value is None else str(value)


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
    def title(self) -> str:
        """Its name, and what it asks: the first sentence of the file with most of its claims."""
        return f"{self.id}: {self._said[0]}" if self._said[0] else f"Source {self.id}"

    @property
    def subtitle(self) -> str:
        """What the same file says after that."""
        return self._said[1]

    @cached_property
    def _said(self) -> tuple[str, str]:
        files = Counter(record.about for record in self.trained or self.claims)
        about = files.most_common(1)[0][0] if files else ""
        first = re.match(r".+?[.?!](?= |$)", about)
        title = first[0] if first else about
        return title, about[len(title) :].strip()

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
