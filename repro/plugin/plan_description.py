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
    training, plan, profile = session.training, session.plan, session.profile
    assert training is not None, "--plan with --evidence is refused"
    plan.read_all()
    cannot = {
        **{claim_id(item): why for item, why in session.unreadable.items()},
        **{item.nodeid: why for item, why in session.refused.items()},
    }
    lines = [
        plan_text(len(session.items), len(session.asked), plan.missing, profile),
        *training.plan_lines(plan),
        *recorded_lines([session.known.files]),
        *session.lines_not_ahead(),
        *(shown(f"{name} cannot be judged: {why}") for name, why in cannot.items()),
    ]
    if session.gate.reference > profile.looks[0]:
        seeds = session.gate.reference
        lines.append(f"what is reproduced takes {seeds} seeds, for the ledger")
    return "\n".join(lines)
