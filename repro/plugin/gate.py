"""The gate: sets the result of a claim's test by its verdict and its ledger entry."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from repro.data.files import is_readable
from repro.judge import (
    LEVEL,
    EffectSize,
    Excess,
    LedgerComparison,
    Outcome,
    compare_with_ledger,
    reference,
)
from repro.judge.sample import REPEAT
from repro.judge.verdict import wrap
from repro.ledger import Change, Entry, Ledgers
from repro.plugin.claim_verdict import SAID_IN_FULL, ClaimVerdict, Gathered, named, verdict
from repro.plugin.claims import (
    ClaimMark,
    about,
    claim_id,
    mark_of,
    mark_or_none,
)
from repro.plugin.command_line import option
from repro.plugin.completeness import SPARED
from repro.plugin.levels import NAME as LEVELS
from repro.plugin.levels import level_pairs
from repro.plugin.options import DEFAULT_PROFILE, reference_of
from repro.plugin.trials import Trials
from repro.recorded.rows import Pattern
from repro.report.lines import ERROR, PROPERTY, ClaimLine, claim_line
from repro.report.records import ClaimRecord, JudgedClaim, finding_data, to_json
from repro.runs.profiles import PROFILES, RECORDED, Profile
from repro.runs.results import TrainingFailed
from repro.text import said_in_full, shown, shown_lines


@dataclass(frozen=True)
class Compared:
    """How the comparisons of a claim compare with the ledger."""

    with_ledger: Sequence[LedgerComparison] = ()
    """Its findings, compared with the ledger if the claim is reproduced there."""
    past: Sequence[Excess] = ()
    """The distance of each comparison past its bound, if the claim is reproduced now."""


_ANOTHER = (
    "A claim with another sentence, other data or other arms is a new claim: give its test a new"
    " name, or drop the former finding with --update-ledger."
)


class Gate:
    """Judges claims by the options of a session, and compares them with the ledgers beside them."""

    def __init__(self, config: pytest.Config, profile: Profile) -> None:
        self._config, self._profile = config, profile
        self.ledgers = Ledgers()
        """The ledgers beside the claims that were read so far."""
        self.reference = reference_of(config)
        """A reproduced claim is measured for the ledger over at least this number of seeds."""
        self._accepts = option(config, "update-ledger")
        evidence = option(config, "evidence")
        self._evidence = shlex.join(evidence) if evidence else ""
        """The files that the session judges from, as a command line names them."""
        self._has_report = bool(option(config, "report"))
        """Records without a report leave out its fields."""

    def judge(
        self,
        item: pytest.Item,
        raised: BaseException | None,
        report: pytest.TestReport,
        gathered: Gathered,
    ) -> list[str]:
        """Set the outcome of a claim's report, and attach the record of its verdict.

        Returns remarks for the end of the session.
        """
        compared = Compared()
        try:
            if raised is None or isinstance(raised, AssertionError):
                compared = self.compare(item, gathered, holds=raised is None)
        except TrainingFailed as failed:
            raised = failed
        entry = self._entry(item, gathered.profile_name, gathered.data)
        looks = _looks(mark_of(item), gathered)
        found = verdict(raised, gathered, entry, compared.with_ledger, looks=looks)
        if found.outcome is None:
            if found.error:
                fail(report, shown_lines(found.error))
            self.announce_error(item, raised, report)
            return []
        other = fewer = ""
        is_run = found.outcome is not Outcome.NOT_RUN
        if entry is not None and isinstance(gathered, Trials):
            if is_run:
                other = _unlike(found.outcome, gathered, entry)
            fewer = _fewer_seeds(compared, gathered, entry)
        if other or fewer:
            change = "; ".join(filter(None, [found.change, other, fewer]))
            found = replace(found, change=change, change_kind=found.change_kind or Change.UNLIKE)
        record = self._record(item, found, gathered, compared, entry, looks)
        if not is_run:
            lost = self._is_missed(item, gathered.data, gathered.profile_name)
            if self.skip_reason(item, gathered.profile_name, gathered.data):
                lost = ""
                report.user_properties.append((SPARED, ""))
        elif self._accepts:
            lost = ""
        else:
            lost = self._is_rewritten(item, record)
            if other and option(self._config, "gate"):
                lost = lost or f"{other}. {_ANOTHER}"
            lost = lost or (_repeats_anew(gathered, entry) if entry and is_run else "")
            if fewer and found.agrees:
                lost = lost or f"{fewer}: bring the others back, or accept this: --update-ledger"
        self._set_result(report, record, entry, agrees=found.agrees, lost=lost)
        self._attach(item, report, record, gathered)
        if entry is not None and (pairs := level_pairs(entry, record)):
            report.user_properties.append((LEVELS, json.dumps(pairs)))
        return [f"{record.claim}: {line}" for line in _repeats(gathered)]

    def require_judged(self, item: pytest.Item, report: pytest.TestReport) -> None:
        """Fail a skipped claim without a verdict if the ledger has it as reproduced.

        The reason does not matter: a mark, `pytest.skip`, a fixture, or an expected error.
        """
        has_verdict = any(name == "repro.record" for name, _ in report.user_properties)
        if report.outcome != "skipped" or has_verdict or report.when == "teardown":
            return
        reason = getattr(report, "wasxfail", "") or report.longreprtext
        if isinstance(report.longrepr, tuple):
            reason = report.longrepr[2]
        if why := self._is_missed(item, ()):
            fail(report, shown_lines(f"not judged ({reason.strip()}); {why}"))
            self.announce_error(item, None, report)

    def _is_missed(self, item: pytest.Item, data: Sequence[str], profile: str = "") -> str:
        """Say why a claim has to be judged; empty if it need not be.

        It has to be judged if the ledger has it as reproduced on its data. If its data are not
        known, then on any data that can be read here.
        """
        if option(self._config, "require-verdict"):
            return "--require-verdict asks for a verdict"
        entries = [
            entry
            for entry in self.ledgers.of(item.path).of_claim(claim_id(item))
            if entry.is_judged_at(profile or self._profile.name)
        ]
        same = [entry for entry in entries if entry.data == named(data)]
        lost = [
            entry
            for entry in same or entries
            if entry.verdict == Outcome.REPRODUCED.value
            and (same or all(_is_here(data, entry, item) for data in entry.data.split(", ")))
        ]
        if not lost or option(self._config, "allow-not-run"):
            return ""
        return (
            f"it is reproduced in the ledger ({lost[0].profile}, {lost[0].data}), so it has to be"
            " judged: judge it, or allow this with --allow-not-run"
        )

    def _is_rewritten(self, item: pytest.Item, record: ClaimRecord) -> str:
        """Say which ledger entry of a claim has another sentence, or other data; empty if none.

        Such an entry is lost: the claim of today does not judge its finding. Entries of another
        profile are left to sessions with that profile.
        """
        for entry in self.ledgers.of(item.path).of_claim(record.claim):
            had = f"the ledger has {record.claim} as {entry.verdict}"
            if entry.is_about_other_data(record.data, self._profile.name):
                return f"{had} on {entry.data}, and it is about {record.data} now. {_ANOTHER}"
            is_its_own = (entry.profile, entry.data) == (record.profile, record.data)
            if is_its_own and entry.sentence != record.sentence:
                return f"{had} with another sentence: {shown(entry.sentence)} {_ANOTHER}"
        return ""

    def skip_reason(self, item: pytest.Item, profile: str, data: Sequence[str]) -> str | None:
        """Return why `--gate` skips a claim before its training; None where it is judged."""
        skips = option(self._config, "gate")
        entry = self._entry(item, profile, data) if skips else None
        if entry is None or entry.verdict == Outcome.REPRODUCED.value:
            return None
        return (
            f"skipped by --gate: it is {entry.verdict} in the ledger, so it cannot fail the build. "
            "Run without --gate to judge it."
        )

    def compare(self, item: pytest.Item, gathered: Gathered, *, holds: bool) -> Compared:
        """Compare a claim with the ledger; if it `holds`, measure it for the next ledger, too.

        Raises `RunsMissing` if this needs more seeds than the verdict did.
        """
        if not isinstance(gathered, Trials):
            return Compared()
        findings = gathered.findings
        entry = self._entry(item, gathered.profile_name, gathered.data)
        with_ledger: list[LedgerComparison] = []
        if entry is not None and entry.verdict == Outcome.REPRODUCED.value:
            accepted = [Excess(*each) for each in entry.past]
            with_ledger = compare_with_ledger(accepted, findings, has=gathered.has)
        past = reference(findings, self.reference, has=gathered.has) if holds else []
        return Compared(with_ledger, past)

    def _entry(self, item: pytest.Item, profile: str, data: Sequence[str]) -> Entry | None:
        """Return the ledger entry of a claim; None if the entry has another sentence."""
        entry = self.ledgers.of(item.path).entry(claim_id(item), profile, named(data))
        return entry if entry and entry.sentence == mark_of(item).sentence else None

    def announce_error(
        self, item: pytest.Item, raised: BaseException | None, report: pytest.TestReport
    ) -> None:
        """Attach the line of a claim that is refused or in error, if it was not skipped."""
        if report.outcome != "failed":
            return
        why = str(report.longrepr)
        if isinstance(raised, TrainingFailed):
            why = str(raised)
        elif raised is not None and not isinstance(raised, SAID_IN_FULL):
            why = said_in_full(raised)
        mark = mark_or_none(item)
        settled = ClaimLine(
            name=claim_id(item) if mark else item.nodeid,
            verdict=ERROR,
            measured=shown(why),
            fails=True,
            details=raised.details if isinstance(raised, TrainingFailed) else "",
            sentence=mark.sentence if mark else "",
            source=mark.source if mark else "",
        )
        report.user_properties.append((PROPERTY, settled.as_json()))

    def _record(
        self,
        item: pytest.Item,
        found: ClaimVerdict,
        gathered: Gathered,
        compared: Compared,
        entry: Entry | None,
        looks: list[int],
    ) -> ClaimRecord:
        assert found.outcome is not None
        mark, claim, ledger = mark_of(item), claim_id(item), self.ledgers.of(item.path)
        is_run = found.outcome is not Outcome.NOT_RUN
        file, line, _ = item.location
        trials = gathered if isinstance(gathered, Trials) else None
        is_written = self._accepts or self._has_report
        others = ledger.opposed(claim, gathered.profile_name, found.outcome.value)
        return ClaimRecord(
            claim=claim,
            sentence=mark.sentence,
            source=mark.source,
            about=about(item),
            documented=mark.documented,
            kind=mark.kind,
            profile=gathered.profile_name,
            data=named(gathered.data),
            verdict=found.outcome,
            reason=found.reason,
            p=gathered.p if is_run else None,
            level=trials.declared_level if trials is not None and is_run else 0.0,
            false_at_most=gathered.level if is_run else 0.0,
            looks=looks if is_run else [],
            accepted=entry.verdict if entry else None,
            opposed="; ".join(f"{e.verdict} at {e.profile} ({e.data})" for e in others) or None,
            change=found.change,
            change_kind=found.change_kind,
            one_look=list(found.one_look),
            measured=_measured(gathered),
            text=_text(found, gathered, compared),
            findings=list(map(finding_data, gathered.findings)) if self._has_report else [],
            arms={x.name: x.seeds for x in gathered.arms_used} if self._has_report else {},
            metrics=list(gathered.metrics_used),
            file=file,
            line=line or 0,
            command=shlex.join(["pytest", item.nodeid]) + self._options(gathered.profile_name),
            machine=gathered.machine if found.outcome is Outcome.REPRODUCED else "",
            past=[(each.mean, each.spread, each.seeds) for each in compared.past],
            labels=trials.labels if trials is not None else [],
            levels=[*trials.levels] if trials is not None else [],
            effect_size=trials.findings[-1].effect_size if trials and is_run else EffectSize.NONE,
            over_stored=trials.over_stored() if trials and is_run and is_written else [],
            ledger=str(ledger.path),
        )

    def _options(self, profile: str) -> str:
        """Return the command-line options for judging a claim again in the same way."""
        if profile not in PROFILES:  # a document, or recorded runs
            return ""
        size = "" if profile == DEFAULT_PROFILE else f" --profile {profile}"
        gate = " --gate" if option(self._config, "gate") else ""
        budget = f" --seed-budget {self._profile.budget}" if self._profile.budget else ""
        own = option(self._config, "level")
        level = f" --level {own:g}" if own and own != LEVEL else ""
        evidence = f" --evidence {self._evidence}" if self._evidence else ""
        return f"{size}{gate}{budget}{level}{evidence}"

    def _attach(
        self, item: pytest.Item, report: pytest.TestReport, record: ClaimRecord, gathered: Gathered
    ) -> None:
        """Attach the record to the report, which carries the verdict to the session's end."""
        arms = {arm.name: arm for arm in gathered.arms_used} if self._has_report else {}
        judged = to_json(JudgedClaim(record=record, arms=arms))
        whole = json.dumps(judged, ensure_ascii=False, allow_nan=False)
        settled = claim_line(record, fails=report.outcome == "failed")
        short = [("repro.verdict", str(record.verdict)), ("repro.measured", shown(record.measured))]
        item.user_properties += short  # JUnit XML reads them from the report of the teardown
        report.user_properties += [*short, ("repro.record", whole), (PROPERTY, settled.as_json())]

    def _set_result(
        self,
        report: Any,
        record: ClaimRecord,
        entry: Entry | None,
        *,
        agrees: bool,
        lost: str,
    ) -> None:
        """Set the outcome; the claim fails if `lost` says why a finding of the ledger is lost."""
        text = shown_lines(record.text)
        if record.verdict is Outcome.NOT_RUN and lost:
            fail(report, f"{text}\nNot run; {lost}.")
        elif lost:
            fail(report, shown_lines(f"{_explanation(record, entry, self._evidence)}\n{lost}"))
        elif record.verdict is Outcome.REPRODUCED:
            return
        elif record.verdict is Outcome.NOT_RUN:
            report.outcome = "skipped"
            report.longrepr = (record.file, record.line, f"not run: {text}")
        elif self._accepts or agrees or record.accepted not in (None, Outcome.REPRODUCED.value):
            report.outcome = "skipped"
            report.wasxfail = f"{record.verdict}: {shown(record.measured)}"
            report.longrepr = (record.file, record.line, text)
        else:
            fail(report, shown_lines(_explanation(record, entry, self._evidence)))


