"""The text of `--plan`: what a session would train, and which claims it could not judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from repro.plugin.claims import claim_id
from repro.recorded.results import recorded_lines
from repro.report.plan_text import plan_text
from repro.text import shown

if TYPE_CHECKING:
    from repro.plugin.session import ClaimSession


def describe_plan(session: ClaimSession) -> str:
    """Return what a session would train."""
    work, profile = session.work, session.profile
    assert work is not None, "--plan with --evidence is refused"
    missing = session.plan().missing()
    cannot = {
        **{claim_id(item): why for item, why in session.reader.unreadable.items()},
        **{item.nodeid: why for item, why in session.refused.items()},
    }
    lines = [
        plan_text(len(session.items), len(session.asked), missing, work.forecast, profile),
        *work.plan_lines(missing),
        *recorded_lines([session.known.files]),
        *session.not_ahead(),
        *(shown(f"{name} cannot be judged: {why}") for name, why in cannot.items()),
    ]
    if session.gate.reference > profile.looks[0]:
        seeds = session.gate.reference
        lines.append(f"what is reproduced takes {seeds} seeds, for the ledger")
    return "\n".join(lines)
