"""Nights of an agent that edits and decides: what is kept falsely, what is found, at what cost.

    python benchmarks/decide.py                      # five minutes on one core
    python benchmarks/decide.py --write docs/judge.md    # and writes the table into the page

Every edit starts from a baseline of eight runs. An agent adds a run, asks, and goes on until it
keeps or discards the edit. Three agents decide: by `repro.recorded.decide`, which names the side
that the next run belongs to; *greedily*, on one run that is better than the best value so far; and
by Student's *t test* at p < .05, asked after each run from 3 to 12. In a night of no-ops no edit
changes anything: each kept one is false. A kept edit's runs are the next baseline (the greedy agent
knows its best value alone), and the runs that are added to a baseline stay with it.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.special import stdtr  # type: ignore[import-untyped]

from repro.recorded import Choice, decide

EDITS, BASELINE, MOST = 100, 8, 12
MARKED = re.compile(r"(<!-- nights: begin -->\n).*?(<!-- nights: end -->)", re.DOTALL)


@dataclass
class Edit:
    """One edit: its effect in standard deviations over runs, and its spread beside theirs."""

    effect: float
    rng: np.random.Generator
    spread: float = 1.0

    def run(self) -> float:
        """Return the loss of one further run."""
        return float(self.spread * self.rng.standard_normal() - self.effect)


Agent = Callable[[list[float], Edit], tuple[bool, list[float], int]]
"""Takes the runs of the baseline; returns whether it keeps the edit, its runs, and all new runs."""


def by_decide(baseline: list[float], edit: Edit) -> tuple[bool, list[float], int]:
    """Decide as the command does; each next run goes to the side that has more to gain."""
    runs, new = [edit.run()], 1
    while True:
        found = decide(baseline, runs, lower=True, most=MOST)
        if found.choice is not Choice.RUN_MORE:
            return found.choice is Choice.KEEP, runs, new
        if found.baseline > found.candidate:
            baseline.append(float(edit.rng.standard_normal()))
        else:
            runs.append(edit.run())
        new += 1


def with_candidate_runs_only(baseline: list[float], edit: Edit) -> tuple[bool, list[float], int]:
    """Decide by exit codes alone: each next run is one of the candidate."""
    runs = [edit.run()]
    while (found := decide(baseline, runs, lower=True, most=MOST)).choice is Choice.RUN_MORE:
        runs.append(edit.run())
    return found.choice is Choice.KEEP, runs, len(runs)


def greedily(baseline: list[float], edit: Edit) -> tuple[bool, list[float], int]:
    """Keep what is better than the best so far, on one run."""
    value = edit.run()
    return value < min(baseline), [*baseline, value], 1


def by_t_test(baseline: list[float], edit: Edit) -> tuple[bool, list[float], int]:
    """Keep what Student's t test finds at p < .05 after any run from 3 to 12."""
    runs, old = [edit.run() for _ in range(2)], np.array(baseline)
    while len(runs) < MOST:
        runs.append(edit.run())
        here, freedom = np.array(runs), len(runs) + len(old) - 2
        squares = here.var(ddof=1) * (len(here) - 1) + old.var(ddof=1) * (len(old) - 1)
        error = (squares / freedom * (1 / len(here) + 1 / len(old))) ** 0.5
        if stdtr(freedom, (here.mean() - old.mean()) / error) < 0.05:
            return True, runs, len(runs)
    return False, runs, len(runs)


AGENTS: dict[str, Agent] = {
    "`decide`": by_decide,
    "`decide`, runs of the candidate alone": with_candidate_runs_only,
    "one run better than the best": greedily,
    "t test, p < .05, after each run": by_t_test,
}


def night(agent: Agent, edits: int, rng: np.random.Generator, spread: float = 1.0) -> list[float]:
    """Return the false keeps and the runs an edit of a night of no-ops.

    After a false keep the next baseline is the kept runs, which look better than they are.
    """
    baseline, kept, runs = [float(x) for x in rng.standard_normal(BASELINE)], 0, 0
    for _ in range(edits):
        keeps, own, new = agent(baseline, Edit(0.0, rng, spread))
        kept, runs = kept + keeps, runs + new
        if keeps:
            baseline = own
    return [kept, runs / edits]


def gains(agent: Agent, effect: float, edits: int, rng: np.random.Generator) -> float:
    """Return the share of edits of this gain that are kept, each against a baseline of its own."""
    kept = 0
    for _ in range(edits):
        baseline = [float(x) for x in rng.standard_normal(BASELINE)]
        kept += agent(baseline, Edit(effect, rng))[0]
    return kept / edits


def table(nights: int, edits: int) -> list[str]:
    """Return the rows of the page's table."""
    lines = [
        f"| decided by | false keeps in {nights} nights of {EDITS} no-ops | runs an edit"
        " | gains of 2 sd that are kept | of 3 sd | of 4 sd |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for name, agent in AGENTS.items():
        rng = np.random.default_rng(75)
        found = np.array([night(agent, EDITS, rng) for _ in range(nights)])
        shares = [gains(agent, effect, edits, rng) for effect in (2.0, 3.0, 4.0)]
        cells = [f"{found[:, 0].sum():.0f}", f"{found[:, 1].mean():.1f}"]
        cells += [f"{100 * share:.0f} %" for share in shares]
        lines.append(f"| {name} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--nights", type=int, default=10)
    parser.add_argument("--edits", type=int, default=400, help="for each size of gain")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="write the table into a page")
    options = parser.parse_args()
    lines = table(options.nights, options.edits)
    for spread in (0.2, 2.0, 5.0):
        rng = np.random.default_rng(76)
        found = np.array([night(by_decide, EDITS, rng, spread) for _ in range(options.nights)])
        print(
            f"no-ops that spread {spread:g} times as much: {found[:, 0].sum():.0f} kept", flush=True
        )
    if options.write is not None:
        text = options.write.read_text()
        said = "\n".join(lines)
        options.write.write_text(MARKED.sub(lambda mark: f"{mark[1]}{said}\n{mark[2]}", text))


if __name__ == "__main__":
    main()