def fail(report: Any, why: str) -> None:
    """Make a report a failure, also that of a test which was expected to fail.

    pytest counts a report with `wasxfail` as xfailed, and would exit with 0.
    """
    report.outcome, report.longrepr = "failed", why
    if hasattr(report, "wasxfail"):
        del report.wasxfail


def _text(found: ClaimVerdict, gathered: Gathered, compared: Compared) -> str:
    """Return the text of a verdict: its findings, their comparison with the ledger, remarks."""
    text = "\n".join(map(str, gathered.findings))
    if not text or found.outcome is Outcome.NOT_RUN:
        text = found.why
    else:
        text = "\n".join([text, *(wrap(f"ledger: {each}") for each in compared.with_ledger)])
    return f"{text}\n  {'; '.join(gathered.remarks)}" if gathered.remarks else text


def _looks(mark: ClaimMark, gathered: Gathered) -> list[int]:
    """Return the declared looks, without regard to the seed budget; none for one look."""
    design, profile = gathered.design, PROFILES.get(gathered.profile_name)
    if design is None or not design.declared:
        return []
    return list(mark.looks_at(profile) if profile else design.looks)


def _unlike(outcome: Outcome, trials: Trials, entry: Entry) -> str:
    """Say that a claim compares other arms than its entry, or at another level; else nothing.

    The test of a claim that does not hold ends early, and may not have come to all of its arms.
    """
    new = [f"{label} here" for label in trials.labels if label not in entry.arms]
    gone = [f"{label} there" for label in entry.arms if label not in trials.labels]
    if entry.arms and (new or (gone and outcome is Outcome.REPRODUCED)):
        return f"compares other arms than the ledger's: {', '.join([*new, *gone])}"
    now, then = trials.declared_level, entry.level or LEVEL
    return "" if now == then else f"is judged at a level of {now:.3%}, and in the ledger {then:.3%}"


