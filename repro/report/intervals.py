"""Plots of comparisons as rows above an axis: all of one claim, or one for each claim of a source.

A row has a name, a dot for each seed, the effect with its interval, and a mark at the claimed bound
or the documented number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from repro.report import svg
from repro.report.records import ClaimRecord, EffectData, FindingData, deciding_effect

RATIO = "ratio of two arms"
MOST_ROWS = 12
"""The most comparisons of one claim in a plot; the text beside the plot has all."""

LEFT, RIGHT, FOOT, HEIGHT, MIDDLE, LONGEST_NAME = 10, 328, 30, 28, 20, 64
"""Lengths in points, and the most characters of a name; the interval is at `MIDDLE` of a row."""

DIAMOND, STROKE = "m0-3.5l3.5 3.5-3.5 3.5-3.5-3.5z", "m0-8v13"
STATES = {"contradicted": "refuted", "open": "inconclusive", "holds": "reproduced"}
"""The colour of each state of a comparison, the worst state first."""


@dataclass(frozen=True)
class Comparison:
    """One comparison to draw; None replaces an infinite end of the interval."""

    name: str
    colour: str
    interval: tuple[float | None, float | None, float | None]
    """Low end, effect, high end."""
    claimed: tuple[float, ...]
    """The claimed bounds, or the documented number."""
    is_documented: bool = False
    dots: tuple[float, ...] = ()
    link: str = ""
    """The anchor that its name links to; empty for no link."""

    @property
    def values(self) -> list[float]:
        return [each for each in (*self.interval, *self.claimed, *self.dots) if each is not None]

    def draw(self, axis: svg.Axis) -> str:
        """Draw the row, with 0 as its top."""
        low, middle, high = self.interval
        name = self.name if len(self.name) <= LONGEST_NAME else f"{self.name[: LONGEST_NAME - 1]}…"
        named = svg.text(LEFT, 9, name)
        named = f'<a href="#{self.link}">{named}</a>' if self.link else named
        bar = estimate = ""
        if low is not None and high is not None:
            bar = svg.line([(axis.at(low), MIDDLE), (axis.at(high), MIDDLE)], "whisker")
        if middle is not None:
            estimate = svg.marks([(axis.at(middle), MIDDLE)], "estimate")
        claimed = [(axis.at(each), MIDDLE) for each in self.claimed]
        return "".join(
            [
                named,
                svg.marks([(axis.at(dot), MIDDLE - 5) for dot in self.dots], "seed"),
                svg.coloured(self.colour, bar, estimate),
                svg.marks(claimed, "claimed", DIAMOND if self.is_documented else STROKE),
            ]
        )


def forest(records: Sequence[ClaimRecord], *, anchors: Sequence[str]) -> list[svg.PagePlot]:
    """Draw all measured claims, one plot for each unit; a claim's name links to its anchor."""
    units: dict[str, list[Comparison]] = {}
    for record, anchor in zip(records, anchors, strict=True):
        decided = deciding_effect(record)
        if decided and decided[1].estimate is not None:
            units.setdefault(_quantity(*decided), []).append(_of_claim(record, anchor, *decided))
    by_size = sorted(units.items(), key=lambda each: -len(each[1]))
    return [
        _plot(unit, rows, f"{len(rows)} measured claims with their intervals: {unit}")
        for unit, rows in by_size
    ]


def seeds(findings: Sequence[FindingData]) -> list[svg.PagePlot]:
    """Draw the needed comparisons of a claim, one plot for each unit."""
    needed = [effect for each in findings for effect in each.effects if effect.needed]
    units: dict[tuple[str, str], dict[str, Comparison]] = {}
    for effect in needed[:MOST_ROWS]:
        unit = effect.unit.replace("_", " ")
        rows = units.setdefault((effect.kind, unit), {})
        row = _of_effect(effect)
        if (other := rows.get(effect.label)) is not None:  # the other side of a margin
            colour = next(c for c in STATES.values() if c in (row.colour, other.colour))
            row = replace(other, colour=colour, claimed=(*other.claimed, *row.claimed))
        rows[effect.label] = row
    return [
        _plot(unit, list(rows.values()), "Every seed, the interval, the bound")
        for (_, unit), rows in units.items()
    ]


def _plot(unit: str, rows: Sequence[Comparison], described: str) -> svg.PagePlot:
    values = [value for row in rows for value in row.values]
    if unit == RATIO and min(values) > 0:
        axis = svg.Axis.of_ratios(values, LEFT, RIGHT)
    else:
        axis = svg.Axis.over(values, LEFT, RIGHT, most=6)
    foot = HEIGHT * len(rows)
    body = svg.x_axis(axis, foot, unit, grid_to=0)
    for place, row in enumerate(rows):
        body += f'<g transform="translate(0 {HEIGHT * place:g})">{row.draw(axis)}</g>'
    return svg.PagePlot(described, svg.WIDTH, foot + FOOT, body)


def _of_effect(effect: EffectData) -> Comparison:
    """Return a comparison with a dot per seed."""
    dots = [value for value in effect.per_seed if value is not None]
    ends = (effect.low, effect.estimate, effect.high)
    return Comparison(effect.label, STATES[effect.state], ends, (effect.bound,), dots=tuple(dots))


def _of_claim(
    record: ClaimRecord, anchor: str, finding: FindingData, effect: EffectData
) -> Comparison:
    """Return the deciding comparison of a claim, with the documented number or else the bound."""
    shift = _fixed_side(finding, effect) or 0.0
    ends = (effect.low, effect.estimate, effect.high)
    low, middle, high = (None if end is None else shift + end for end in ends)
    documented = finding.documented
    return Comparison(
        name=record.claim.partition("/")[2].replace("_", " "),
        colour=record.verdict,
        interval=(low, middle, high),
        claimed=(shift + effect.bound if documented is None else documented,),
        is_documented=documented is not None,
        link=anchor,
    )


def _quantity(finding: FindingData, effect: EffectData) -> str:
    if effect.unit == "ratio":
        return RATIO
    is_of_one_arm = effect.kind in ("run", "print") and finding.samples[effect.sides[1]].fixed
    if is_of_one_arm or _fixed_side(finding, effect) is not None:
        return effect.unit
    return f"difference in {effect.unit}"


def _fixed_side(finding: FindingData, effect: EffectData) -> float | None:
    """Return the number that an arm is compared with; the plot then shows the arm's own value.

    None if both sides were measured, or if the effect is the arm's own value already.
    """
    if effect.kind != "difference" or len(effect.sides) != 2 or effect.unit == "ratio":
        return None
    right = finding.samples[effect.sides[1]]
    return right.values[0] if right.fixed else None
