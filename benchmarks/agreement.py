"""Error rates and power of the gate.

    python benchmarks/agreement.py             # some ten minutes
    python benchmarks/agreement.py --quick     # two minutes, with larger Monte Carlo errors
    python benchmarks/agreement.py --ledger docs/statistics.md    # half a minute: its tables

Claims that a ledger holds as reproduced are judged anew. Those whose comparisons lie so many
standard deviations over seeds past their bounds are judged at the looks of `ci`. What is reproduced
gets a reference, as `--update-ledger` gives it. Then it is judged on runs of its own, as on another
machine, at five seeds or at all looks, and held against the reference by the rule of
`repro.judge.smaller`.

With `--ledger` each entry of this project's ledger at `ci` is the truth, and runs that are held
against it are drawn. Its tables have the builds of a hundred that fail though nothing has changed;
there the reference is a sample too, and drawn anew. They have the claims of a build that fail
where all effects are smaller than the ledger says, by 5, 10 and 20 %, and the share of claims that
fail where the effect of one comparison has vanished, or halved.

`false`   the gate fails, though nothing has changed; with, in brackets, how much of it is refuted
`caught`  the gate fails where the effect of one comparison has vanished, or halved
`smaller` a claim that still holds is reported as smaller than it was: unchanged, and halved
`seeds`   further seeds that an unchanged claim takes on average

Then it draws sessions, each of ten metrics, whose levels are held against a ledger of 20 seeds: the
sessions of a hundred that say a level has moved, at five seeds and at 20.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from repro.judge import Design, Excess
from repro.judge.comparison import Evidence, Group, Look, weigh
from repro.judge.level_shift import Level, shifts
from repro.judge.scale import Array
from repro.judge.smaller import DECISIVE, DOUBT, FURTHER, LEVEL, REPORTED, chance_unchanged
from repro.ledger.entry import Entry, entries_in
from repro.runs.profiles import PROFILES

HALF_AN_EXAMPLE = 0.5 / (300 * 0.997 * 0.003) ** 0.5
LOOKS = PROFILES["ci"].looks
REFERENCE = PROFILES["ci"].reference
BATCH = 100_000
LEVELS = (4e-6, LEVEL, 5e-5)
BUDGETS = (LOOKS[0], *(each for each in FURTHER if each > LOOKS[0]))
OPEN, REPRODUCED, REFUTED = 0, 1, 2
NONE: Array = np.zeros(0)
SMALLER = (0.95, 0.9, 0.8)
"""Shares of all effects that are left, as after a harmless change of data or of an optimiser."""
BEGIN, END = "<!-- ledger: begin -->\n", "\n<!-- ledger: end -->"

NOISES = (
    "normal",
    "heavy",
    "skewed up",
    "skewed down",
    "collapsing",
    "mostly tied",
    "at a ceiling",
)

Draw = Callable[[tuple[int, ...]], Array]


@dataclass(frozen=True)
class Case:
    """Claims of so many comparisons, whose seeds scatter like this."""

    effect: float
    noise: str = "normal"
    comparisons: int = 1
    here: tuple[int, ...] = LOOKS[:1]

    def values(self, noise: Array, left: Array | float = 1.0) -> Array:
        """Return the values of seeds that scatter so, where a share of the effect is left."""
        return noise + self.effect * left

    def weigh(self, values: Array) -> Evidence:
        """Test one comparison of many claims, [seeds, claims]."""
        least = HALF_AN_EXAMPLE if self.noise == "at a ceiling" else 0.0
        return weigh([Group(values, least)])

    def excess(self, values: Array) -> Excess:
        """Return how far past its bound one comparison of many claims is."""
        return Excess(values.mean(axis=0), values.std(axis=0, ddof=1), len(values))


def draw(noise: str, rng: np.random.Generator) -> Draw:
    """Return a source of values with mean 0 and standard deviation 1."""

    def lognormal(shape: tuple[int, ...]) -> Array:
        return np.asarray((rng.lognormal(size=shape) - np.exp(0.5)) / ((np.e - 1) * np.e) ** 0.5)

    def of_parts(shape: tuple[int, ...], share: float, scatter: float) -> Array:
        """Seeds of which a share lies 1 lower, with some scatter around both."""
        low = -1.0 * (rng.random(shape) < share) + share
        spread = (share * (1 - share) + scatter**2) ** 0.5
        return (low + scatter * rng.standard_normal(shape)) / spread

    def of_examples(shape: tuple[int, ...], examples: int, share: float) -> Array:
        counts = rng.binomial(examples, share, shape) - examples * share
        return np.asarray(counts / (examples * share * (1 - share)) ** 0.5)

    sources: dict[str, Draw] = {
        "normal": rng.standard_normal,
        "heavy": lambda shape: rng.standard_t(3, shape) / 3**0.5,
        "skewed up": lognormal,
        "skewed down": lambda shape: -lognormal(shape),
        "collapsing": lambda shape: of_parts(shape, 0.1, 1 / 6),
        "mostly tied": lambda shape: of_parts(shape, 0.2, 0.0),
        "at a ceiling": lambda shape: of_examples(shape, 300, 0.997),
    }
    return sources[noise]


@dataclass
class Judged:
    """The outcome of each claim, and its values, [comparisons, seeds, claims]."""

    outcomes: Array
    seeds: Array
    values: Array
    holds: Array
    """Whether each comparison held at the look that ended it, [comparisons, claims]."""


def judged(case: Case, values: Array, looks: tuple[int, ...]) -> Judged:
    """Judge claims by the first seeds of their values."""
    futility = PROFILES["ci"].futility
    design, claims = Design(looks=looks, futility=futility), values.shape[-1]
    outcomes, taken = np.zeros(claims, int), np.full(claims, looks[-1])
    holds = np.zeros((len(values), claims), dtype=bool)
    left = np.arange(claims)
    for seeds in looks:
        look = Look(design, [case.weigh(each[:seeds][:, left]) for each in values])
        outcomes[left[look.reproduced]], outcomes[left[look.refuted]] = REPRODUCED, REFUTED
        holds[:, left] = [each.holds for each in look.every]
        over = look.reproduced | look.refuted | look.is_hopeless
        taken[left[over]] = seeds
        left = left[~over]
    return Judged(outcomes, taken, values, holds)


@dataclass
class Rates:
    """Counts of what became of the claims of one case."""

    case: Case
    claims: int = 0
    failed: int = 0
    refuted: int = 0
    smaller: int = 0
    further: int = 0
    again: int = 0

    def add(self, accepted: list[Excess], now: Judged, more: Draw) -> None:
        """Hold claims against their reference, with more seeds while they are in doubt."""
        self.claims += len(now.outcomes)
        self.refuted += int((now.outcomes == REFUTED).sum())
        self.again += int((now.outcomes == REPRODUCED).sum())
        for seeds in self.case.here:
            ended = now.seeds == seeds
            places = np.flatnonzero(ended & (now.outcomes == REPRODUCED))
            chance = self._chance(accepted, now.values[:, :seeds, places], places)
            self.smaller += int((chance < REPORTED).sum())
            places = np.flatnonzero(ended & (now.outcomes == OPEN))
            self._follow(accepted, now, places, seeds, more)

    def _follow(
        self, accepted: list[Excess], now: Judged, places: Array, seeds: int, more: Draw
    ) -> None:
        values = now.values[:, :seeds, places]
        while len(places):
            chance = self._chance(accepted, values, places, without=now.holds[:, places])
            fails = (chance < LEVEL) & (seeds >= DECISIVE)
            self.failed += int(fails.sum())
            further = [each for each in FURTHER if each > seeds]
            doubt = (chance < DOUBT) & ~fails
            if not further:
                return
            values, places = values[..., doubt], places[doubt]
            new = more((values.shape[0], further[0] - seeds, len(places)))
            values, seeds = np.concatenate([values, new], axis=1), further[0]
            self.further += new.shape[1] * new.shape[2]

    def _chance(
        self, accepted: list[Excess], values: Array, places: Array, *, without: Array = NONE
    ) -> Array:
        there = [
            replace(each, mean=each.mean[places], spread=each.spread[places]) for each in accepted
        ]
        here = list(map(self.case.excess, values))
        return np.asarray(chance_unchanged(there, here, without=list(without)))


def rates(case: Case, claims: int, *, left: float = 1.0, seed: int = 1) -> Rates:
    """Judge claims until so many were reproduced; `left` of the first comparison's effect is."""
    source = draw(case.noise, np.random.default_rng(seed))
    found = Rates(case)
    shape = case.comparisons, max(LOOKS[-1], REFERENCE)
    lefts = np.ones((case.comparisons, 1, 1))
    lefts[0] = left
    while found.claims < claims:
        there = judged(case, case.values(source((*shape, BATCH))), LOOKS)
        values = there.values[..., there.outcomes == REPRODUCED]
        here = source((case.comparisons, case.here[-1], values.shape[-1]))
        found.add(
            [case.excess(each) for each in values[:, :REFERENCE]],
            judged(case, case.values(here, lefts), case.here),
            lambda more: case.values(source(more), lefts),
        )
    return found


