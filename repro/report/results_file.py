"""The results of a session as one typed document, counts of them, and the session itself.

All reports are made from it: the end of the terminal and the summary for a pull request (`ending`),
the page (`page`), and the files of data (`write`).
"""

from __future__ import annotations

import os
import re
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Literal
from urllib.parse import quote

from repro.judge import Outcome
from repro.ledger import KINDS, Change, Kind
from repro.report.headlines import Headline
from repro.report.lines import ERROR
from repro.report.records import ArmData, ClaimRecord, FigureData, JudgedClaim, Reason
from repro.text import counted, shown

CHANGES = (Change.WORSE, Change.OPEN, Change.UNLIKE, Change.OTHER, Change.BETTER)
"""The changes to another verdict, or to one about something else, the most urgent first."""

ONE: dict[Kind, str] = {
    "source": "a claim of the source",
    "repository": "a claim of the source's repository",
    "question": "a question of ours",
    "control": "a control of ours",
}
MANY: dict[Kind, str] = {
    "source": "the sources' claims",
    "repository": "repositories",
    "question": "our questions",
    "control": "our controls",
}


_REMOTE = re.compile(
    r"(?:(?:https?|ssh)://(?:[^@/]*@)?|(?:[^@/:]*@))"  # user and password are not captured
    r"(?P<host>[\w.-]+)(?::\d+)?[:/](?P<path>[\w./~-]+?)(?:\.git)?/?",
)
_BELOW = {"github": "blob", "gitlab": "-/blob"}
"""The part of a file's address before the commit, by a part of the host's name."""


@dataclass(frozen=True)
class Failure:
    """A claim that pytest counts as failed: its verdict, and the command that judges it alone."""

    verdict: str
    """The verdict, or `error` if it has none."""
    command: str
    said: str = ""
    """The traceback of an error, with the output of training; empty for a verdict."""


@dataclass(frozen=True, kw_only=True)
class SessionData:
    """The session behind the results; unknown fields are empty."""

    project: str = ""
    version: str = ""
    """The version of repro that judged."""
    commit: str = ""
    uncommitted_changes: bool = False
    """True if the files differed from the commit."""
    date: str = ""
    """The time at which the session ended, in UTC."""
    command: str = ""
    profile: str = ""
    """The profile: ci or paper."""
    machine: str = ""
    """The processor of the machine that judged, and its number of cores."""
    files: str = ""
    """The base address for links to the files of claims; ends in a slash."""


@dataclass(frozen=True, kw_only=True)
class ResultsDocument:
    """All results of a session, the content of `results.json`."""

    format: Literal[7] = 7
    """The number of this format; it changes when its fields change."""
    claims: list[ClaimRecord]
    """All claims, also those that ended in an error."""
    arms: dict[str, ArmData]
    """Every arm, by its name in the `arms` of claims."""
    figures: list[FigureData]
    headlines: list[Headline] = field(default_factory=list)
    """The sentences that the project shows first, with their verdicts."""
    false_verdicts: str = ""
    """A sentence: how many settled verdicts are false at most, on average."""
    evidence: list[str] = field(default_factory=list)
    """Sentences on the evidence files and recorded runs behind the verdicts: their origin, and what
    has changed since."""
    failures: list[Failure] = field(default_factory=list)
    """The claims that pytest counts as failed."""
    session: SessionData = field(default_factory=SessionData)

    @property
    def judged(self) -> list[ClaimRecord]:
        """The claims with a verdict."""
        return [record for record in self.claims if record.verdict != ERROR]

    @property
    def changed(self) -> list[ClaimRecord]:
        """The claims with another verdict than in the ledger, the most urgent first."""
        changed = [record for record in self.claims if record.change_kind in CHANGES]
        return sorted(changed, key=lambda record: CHANGES.index(record.change_kind))

    @property
    def new(self) -> list[ClaimRecord]:
        """The claims that are not in the ledger."""
        return [record for record in self.claims if record.change_kind is Change.NEW]

    @property
    def reasons(self) -> list[tuple[str, int]]:
        """The reasons why claims were not run, with the number of claims, most frequent first."""
        not_run = [record.text for record in self.claims if record.verdict is Outcome.NOT_RUN]
        return Counter(not_run).most_common()

    @property
    def beyond(self) -> list[tuple[Reason, int]]:
        """The reasons why no number of seeds would settle claims, with the number of claims."""
        open_ = (record for record in self.claims if record.verdict is Outcome.INCONCLUSIVE)
        return Counter(record.reason for record in open_ if record.reason).most_common()


