"""A verdict as HTML, for a notebook: its outcome, its comparisons as a table, and the rest."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from repro.judge.effect import Effect

_COLOURS = {"reproduced": "#1a7f37", "refuted": "#b3261e"}
_HEAD = ("comparison", "estimate", "interval", "claimed", "p", "")


def verdict(outcome: str, statement: str, text: str, effects: Sequence[Effect]) -> str:
    """Return a verdict as HTML; its whole text is folded below the table."""
    colour = _COLOURS.get(outcome, "#8a6100")
    title = f'<p><b style="color:{colour}">{escape(outcome.upper())}</b> {escape(statement)}</p>'
    rows = "".join(_row(effect) for effect in effects)
    head = "".join(f"<th>{name}</th>" for name in _HEAD)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>" if rows else ""
    whole = f"<details><summary>evidence</summary><pre>{escape(text)}</pre></details>"
    return f"<div>{title}{table}{whole}</div>"


def _row(effect: Effect) -> str:
    state = "holds" if effect.holds else "contradicted" if effect.fails else "open"
    cells = (
        effect.label,
        f"{effect.estimate:.3g} {effect.unit}",
        f"[{effect.low:.3g}, {effect.high:.3g}]" if effect.has_spread else "",
        f"{'<' if effect.below else '>'} {effect.bound:.3g}",
        f"{effect.p_against if effect.fails else effect.p_for:.2g}",
        state,
    )
    return f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"
