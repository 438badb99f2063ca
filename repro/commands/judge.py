"""The command `judge`: sentences about the runs of a table, or a table of all its arms."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from repro.arm import Metric
from repro.commands.answers import CODES, amounts
from repro.commands.sentence import Named, Sentence, parsed
from repro.commands.table import ONLY, Table, add_reading, listed, read, require_same_ends
from repro.judge import LEVEL, Judge, Measured, OneLook, Runs, Verdict, require_level
from repro.judge.anytime import declared_design
from repro.judge.measured import above
from repro.judge.scale import Array
from repro.recorded.notebook import measured_arms
from repro.recorded.rows import RecordedError

_PAIRS = 10
"""The most pairs of a table that are printed."""


def add_to(commands: Any) -> None:
    """Add `judge` to the commands of a parser.

    >>> add_to(argparse.ArgumentParser().add_subparsers())
    """
    parser = commands.add_parser("judge", help="judge sentences about the runs of a table")
    parser.add_argument("path", metavar="FILE", help="a table of runs, or a folder of runs")
    parser.add_argument(
        "sentences",
        nargs="*",
        metavar="SENTENCE",
        help="such as 'new.loss < old.loss'; the name of a column alone, for a table of all arms",
    )
    parser.add_argument(
        "--arm",
        metavar="COLUMN",
        action="append",
        default=[],
        help="the column that tells arms apart; once for each",
    )
    parser.add_argument(
        "--scale",
        choices=("identity", "log", "log-odds", "share"),
        default="identity",
        help="log for factors, log-odds for shares of examples, share for runs of 0 or 1",
    )
    parser.add_argument(
        "--examples", metavar="N", type=int, help="the examples that each share is counted on"
    )
    parser.add_argument(
        "--looks", choices=("any",), help="any: the answer holds however often one looks"
    )
    add_reading(parser)
    parser.set_defaults(run=judge_table, goes_on="sentences")


def judge_table(chosen: argparse.Namespace) -> int:
    """Print an answer for each sentence; return 0, 1 or 2 for the worst of them, or 3."""
    level = LEVEL if chosen.level is None else require_level(chosen.level)
    table = read(chosen.path, chosen, arm=chosen.arm)
    columns = {name for row in table.rows for name in row.cells}
    sentences = [parsed(json.dumps(x) if x in columns else x) for x in chosen.sentences]
    if not sentences:
        metrics = table.metrics
        if len(metrics) != 1:
            has = f"{len(metrics)} columns of numbers, {listed(metrics)}" if metrics else "none"
            raise RecordedError(
                f"A table of all arms compares one column of numbers, and {table.name} has {has}"
                f"{'' if metrics else ' beside those that tell runs apart'}: name one, or give a"
                " sentence."
            )
        sentences = [parsed(json.dumps(metrics[0]))]
    worst = 0
    for sentence in sentences:
        if sentence.is_metric:
            _print_arms(table, sentence.named[0].metric, level, chosen)
            continue
        verdict = judged(table, sentence, level, chosen)
        print(_line(verdict, sentence, table, chosen), flush=True)
        worst = max(worst, CODES[verdict.outcome], key=(0, 2, 1).index)
    return worst


def judged(table: Table, sentence: Sentence, level: float, chosen: argparse.Namespace) -> Verdict:
    """Return the verdict on a sentence about the arms of a table."""
    values: dict[str, dict[str, dict[Any, float]]] = {}
    for each in sentence.named:
        arm = _arm(table, each)
        of_arm = values.setdefault(each.metric, {})[arm] = table.values(arm, each.metric)
        if len(of_arm) < 2:
            raise RecordedError(
                f"{arm} has one run in {table.name}, which has no spread: give it two or more."
            )
    if not values:
        raise sentence.wrong("it names no metric of an arm")
    for metric, of_metric in values.items():
        require_same_ends(((table, arm) for arm in of_metric), metric)
    most = max(len(runs) for arms in values.values() for runs in arms.values())
    both = Judge(declared_design(chosen.looks, most=most, level=level))
    measured = {
        (arm, metric): each
        for metric, arms in values.items()
        for arm, each in _measured(both, table, arms, metric, chosen).items()
    }
    return sentence.judged(lambda each: measured[_arm(table, each), each.metric])


def _measured(
    both: Judge,
    table: Table,
    arms: Mapping[str, Mapping[int, float]],
    metric: str,
    chosen: argparse.Namespace,
) -> dict[str, Measured]:
    """Return the metric of some arms of a table; one spread is that of all its arms."""
    others = [x for x in table.arms if x not in arms and chosen.spread == "same"]
    found = measured_arms(
        both,
        arms,
        metric=metric,
        on=Metric(chosen.scale, examples=chosen.examples),
        paired=chosen.paired,
        spread=chosen.spread,
        word=table.word,
        others={name: table.values(name, metric) for name in others},
    )
    return dict(zip(arms, found, strict=True))


def _arm(table: Table, named: Named) -> str:
    if named.arm is not None:
        if table.arms.keys() == {ONLY}:
            raise RecordedError(
                f"Nothing says which runs of {table.name} are of {named.arm!r}: name the column"
                " that tells arms apart, as in --arm method."
            )
        return table.arm(named.arm)
    if len(table.arms) > 1:
        raise RecordedError(
            f"{named.metric} names no arm, and {table.name} has {listed(table.arms)}: write"
            f" {next(iter(table.arms))}.{named.metric}, or choose rows with --where."
        )
    return next(iter(table.arms))


def _line(verdict: Verdict, sentence: Sentence, table: Table, chosen: argparse.Namespace) -> str:
    notes = [x for x in (verdict.reason, *verdict.repeats, *verdict.states, verdict.advice) if x]
    values = {x for sample in verdict.samples if not sample.is_fixed for x in sample.values}
    if values <= {0.0, 1.0} and chosen.scale != "share":
        notes.append("all runs are 0 or 1: --scale share judges them as runs that fail or succeed")
    if mixed := table.mixed:
        notes.append(mixed)
    said = amounts(verdict, first=_arm(table, sentence.named[0]))
    if chosen.json:
        return json.dumps(
            {
                "sentence": sentence.text,
                "verdict": verdict.outcome.value,
                **said.data,
                "p": verdict.p / 2 if verdict.p < 1 else None,
                "level": verdict.level / 2,
                "means": {s.label: s.mean for s in verdict.samples if not s.is_fixed},
                "notes": notes,
                "text": verdict.text(most=None),
            }
        )
    effect = said.text or verdict.statement
    lines = [f"{verdict.outcome:<13} {effect}, {said.runs}{verdict.manner}"]
    return "\n  ".join([*lines, *notes])


# --- A table of all arms.


def _print_arms(table: Table, metric: str, level: float, chosen: argparse.Namespace) -> None:
    """Print means, spreads and runs of all arms, and which arms cannot be told apart."""
    if chosen.looks is not None:
        raise RecordedError("--looks is for sentences: a table of all arms is one look.")
    by_seed = {arm: table.values(arm, metric) for arm in table.arms}
    require_same_ends(((table, arm) for arm in table.arms), metric)
    runs = {arm: Runs(label=arm, by_seed=of_arm) for arm, of_arm in by_seed.items()}
    values = {
        arm: np.array([x for i, x in enumerate(of_arm.values()) if i not in runs[arm].left_out])
        for arm, of_arm in by_seed.items()
    }
    ordered = sorted(values, key=lambda arm: float(values[arm].mean()))
    tested = [arm for arm in ordered if len(values[arm]) > 1]
    most = max(2, *map(len, by_seed.values()))
    compared = {arm: by_seed[arm] for arm in tested}
    measured = _measured(Judge(OneLook((most,))), table, compared, metric, chosen)
    pairs = list(combinations(measured.values(), 2))
    apart = list(_apart(pairs, most, level / max(1, len(pairs))))
    notes = [*filter(None, (of_arm.said() for of_arm in runs.values())), *_missing(values, tested)]
    groups = tie_groups(tested, [(first, other) for first, other, *_ in apart])
    if chosen.json:
        arms = {
            arm: {
                "mean": float(x.mean()),
                "sd": float(x.std(ddof=1)) if len(x) > 1 else None,
                "runs": len(x),
            }
            for arm, x in values.items()
        }
        differ = [{"arms": list(row[:2]), "difference": row[2], "p": row[3]} for row in apart]
        data = {"metric": metric, "arms": arms, "apart": differ, "ties": groups, "notes": notes}
        print(json.dumps(data))
        return
    letters = {
        arm: " ".join(_letter(i) for i, g in enumerate(groups) if arm in g) for arm in tested
    }
    wide = max(len(arm) for arm in ordered)
    finest = min((float(x.std(ddof=1)) for x in values.values() if len(x) > 1), default=0.0)
    decimals = max(0, 2 - math.floor(math.log10(finest))) if finest > 0 else 4
    print(f"{metric:<{wide}}  {'mean':>12}  {'sd':>10}  runs  cannot be told apart")
    for arm in ordered:
        x = values[arm]
        sd = f"{x.std(ddof=1):.3g}" if len(x) > 1 else "·"
        mean, ties = f"{x.mean():.{decimals}f}", letters.get(arm, "?")
        print(f"{arm:<{wide}}  {mean:>12}  {sd:>10}  {len(x):>4}  {ties}")
    if pairs:
        print(
            f"{len(apart)} of {len(pairs)} pairs differ, level {100 * level:g} % for all together"
        )
    for first, other, difference, p in apart[:_PAIRS]:
        print(f"  {other} - {first} = {difference:.3g}, p {p:.1g}")
    if len(apart) > _PAIRS:
        print(f"  and {len(apart) - _PAIRS} more, which --json has")
    print(*notes, sep="\n", end="\n" if notes else "")


def _missing(values: Mapping[str, Array], tested: Sequence[str]) -> Iterator[str]:
    """Yield what keeps arms from being compared."""
    if len(values) == 1:
        yield "there is one arm: name the column that tells arms apart, as in --arm method"
    elif len(tested) < 2:
        has = f"only {tested[0]} has" if tested else "no arm has"
        yield f"{has} two runs, and one run has no spread: give each compared arm two or more"
    alike = [arm for arm in tested if not np.ptp(values[arm])]
    if alike:
        yield (
            f"all runs of {listed(alike)} are alike, so they have no spread: does the training use"
            " its seed?"
        )


def _apart(
    pairs: Iterable[tuple[Measured, Measured]], most: int, level: float
) -> Iterator[tuple[str, str, float, float]]:
    """Yield the pairs that differ: the lower arm, the higher one, the difference, and p."""
    for first, other in pairs:
        term = above(other, first)
        sampled = term.sampled({side: side.values(most) for side in term.sides})
        p = float(sampled.term.weigh(sampled.readings).p_for) if sampled.is_sample else 1.0
        if p <= level:
            high, low = (float(values.mean()) for values in sampled.readings.values())
            yield first.label, other.label, high - low, p


def tie_groups(arms: Sequence[str], apart: Sequence[tuple[str, str]]) -> list[list[str]]:
    """Return the largest groups of arms of which no two differ (Piepho 2004).

    >>> tie_groups(["a", "b", "c"], [("a", "c")])
    [['a', 'b'], ['b', 'c']]
    """
    groups = [frozenset(arms)] if arms else []
    for pair in apart:
        split = [
            group - {arm} for group in groups if group.issuperset(pair) for arm in reversed(pair)
        ]
        groups = [group for group in groups if not group.issuperset(pair)]
        groups += [x for i, x in enumerate(split) if not any(x <= y for y in (*groups, *split[:i]))]
    place = {arm: i for i, arm in enumerate(arms)}
    return sorted(([arm for arm in arms if arm in g] for g in groups), key=lambda g: place[g[0]])


def _letter(number: int) -> str:
    return chr(ord("a") + number) if number < 26 else f"{chr(ord('a') + number % 26)}{number // 26}"