def ledger() -> list[Entry]:
    """Return the reproduced claims of this project's ledger whose verdict is about seeds."""
    folder = Path(__file__).parents[1] / "claims" / "ledger"
    files = sorted(folder.glob("*.toml"))
    entries = [entry for file in files for entry in entries_in(file.read_bytes())]
    return [
        entry
        for entry in entries
        if entry.profile == "ci"
        and entry.verdict == "reproduced"
        and any(spread > 0 for _, spread, _ in entry.past)
    ]


def failing(
    entry: Entry,
    samples: int,
    rng: np.random.Generator,
    *,
    left: float = 1.0,
    of_first: float = 1.0,
) -> Array:
    """Return the chance that a build with this entry fails, [seeds of `BUDGETS`, `LEVELS`].

    `left` is the share of all its effects that is left, `of_first` that of its first comparison's.
    Where all is left, the entry itself is drawn anew.
    """
    past = [Excess(mean, spread, seeds) for mean, spread, seeds in entry.past]

    def drawn(seeds: int, shares: list[float]) -> list[Array]:
        draws = rng.standard_normal((len(past), seeds, samples))
        return [
            draw * one.spread + one.mean * share
            for one, share, draw in zip(past, shares, draws, strict=True)
        ]

    def excesses(values: list[Array], seeds: int) -> list[Excess]:
        return [
            Excess(value[:seeds].mean(axis=0), value[:seeds].std(axis=0, ddof=1), seeds)
            for value in values
        ]

    shares = [left * of_first] + [left] * (len(past) - 1)
    is_as_it_was = all(share == 1 for share in shares)
    accepted = excesses(drawn(REFERENCE, shares), REFERENCE) if is_as_it_was else past
    values, first = drawn(FURTHER[-1], shares), LOOKS[0]
    weighed = [  # no seed changes what has no spread
        weigh([Group(value[:first])], exact=one.spread == 0)
        for one, value in zip(past, values, strict=True)
    ]
    look = Look(Design(looks=(first,)), weighed)
    failed, in_doubt = np.tile(look.refuted, (len(LEVELS), 1)), ~(look.reproduced | look.refuted)
    holds, rows = [each.holds for each in look.every], []
    for seeds in BUDGETS:
        chance = chance_unchanged(accepted, excesses(values, seeds), without=holds)
        if seeds >= DECISIVE:
            failed |= in_doubt & (chance < np.array(LEVELS)[:, None])
        in_doubt &= chance < DOUBT
        rows.append(failed.mean(axis=1))
    return np.array(rows)


