"""Makes foreign text safe to show: it cannot control the terminal, be invisible, or be endless."""

from __future__ import annotations

import re

LONGEST = 2000
"""The most characters of one text that are shown."""

HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters except tab and newline
    "\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff]"
)
"""A control character, a change of direction, an invisible character, or a lone surrogate.

The two joiners that scripts and emoji need (U+200C, U+200D) are allowed.
"""


def shown(text: str, *, most: int = LONGEST) -> str:
    r"""Return a text on one line, cut after `most` characters, with hidden characters escaped.

    >>> print(shown("red \x1b[31m\nand turned \u202e"))
    red \x1b[31m and turned \u202e
    """
    return re.sub(r"[\t\n]", " ", shown_lines(text, most=most))


def said(error: BaseException) -> str:
    """Return the message of an error, or a substitute if its `__str__` raises.

    >>> said(ValueError("too few"))
    'too few'
    """
    try:
        return str(error)
    except KeyboardInterrupt:
        raise
    except BaseException as another:  # also sys.exit, and pytest's own exceptions
        return f"(its own __str__ raised {type(another).__name__})"


def said_in_full(error: BaseException) -> str:
    """Return the type and the message of an error.

    >>> said_in_full(ValueError("too few"))
    'ValueError: too few'
    """
    return f"{type(error).__name__}: {said(error)}"


def counted(number: int, name: str, plural: str = "") -> str:
    """Return a number with a noun, in the plural unless the number is 1.

    >>> counted(1, "claim"), counted(3, "claim"), counted(2, "entry", "entries")
    ('1 claim', '3 claims', '2 entries')
    """
    return f"{number} {name if number == 1 else plural or f'{name}s'}"


def shown_lines(text: str, *, most: int = 50 * LONGEST) -> str:
    """Return a text as `shown` does, but keep its lines."""
    start = text[:most].replace("\r\n", "\n")
    seen = HIDDEN.sub(lambda match: match[0].encode("unicode_escape").decode(), start)
    return f"{seen}… (cut)" if len(text) > most else seen
