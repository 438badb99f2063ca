"""Text as Markdown that shows exactly this text: no markup, link, mention or reference."""

from __future__ import annotations

import re
from collections.abc import Iterable

from repro.text import shown

_STARTS = re.compile(r"@|#|:(?=//)|www(?=\.)|(?<![a-z\d])GH(?=-\d)", re.IGNORECASE)
"""The start of what GitHub by itself makes a mention, a reference or a link of."""


def as_text(text: str) -> str:
    r"""Return Markdown that shows exactly this text on one line.

    >>> print(as_text("a | <b> & *c*"))
    a \| &lt;b> &amp; \*c\*
    """
    one_line = " ".join(shown(text).split()).replace("&", "&amp;").replace("<", "&lt;")
    escaped = re.sub(r"([\\`*_\[\]|#~!$])", r"\\\1", one_line)
    return _STARTS.sub("\\g<0>\u200b", escaped)


def as_code(text: str) -> str:
    r"""Return the text as Markdown code, which nothing in it can end.

    >>> print(as_code("a`b|c"))
    `a'b\|c`
    """
    one_line = " ".join(shown(text).split()).replace("`", "'")
    apart = one_line.replace("\\|", "\\\u200b|")  # else its backslash would free the next one
    return "`" + apart.replace("|", "\\|") + "`"


def table_row(cells: Iterable[str]) -> str:
    """Return a line of a table whose cells are Markdown already.

    >>> table_row(["source", "judged on"])
    '| source | judged on |'
    """
    return f"| {' | '.join(cells)} |"