def ledger_tables(samples: int) -> str:
    """Return how often the gate fails on this project's ledger, by level and by seeds."""
    entries, rng = ledger(), np.random.default_rng(3)

    def drawn(samples: int, **how: float) -> Array:
        return np.array([failing(entry, samples, rng, **how) for entry in entries])

    same, few = drawn(samples), samples // 10
    less = np.array([drawn(few, left=left)[:, -1].sum(axis=0) for left in SMALLER])
    one = [100 * drawn(few, of_first=left).mean(axis=0) for left in (0.0, 0.5)]
    lines = [
        "| level | false alarms in 100 changes of bits | claims that fail where all effects are"
        " 5, 10, 20 % smaller | one vanished | one halved |",
        "|--:|--:|--:|--:|--:|",
    ]
    for place, level in enumerate(LEVELS):
        alarms = same[:, -1, place].sum()
        rate = f"{100 * alarms:.2f} ± {100 * (alarms / samples) ** 0.5:.2f}"
        smaller = ", ".join(f"{claims:.3g}" for claims in less[:, place])
        vanished, halved = (f"{each[-1, place]:.1f} %" for each in one)
        lines.append(f"| {1e5 * level:g} in 100,000 | {rate} | {smaller} | {vanished} | {halved} |")
    lines += ["", "| `--seed-budget` | one vanished | one halved |", "|--:|--:|--:|"]
    used = LEVELS.index(LEVEL)
    for place, seeds in enumerate(BUDGETS):
        vanished, halved = (f"{each[place, used]:.1f} %" for each in one)
        lines.append(f"| {seeds} | {vanished} | {halved} |")
    return "\n".join(lines)