def _fewer_seeds(compared: Compared, trials: Trials, entry: Entry) -> str:
    """Say that recorded runs behind a reproduced entry are gone; empty where none is.

    Of samples that are not paired, a comparison has the seeds of the smaller one, and levels have
    those of each.
    """
    if not trials.recorded:
        return ""
    pairs = [
        (there.seeds, here.seeds)
        for each in compared.with_ledger
        for there, here in zip(each.accepted, each.measured, strict=True)
    ]
    now = {(arm, metric): seeds for arm, metric, *_, seeds in trials.levels}
    levels = (((arm, metric), seeds) for arm, metric, *_, seeds in entry.levels)
    pairs += [(seeds, now[place]) for place, seeds in levels if place in now]
    fewer = [(there, here) for there, here in pairs if here < there]
    return "the ledger had {} seeds, {} are recorded".format(*fewer[0]) if fewer else ""


def _repeats(gathered: Gathered, kind: str = "repeats") -> list[str]:
    """Return the sentences on runs that repeat others, or on `copies`."""
    return list(dict.fromkeys(x for each in gathered.findings for x in getattr(each, kind, ())))


def _measured(gathered: Gathered) -> str:
    """Return what the last finding measured, and which runs repeat others in any finding."""
    last = gathered.findings[-1].measured if gathered.findings else ""
    return "; ".join([last, *(line for line in _repeats(gathered) if line not in last)])


