"""What an attacker may send, as hypothesis strategies: texts, and results."""

from __future__ import annotations

import unicodedata

from hypothesis import strategies as st

STEERING = [
    "\x1b[2J\x1b[1;1H", "\x1b]0;title\x07", "\x1b]8;;http://x\x1b\\click\x1b]8;;\x1b\\", "\x9b31m",
    "\x9d0;t\x9c", "\x07", "\r", "\x08\x08\x08", "\x00", "\x7f", "\x85", "\x0b", "\x0c", "\u2028",
    "\ud83d", "\udfff", "\u202e", "\u202a", "\u2066", "\u2069", "\u200f", "\u061c", "\u200b",
    "\ufeff", "\xad", "\U000e0041", "\n", "\r\n", "\t",
]  # fmt: skip
"""Characters that move a cursor, colour, link, beep, turn direction, hide, or are half a one."""


MARKUP = [
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "' onmouseover='alert(1)",
    "]]><!-- -->", "</title></text></svg>", "&lt;b&gt;", "{{ 7 * 7 }}", "javascript:alert(1)",
    "a|b", "\\|", "\\", "`", "``", "*b*", "_i_", "~~s~~", "[x](javascript:y)", "![i](http://x/i)",
    "@everyone", "#1", "GH-1", "https://x.example", "www.x.example", "\n# head", "\n| a | b |",
    "\n\n```", "$x$", "<!-- findings: end -->", "\nREPRODUCED   004/forged",
]  # fmt: skip
"""Pieces that are markup somewhere: HTML, SVG, Markdown, a template, our own tables and marks."""

FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =1", "＝1", "=cmd|' /C calc'!A0"]
"""Pieces that a spreadsheet would compute."""

PLAIN = st.text(st.characters(), max_size=6)  # surrogates too
TEXTS = (
    st.lists(
        st.sampled_from(STEERING) | st.sampled_from(MARKUP) | st.sampled_from(FORMULAS) | PLAIN,
        min_size=1,
        max_size=5,
    )
    .map("".join)
    .filter(bool)
)
"""Hostile texts of some pieces."""

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
SETTINGS = st.dictionaries(TEXTS, JSON, max_size=4)
"""Settings as a file of results may hold them: any JSON."""


HARMLESS = {"\u200c", "\u200d"}.union(  # joiners, and the visible signs among Unicode's formats
    map(chr, [*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD]),
    map(chr, range(0x13430, 0x13460)),
)


def is_calm(text):
    """Whether nothing in it steers, hides or ends the line, by Unicode's own categories."""
    return all(
        unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Zl", "Zp") or c in HARMLESS for c in text
    )
