"""The lines of a verdict's explanation, for a person who has to believe it or not."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from repro.judge.effect import Effect
from repro.judge.ranking import Ranking

_WIDTH = 80
_MOST_EFFECTS = 6


def effects(judged: Sequence[Effect]) -> list[str]:
    """One line for each comparison, those that are open or contradicted first."""
    ordered = sorted(judged, key=lambda effect: (effect.holds, not effect.fails, not effect.needed))
    lines = [_effect(effect) for effect in ordered[:_MOST_EFFECTS]]
    rest = ordered[_MOST_EFFECTS:]
    if rest:
        held = sum(effect.holds for effect in rest)
        lines.append(f"and {len(rest)} more comparisons, of which {held} hold")
    return lines


def _effect(effect: Effect) -> str:
    mark = "holds" if effect.holds else "contradicted" if effect.fails else "open"
    if not effect.needed:
        mark = f"also {mark}"
    if effect.kind == "run":
        return f"{mark}: {_run(effect)}"
    relation = "<" if effect.below else ">"
    interval = f" [{_number(effect.low)}, {_number(effect.high)}]" if effect.has_spread else ""
    if effect.alike or not effect.has_spread:
        evidence = "the same on every seed"
    elif effect.fails:
        evidence = (
            f"p (of the opposite) {effect.p_against:.2g}, boundary {effect.boundary_against:.2g}"
        )
    else:
        evidence = f"p {effect.p_for:.2g}, boundary {effect.boundary:.2g}"
    corrected = ""
    if effect.corrected is not None and _number(effect.corrected) != _number(effect.estimate):
        corrected = f", {_number(effect.corrected)} corrected for stopping"
    return (
        f"{mark}: {effect.label} = {_number(effect.estimate)}{interval}{corrected} {effect.unit}, "
        f"claimed {relation} {_number(effect.bound)}; {evidence}"
    )


def _run(effect: Effect) -> str:
    """Return the value of one run, or the mean of a few, beside the documented number."""
    interval = f" [{_number(effect.low)}, {_number(effect.high)}]" if effect.has_spread else ""
    unit = "" if effect.unit == "ratio" else f" {effect.unit}"
    gives = f"{effect.label} gives {_number(effect.estimate)}{interval}{unit}"
    documented = f"documented is {effect.bound:g}"
    near = f"shown to lie {effect.width}"
    if not effect.has_spread:
        there = "which lies" if effect.holds else "which does not lie"
        return f"{gives}, the same on every seed; {documented}, {there} {effect.width}"
    if effect.fails:
        evidence = f"p {effect.p_against:.2g}, boundary {effect.boundary_against:.2g}"
        return f"{gives}; {documented}, outside ({evidence})"
    evidence = f"p {effect.p_for:.2g}, boundary {effect.boundary:.2g}"
    shown = near if effect.holds else f"not {near}"
    return f"{gives}; {documented}, inside, and {shown} ({evidence})"


def ranking(judged: Ranking) -> list[str]:
    """Lines on the pairs of a claimed order, and on its rank correlation with the measured one."""
    total = len(judged.as_claimed) + len(judged.against) + len(judged.open)
    lines = ["places: " + "; ".join(f"{i} {arm}" for i, arm in enumerate(judged.arms, 1))]
    for name, pairs in (
        ("as listed", judged.as_claimed),
        ("against it", judged.against),
        ("not settled", judged.open),
    ):
        if pairs:
            listed = " ".join(f"{first}-{second}" for first, second in pairs)
            lines.append(f"{len(pairs)} of {total} pairs {name}: {listed}")
    correlation = "rank correlation with the listed order (Kendall's tau-b)"
    if not judged.is_by_seed:
        return [*lines, f"{correlation}: {judged.tau_of_means:.2f} of the means"]
    interval = f" [{judged.low:.2f}, {judged.high:.2f}]" if judged.low < judged.high else ""
    lines.append(
        f"{correlation}: {judged.tau:.2f}{interval} on "
        f"one seed, {judged.tau_of_means:.2f} of the means; the interval is a t interval over "
        "seeds, approximate since tau takes few values"
    )
    return lines


def quality(judged: Sequence[Effect]) -> list[str]:
    """The power, the worth of the pairing, and what speaks against trusting the tests."""
    lines = []
    needed = [effect for effect in judged if effect.needed]
    with_spread = [effect for effect in needed if effect.has_spread]
    if with_spread:
        lines.append(
            _power(max(with_spread, key=lambda effect: abs(effect.detectable - effect.bound)))
        )
    correlations = [effect.correlation for effect in needed if effect.correlation is not None]
    if correlations:
        low, high = f"{min(correlations):.2f}", f"{max(correlations):.2f}"
        lines.append(f"pairing: r = {low}" + (f" to {high}" if high != low else ""))
    is_spread = any(effect.kind == "spread" for effect in with_spread)
    for seen in dict.fromkeys(seen for effect in needed for seen in effect.unusual):
        where = ", ".join(dict.fromkeys(e.label for e in needed if seen in e.unusual))
        lines.append(f"{seen} ({where}): {_CONSEQUENCE}")
    if any(effect.kind == "run" for effect in with_spread):
        lines.append("it takes the runs of the source to spread as much as these do")
    if is_spread:
        lines.append(
            "this test takes the values for normal over seeds: for heavy-tailed ones it errs some "
            "ten times as often as stated, and few seeds do not show it"
        )
    return lines


_CONSEQUENCE = (
    "the mean may not be what is claimed, and the test may err more often than stated; "
    "in_at_least=0.5 claims the median"
)


def _power(effect: Effect) -> str:
    if effect.kind == "share":
        if effect.detectable > 1:
            return "power: none, so few runs cannot show this share even if all of them agree"
        return f"power: 80% where it is {_number(effect.detectable)} of the runs"
    if effect.kind == "spread":
        return f"power: 80% where the true sd is {_number(effect.detectable)} {effect.unit} or less"
    if effect.kind == "run":
        width = (
            f"{_number(effect.detectable)} or more ({effect.detectable_in_sd:.2f} sd over seeds)"
        )
        return f"power: 80% for a documented run of the same at a width of {width}"
    return (
        f"power: 80% for {_number(abs(effect.detectable - effect.bound))} {effect.unit} past the "
        f"bound ({effect.detectable_in_sd:.2f} sd over seeds)"
    )


def _number(value: float) -> str:
    return f"{value:.3g}"


def wrap(line: str, indent: str = "  ") -> str:
    """Break a line into several of at most 78 columns, so that nested ones stay within 80."""
    width = _WIDTH - 2
    if len(indent) + len(line) <= width and line.isprintable() and line[-1:].strip():
        return indent + line  # as textwrap would, which takes its time
    return textwrap.fill(
        line,
        width=width,
        initial_indent=indent,
        subsequent_indent=indent + "  ",
        break_on_hyphens=False,
    )
