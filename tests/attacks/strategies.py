"""What an attacker may send, as hypothesis strategies: texts, archives, HTTP answers, results."""

from __future__ import annotations

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
