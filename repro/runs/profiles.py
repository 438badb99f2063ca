"""Profiles: the size of a session's arms, and the numbers of seeds."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Profile:
    """The name of a size of the arms, and the numbers of seeds at which the judge looks."""

    name: str
    looks: tuple[int, ...]
    futility: float = 0.1
    """Looking stops where further seeds would settle a claim with less chance than this."""
    reference: int = 0
    """A reproduced claim is measured for the ledger over at least this number of seeds."""
    budget: int | None = None
    """The most seeds of an arm, also for the ledger and the gate; None where there is no limit."""
    all_looks: tuple[int, ...] = ()
    """The looks of a profile that looks once, at what a claim requires."""

    @property
    def first_look_only(self) -> bool:
        """True where a claim gets more seeds only if it looks weaker than in the ledger."""
        return bool(self.all_looks)

    @property
    def at_first_look(self) -> Profile:
        """The same profile with its first look alone, for the gate."""
        return replace(self, looks=self.looks[:1], all_looks=self.looks)

    def within(self, budget: int | None) -> Profile:
        """Return the same profile with at most `budget` seeds for each arm."""
        if budget is None:
            return self
        looks = tuple(n for n in self.looks if n < budget)
        looks = (*looks, budget) if budget < self.looks[-1] else self.looks
        reference = min(self.reference, budget)
        return replace(self, looks=looks, reference=reference, budget=budget)


MOST_SEEDS = 10_000
"""The largest number of seeds; a larger one is a slip, and would fill the memory."""

ANY_PROFILE, RECORDED = "any", "recorded"
"""The profiles in a ledger of claims about documents, and about recorded runs."""

PROFILES = {
    "ci": Profile("ci", (5, 8, 12, 20), futility=0.3, reference=20),
    "paper": Profile("paper", (3, 5, 8, 12)),  # the documented three seeds first
}


def profile_named(name: str, *, budget: int | None = None) -> Profile:
    """Return the profile of that name with at most `budget` seeds; raises ValueError.

    >>> profile_named("ci", budget=6).looks, profile_named("ci", budget=30).looks
    ((5, 6), (5, 8, 12, 20))
    """
    if name not in PROFILES:
        raise ValueError(f"There is no profile {name!r}; choose one of {', '.join(PROFILES)}.")
    if budget is not None and budget < 2:
        raise ValueError(f"--seed-budget {budget} is too few to compare anything; give at least 2.")
    if budget is not None and budget > MOST_SEEDS:
        raise ValueError(f"--seed-budget {budget} is more than {MOST_SEEDS} seeds; give fewer.")
    return PROFILES[name].within(budget)