def results_of(
    judged: Sequence[JudgedClaim],
    figures: Sequence[FigureData],
    *,
    evidence: Sequence[str] = (),
) -> ResultsDocument:
    """Return the claims of a session as one document, sorted.

    It has each arm once, with the seeds of all claims.
    """
    arms: dict[str, ArmData] = {}
    for name, arm in ((name, arm) for claim in judged for name, arm in claim.arms.items()):
        arms[name] = arms[name].joined(arm) if name in arms else arm
    records = sorted((claim.record for claim in judged), key=lambda record: record.claim)
    return ResultsDocument(
        claims=records,
        arms=arms,
        figures=list(figures),
        false_verdicts=false_verdicts(records),
        evidence=list(evidence),
    )


def false_verdicts(records: Sequence[ClaimRecord]) -> str:
    """Say how many of the settled verdicts are false at most; empty if none is settled.

    Each claim is falsely settled with a chance of at most its level. So the mean number of false
    verdicts is at most the sum of all levels, however the claims depend on each other. Exact claims
    have no level.

    >>> false_verdicts(results.claims)
    '6 verdicts on random quantities are settled: on average at most 0.07 of them are false'
    """
    random = [record for record in records if record.false_at_most]
    settled = sum(record.is_settled for record in random)
    if not settled:
        return ""
    verdicts = f"{counted(settled, 'verdict')} on random quantities"
    most = min(float(settled), sum(record.false_at_most for record in random))
    are = "is" if settled == 1 else "are"
    return f"{verdicts} {are} settled: on average at most {most:.2g} of them {are} false"


def verdicts_of(records: Sequence[ClaimRecord]) -> dict[Outcome, int]:
    """Return the number of claims with each verdict, in the order of `Outcome`."""
    counts = Counter(record.verdict for record in records)
    return {verdict: counts[verdict] for verdict in Outcome}


def count_lines(records: Sequence[ClaimRecord]) -> list[str]:
    """Return the counts by kind of claim as lines; without a label if all are sources' claims.

    >>> count_lines(results.claims)[1]
    'our controls: 1 reproduced'
    """
    by_kind = {kind: Counter(r.verdict for r in records if r.kind == kind) for kind in KINDS}
    said = {
        kind: ", ".join(f"{n} {verdict}" for verdict, n in counts.most_common())
        for kind, counts in by_kind.items()
        if counts
    }
    return [
        words if list(said) == ["source"] else f"{MANY[k]}: {words}" for k, words in said.items()
    ]


def groups_of(records: Sequence[ClaimRecord]) -> list[tuple[str, list[ClaimRecord]]]:
    """Return the claims in groups: one for each source, then repositories, questions, controls."""
    groups: dict[str, list[ClaimRecord]] = {}
    for record in sorted(records, key=lambda r: (KINDS.index(r.kind), r.claim)):
        source = shown(record.claim.partition("/")[0], most=12)
        name = source if record.kind == "source" else MANY[record.kind]
        groups.setdefault(name, []).append(record)
    return list(groups.items())


def project_name(project: Path) -> str:
    """Return the name of a project from its pyproject.toml, or else of its folder."""
    try:
        content = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))
        name = content["project"]["name"]
    except (OSError, ValueError, KeyError, TypeError):
        name = None
    return name if isinstance(name, str) and name else project.resolve().name


def web_address(remote: str, commit: str, below: str = "") -> str:
    """Return the web address of the files of a commit; empty if it is not known.

    It contains no user name or password of the remote's address.

    >>> web_address("git@github.com:someone/study.git", "1f2e", "code/")
    'https://github.com/someone/study/blob/1f2e/code/'
    """
    found = _REMOTE.fullmatch(remote.strip())
    kind = next((k for k in _BELOW if found and k in found["host"].split(".")), None)
    if found is None or kind is None or not commit:
        return ""
    path = quote(found["path"].strip("/"))
    return f"https://{found['host']}/{path}/{_BELOW[kind]}/{commit}/{quote(below)}"


def way_from(report: Path, project: Path) -> str:
    """Return the relative path from a report to its project's folder.

    It is empty for a report outside the project, so that no report names a path of this machine.
    """
    inside, outside = report.resolve(), project.resolve()
    if inside == outside or outside not in inside.parents:
        return ""
    return PurePosixPath(os.path.relpath(outside, inside)).as_posix() + "/"


def file_link(files: str, file: str, line: int) -> str:
    """Return the address of a line (from 0) of a file; empty without a base address.

    >>> file_link("https://github.com/someone/study/blob/1f2e/", "claims/test_it.py", 6)
    'https://github.com/someone/study/blob/1f2e/claims/test_it.py#L7'
    """
    outside = PurePosixPath(file).is_absolute() or ".." in PurePosixPath(file).parts
    return "" if not files or outside else f"{files}{quote(file)}#L{line + 1}"