def row(case: Case, claims: int) -> str:
    """Return the rates of one case as a line."""
    same = rates(case, claims)
    gone = rates(case, claims // 50, left=0.0, seed=2)
    half = rates(case, claims // 50, left=0.5, seed=3)
    failed, refuted = ((same.failed + same.refuted) / same.claims, same.refuted / same.claims)
    caught, halved = ((each.failed + each.refuted) / each.claims for each in (gone, half))
    return (
        f"{case.noise:<13}{case.comparisons:>3}"
        f"{','.join(map(str, case.here)):>8}{case.effect:7.2f}{same.again / same.claims:8.1%}"
        f"{failed:10.1e} ({refuted:.0e}){caught:8.1%}{halved:8.1%}"
        f"{same.smaller / same.claims:10.1e}"
        f"{half.smaller / half.claims:8.1%}{same.further / same.claims:8.2f}"
    )


CASES = [
    *(Case(effect) for effect in (0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)),
    *(Case(effect, here=LOOKS) for effect in (0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)),
    *(Case(effect, comparisons=4) for effect in (1.0, 1.5, 2.0, 3.0)),
    *(
        Case(effect, noise)
        for noise in NOISES[1:]
        for effect in (0.75, 1.0, 1.5, 2.0, 3.0)
    ),
]  # fmt: skip


METRICS = 10
"""The metrics of a session whose levels are held against the ledger."""

MOVES = (0, 1, 2, 3, 4)
"""How far one of them has moved, in standard deviations over seeds."""


def alarms(noise: str, move: float, seeds: int, sessions: int) -> float:
    """Return the share of sessions that say a level has moved.

    One arm stands for all arms of a metric. In the worst case they are alike on each seed: all err
    to the same side.
    """
    source, heard = draw(noise, np.random.default_rng(7)), 0
    for _ in range(sessions):
        pairs = []
        for metric in range(METRICS):
            there, here = source((REFERENCE,)), source((seeds,)) + (move if metric == 0 else 0)
            before, now = (
                Level("arm", str(metric), 10 + v.mean(), v.std(ddof=1), len(v))
                for v in (there, here)
            )
            pairs.append((before, now))
        heard += bool(shifts(pairs))
    return heard / sessions


def print_levels(sessions: int) -> None:
    """Print how often a level is said to have moved, as a table of Markdown."""
    print("\nsessions in 100 that say a level has moved, at 5 seeds, and at 20\n")
    print("| values over seeds | nothing moved |", *(f"by {move} |" for move in MOVES[1:]))
    print("|---|" + "--:|" * len(MOVES))
    for noise in NOISES:
        shown = []
        for move in MOVES:
            count = sessions // 10 if move else sessions
            rates = (100 * alarms(noise, move, seeds, count) for seeds in (LOOKS[0], REFERENCE))
            shown.append(", ".join(f"{rate:.0f}" if move else f"{rate:.2f}" for rate in rates))
        print(f"| {noise} |", " | ".join(shown), "|", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer claims")
    parser.add_argument("--ledger", metavar="PAGE", type=Path, help="only write its tables there")
    options = parser.parse_args()
    if options.ledger:
        before, begin, rest = options.ledger.read_text().partition(BEGIN)
        after = rest[rest.index(END) :]
        options.ledger.write_text(before + begin + ledger_tables(20_000) + after)
        return
    claims = 200_000 if options.quick else 1_000_000
    print(f"{claims} reproduced claims a row, {claims // 50} for what vanished or halved\n")
    print(
        f"{'noise':<13}{'of':>3}{'looks':>8}{'effect':>7}{'again':>8}"
        f"{'false (refuted)':>18}{'caught':>8}{'halved':>8}{'smaller':>10}{'halved':>8}{'seeds':>8}"
    )
    for case in CASES:
        print(row(case, claims), flush=True)
    print_levels(1_000 if options.quick else 10_000)


if __name__ == "__main__":
    main()
