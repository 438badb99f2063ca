"""Results behind verdicts in one file: packed, judged from, audited, taken over to today's keys."""

from __future__ import annotations

from repro.text import shown


class EvidenceError(Exception):
    """An evidence file cannot be written, read or used; says which, why and what to do.

    What the text quotes of a file cannot steer the terminal that shows it.
    """

    def __init__(self, text: str) -> None:
        super().__init__(shown(text))
