"""Texts with fields in braces: paths such as `runs/{method}/seed_{seed}.csv`, and columns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

_FIELD = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Pattern:
    """A text in which fields stand for parts of others.

    >>> Pattern("{method} - {metric}").fields_of("plain - val/acc")
    {'method': 'plain', 'metric': 'val/acc'}
    >>> Pattern("seed_{seed}").fields_of("method") is None
    True
    """

    text: str

    @property
    def names(self) -> list[str]:
        return _FIELD.findall(self.text)

    def fields_of(self, other: str) -> dict[str, str] | None:
        """Return what the fields stand for in another text; None where it is not of this form."""
        found = self._expression.fullmatch(other)
        return found.groupdict() if found else None

    def paths_in(self, folder: Path) -> Iterator[tuple[Path, dict[str, str]]]:
        """Yield the paths of this form, sorted, with what their fields stand for."""
        if not self.names:
            yield folder / self.text, {}
            return
        base = Path(self.text)
        start = Path(base.anchor) if base.is_absolute() else folder
        relative = (
            base.relative_to(base.anchor).as_posix() if base.is_absolute() else base.as_posix()
        )
        expression = Pattern(relative)
        for path in sorted(start.glob(_FIELD.sub("*", _escaped(relative)))):
            fields = expression.fields_of(path.relative_to(start).as_posix())
            if fields is not None:
                yield path, fields

    @cached_property
    def _expression(self) -> re.Pattern[str]:
        seen: set[str] = set()
        parts = []
        for place, part in enumerate(_FIELD.split(self.text)):
            if place % 2 == 0:
                parts.append(re.escape(part))
            elif part in seen:  # the same field again stands for the same text
                parts.append(f"(?P={part})")
            else:
                seen.add(part)
                # a metric may have a slash in its name, a part of a path has none
                parts.append(f"(?P<{part}>.+?)" if part == "metric" else f"(?P<{part}>[^/]+?)")
        return re.compile("".join(parts))


def _escaped(text: str) -> str:
    """Return a path in which glob's own characters stand for themselves."""
    return re.sub(r"([*?\[])", r"[\1]", text)