def _repeats_anew(gathered: Gathered, entry: Entry) -> str:
    """Say that runs of a reproduced entry repeat others, which did not; empty where none does."""
    if entry.verdict != Outcome.REPRODUCED.value:
        return ""
    for line in _repeats(gathered, "copies"):
        arm = line[line.index("runs of") : line.index(REPEAT)]
        if f"{arm}{REPEAT}" not in entry.measured:
            return f"{line} Those of the ledger did not: mend it, or accept it: --update-ledger"
    return ""


def _is_here(data: str, entry: Entry, item: pytest.Item) -> bool:
    """Return whether data of an entry can be read here: a set, or a table beside its claim."""
    if entry.profile != RECORDED:
        return is_readable(data)
    return any(path.exists() for path, _ in Pattern(data).paths_in(item.path.parent))


def _explanation(record: ClaimRecord, entry: Entry | None, evidence: str) -> str:
    before = f"accepted in the ledger: {entry.verdict}" if entry else "not in the ledger yet"
    if entry and entry.machine:
        before += f" on {entry.machine}"
    accept = "accept this finding with: --update-ledger"
    if evidence:
        accept = (
            f"judged from {evidence}; to accept this finding, add the files to a store (python -m"
            " repro evidence add) and judge it there with --update-ledger"
        )
    return "\n".join(
        [
            f"claimed ({shown(record.source)}): {shown(record.sentence)}",
            f"documented: {shown(record.documented) or 'no number'}",
            record.text,
            f"data: {record.data}; profile: {record.profile}; {before}",
            f"reproduce with: {record.command}",
            accept,
        ]
    )
