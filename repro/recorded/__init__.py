"""Results that exist already: the same claims on runs that were trained elsewhere."""

from repro.recorded.notebook import judge
from repro.recorded.rows import RecordedError
from repro.recorded.source import Recorded, recorded

__all__ = ["Recorded", "RecordedError", "judge", "recorded"]
