"""Evidence files: they pack the results behind verdicts, to be judged and audited elsewhere."""

from __future__ import annotations

from repro.text import shown


class EvidenceError(Exception):
    """An evidence file cannot be written, read or used; the message says which, why and what to do.

    Hidden characters are escaped, so that text from a file cannot control the terminal.
    """

    def __init__(self, text: str) -> None:
        super().__init__(shown(text))
