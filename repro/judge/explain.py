"""A verdict in a few lines of at most 80 columns, for a person who has to believe it or not."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from repro.judge.ranking import Ranking
    from repro.judge.verdict import Effect, Verdict

_WIDTH = 80
_MOST_EFFECTS = 6


def verdict(judged: Verdict) -> str:
    """The whole explanation."""
    lines = [_wrap(f"{judged.outcome.upper()}: {judged.statement}", indent="")]
    if judged.parts:
        lines += [textwrap.indent(verdict(part), "  ") for part in _narrow(judged)]
        lines.append(_wrap(f"joint level: {100 * judged.level:.2g}%"))
        return "\n".join(lines)
    if judged.means:
        means = ", ".join(f"{label} {mean:.4g}" for label, mean in judged.means)
        lines.append(_wrap(f"means: {means}"))
    effects = sorted(
        judged.effects, key=lambda effect: (effect.holds, not effect.fails, not effect.needed)
    )
    lines += [_wrap(_effect(effect)) for effect in effects[:_MOST_EFFECTS]]
    if len(effects) > _MOST_EFFECTS:
        rest = effects[_MOST_EFFECTS:]
        held = sum(effect.holds for effect in rest)
        lines.append(_wrap(f"and {len(rest)} more comparisons, of which {held} hold"))
    if judged.ranking:
        lines += [_wrap(line) for line in _ranking(judged.ranking)]
    if judged.effects:
        lines.append(_wrap(_budget(judged)))
        lines += [_wrap(line) for line in _quality(judged)]
    lines += [_wrap(line) for line in (judged.reason, judged.advice) if line]
    return "\n".join(lines)


def number(value: float) -> str:
    return f"{value:.3g}"


def _effect(effect: Effect) -> str:
    mark = "holds" if effect.holds else "contradicted" if effect.fails else "open"
    if not effect.needed:
        mark = f"also {mark}"
    relation = "<" if effect.below else ">"
    interval = f" [{number(effect.low)}, {number(effect.high)}]" if effect.has_spread else ""
    p, boundary = (
        (effect.p_against, effect.boundary_against)
        if effect.fails
        else (effect.p_for, effect.boundary)
    )
    against = " (of the opposite)" if effect.fails else ""
    evidence = (
        f"p{against} {p:.2g}, boundary {boundary:.2g}"
        if effect.has_spread
        else "the same on every seed"
    )
    return (
        f"{mark}: {effect.label} = {number(effect.estimate)}{interval} {effect.unit}, "
        f"claimed {relation} {number(effect.bound)}; {evidence}"
    )


def _ranking(ranking: Ranking) -> list[str]:
    total = len(ranking.as_claimed) + len(ranking.against) + len(ranking.open)
    lines = ["places: " + "; ".join(f"{i} {arm}" for i, arm in enumerate(ranking.arms, 1))]
    for name, pairs in (
        ("as listed", ranking.as_claimed),
        ("against it", ranking.against),
        ("not settled", ranking.open),
    ):
        if pairs:
            listed = " ".join(f"{first}-{second}" for first, second in pairs)
            lines.append(f"{len(pairs)} of {total} pairs {name}: {listed}")
    interval = f" [{ranking.low:.2f}, {ranking.high:.2f}]" if ranking.low < ranking.high else ""
    lines.append(
        f"rank correlation with the listed order (Kendall's tau-b): {ranking.tau:.2f}{interval} on "
        f"one seed, {ranking.tau_of_means:.2f} of the means; the interval is a t interval over "
        "seeds, approximate since tau takes few values"
    )
    return lines


def _budget(judged: Verdict) -> str:
    looks = ", ".join(map(str, judged.looks))
    confidence = 100 * (1 - judged.level)
    if not any(effect.has_spread for effect in judged.effects):
        return (
            f"exact: does not depend on the seed (read off at {judged.seeds} seeds); "
            f"{judged.scale} scale"
        )
    return (
        f"{judged.seeds} seeds (looks at {looks}); {confidence:g}% intervals over all looks; "
        f"{judged.scale} scale{_examples(judged)}"
    )


def _examples(judged: Verdict) -> str:
    counts = sorted({sample.examples for sample in judged.samples} - {0})
    return f"; the error of having {counts[-1]} examples is counted" if counts else ""


def _quality(judged: Verdict) -> list[str]:
    lines = []
    needed = [effect for effect in judged.effects if effect.needed]
    with_spread = [effect for effect in needed if effect.has_spread]
    if with_spread:
        weakest = max(with_spread, key=lambda effect: abs(effect.detectable - effect.bound))
        lines.append(_power(weakest))
    correlations = [e.correlation for e in needed if e.correlation is not None]
    if correlations:
        low, high = f"{min(correlations):.2f}", f"{max(correlations):.2f}"
        lines.append(f"pairing: r = {low}" + (f" to {high}" if high != low else ""))
    is_spread = any(effect.kind == "spread" for effect in with_spread)
    skewed = [effect.label for effect in needed if effect.skewed]
    if skewed:
        lines.append(
            f"skewed {'values' if is_spread else 'differences'} "
            f"({', '.join(dict.fromkeys(skewed))}): the test does not keep its level here"
        )
    if is_spread:
        lines.append(
            "chi-square takes the values for normal over seeds: for heavy-tailed ones it errs some "
            "ten times as often as stated, and few seeds do not show it"
        )
    return lines


def _power(effect: Effect) -> str:
    if effect.kind == "spread":
        return f"power: 80% where the true sd is {number(effect.detectable)} {effect.unit} or less"
    return (
        f"power: 80% for {number(abs(effect.detectable - effect.bound))} {effect.unit} past the "
        f"bound ({effect.detectable_in_sd:.2f} sd over seeds)"
    )


def _narrow(judged: Verdict) -> tuple[Verdict, ...]:
    """The parts that keep the conjunction from being reproduced, or all of them if it is."""
    return tuple(part for part in judged.parts if not part) or judged.parts


def _wrap(line: str, indent: str = "  ") -> str:
    # Nested explanations are indented twice.
    return textwrap.fill(
        line,
        width=_WIDTH - 2,
        initial_indent=indent,
        subsequent_indent=indent + "  ",
        break_on_hyphens=False,
    )
