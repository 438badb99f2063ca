"""The chance that claims go on to further seeds, by the seeds that the ledger says they took.

What it says of a claim on other data counts only where it says nothing about the data at hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from repro.ledger import Entry
from repro.runs.plan import Later

UNKNOWN = 0.5
"""The chance of each further look where no ledger says anything."""

OF_ITS_OWN = 0.9
"""The weight of what the ledger says of a claim itself; the rest is what it says of all claims."""


class LaterLooks:
    """The chances of each look, by the entries of one profile.

    >>> LaterLooks(ledger.entries.values(), "ci", looks=(5, 8, 12)).of("004/climbs", "cifar10")
    {5: 1.0, 8: 0.93, 12: 0.02}
    """

    def __init__(self, entries: Iterable[Entry], profile: str, *, looks: Sequence[int]) -> None:
        self._first, *self._later = looks
        self._seeds: dict[str, dict[str, int]] = {}
        self._read_off: set[str] = set()
        """The claims about costs that do not depend on the seed, at whatever size."""
        for entry in entries:
            if entry.seeds is None:
                self._read_off.add(entry.claim)
            elif entry.profile == profile:
                self._seeds.setdefault(entry.claim, {})[entry.data] = entry.seeds
        every = [seeds for taken in self._seeds.values() for seeds in taken.values()]
        self._usual = {
            look: _share(every, look) if every else UNKNOWN ** (place + 1)
            for place, look in enumerate(self._later)
        }

    def of(self, claim: str, data: str) -> Later:
        """Return the chance that a claim comes to each of these looks, on such data."""
        known = self._seeds.get(claim)
        if known is None and claim in self._read_off:
            return {self._first: 1.0}
        if known is None:
            return {self._first: 1.0, **self._usual}
        own = [known[data]] if data in known else list(known.values())
        return {self._first: 1.0} | {
            look: OF_ITS_OWN * _share(own, look) + (1 - OF_ITS_OWN) * self._usual[look]
            for look in self._later
        }


def _share(taken: Sequence[int], look: int) -> float:
    return sum(seeds >= look for seeds in taken) / len(taken)
