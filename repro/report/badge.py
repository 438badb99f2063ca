"""The command `badge`: draws the number of checked findings as a small picture for a README."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any

from repro.ledger import VERDICTS, Entry, entries_at
from repro.text import counted, shown

NAME_COLOUR, CHECKED_COLOUR, NONE_COLOUR = "#444b52", "#1b7346", "#59616a"

LETTER, MARGIN, HEIGHT = 6.6, 7, 20
"""Lengths in pixels; a text is stretched to its width, so any font fits."""


def add_to(commands: Any) -> None:
    """Add `badge` to the commands of a parser.

    >>> add_to(argparse.ArgumentParser().add_subparsers())
    """
    parser = commands.add_parser("badge", help="draw the verdicts of ledgers as an SVG")
    whose = "ledgers: files, or folders of them"
    parser.add_argument("ledgers", nargs="+", type=Path, metavar="LEDGER", help=whose)
    where = "write it into this file instead of printing it"
    parser.add_argument("--into", type=Path, metavar="FILE", help=where)
    parser.set_defaults(run=_run)


def badge(entries: Iterable[Entry]) -> str:
    """Return an SVG with the number of checked findings; its title has the number of each verdict.

    The badge is never red: a refuted source is no fault of the project.

    >>> "none judged" in badge([])
    True
    """
    counts = Counter(entry.verdict for entry in entries)
    kinds = [f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict]]
    said, of_it = "none judged", NONE_COLOUR
    if counts:
        said, of_it = f"{counted(counts.total(), 'finding')} checked", CHECKED_COLOUR
    title = escape(f"claims: {', '.join(kinds) or said}")
    drawn, at = "", 0.0
    for text, colour in (("claims", NAME_COLOUR), (said, of_it)):
        width = LETTER * len(text)
        whole = width + 2 * MARGIN
        drawn += f'<rect x="{at:g}" width="{whole:g}" height="{HEIGHT}" fill="{colour}"/>'
        drawn += f'<text x="{at + MARGIN:g}" y="14" textLength="{width:g}">{escape(text)}</text>'
        at += whole
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{at:g}" height="{HEIGHT}" role="img" '
        f'aria-label="{title}"><title>{title}</title>'
        f'<clipPath id="r"><rect width="{at:g}" height="{HEIGHT}" rx="3"/></clipPath>'
        '<g clip-path="url(#r)" fill="#fff" font-family="Verdana,Geneva,sans-serif" '
        f'font-size="11">{drawn}</g></svg>\n'
    )


def _run(chosen: argparse.Namespace) -> int:
    picture = badge(entry for path in chosen.ledgers for entry in entries_at(path))
    if chosen.into is None:
        print(picture, end="")
        return 0
    try:
        chosen.into.parent.mkdir(parents=True, exist_ok=True)
        chosen.into.write_text(picture, encoding="utf-8")
    except OSError as error:
        print(shown(f"The badge was not written into {chosen.into}: {error}."), file=sys.stderr)
        return 1
    return 0
