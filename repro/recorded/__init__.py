"""Recorded results: claims on runs that exist already, trained elsewhere."""

from repro.recorded.deciding import Choice, Decision, decide
from repro.recorded.notebook import judge
from repro.recorded.rows import RecordedError
from repro.recorded.source import Recorded, recorded

__all__ = ["Choice", "Decision", "Recorded", "RecordedError", "decide", "judge", "recorded"]
