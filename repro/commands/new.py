"""The command `new`: writes a small project that runs, for the user to change."""

from __future__ import annotations

import argparse
import keyword
import re
import sys
from pathlib import Path
from typing import Any

TEMPLATES = Path(__file__).parent / "templates"
SUFFIX = ".txt"
"""The suffix of templates, so that no tool treats them as code of repro."""

_TAKEN = {*sys.stdlib_module_names, *keyword.kwlist}

KINDS = {
    "module": "a PyTorch module and its loss",
    "script": "a command line that is given a seed and prints a number",
    "recorded": "results that exist already, in a CSV file",
}


def add_to(commands: Any) -> None:
    """Add `new` to the commands of a parser.

    >>> add_to(argparse.ArgumentParser().add_subparsers())
    """
    parser = commands.add_parser("new", help="write a small project that runs: study, claim, CI")
    parser.add_argument("name", metavar="NAME", help="the folder to write, and the study's name")
    said = "; ".join(f"{kind}: {what}" for kind, what in KINDS.items())
    parser.add_argument("--kind", choices=tuple(KINDS), default="module", help=said)
    parser.set_defaults(run=write)


def write(chosen: argparse.Namespace) -> int:
    """Write the project, and say how to go on; refuses an existing folder."""
    folder = Path(chosen.name)
    name = folder.name
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or name in _TAKEN:
        print(
            f"{name!r} cannot be the name of a Python module: use small letters, digits and"
            " underscores, and no name of the standard library or word of Python.",
            file=sys.stderr,
        )
        return 1
    if folder.exists():
        print(f"{folder} is there already; give another name.", file=sys.stderr)
        return 1
    for kind in ("common", chosen.kind):
        for template in sorted((TEMPLATES / kind).rglob(f"*{SUFFIX}")):
            file = folder / _filled_in(str(template.relative_to(TEMPLATES / kind)), name)
            file = file.with_name(file.name.removesuffix(SUFFIX))
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(_filled_in(template.read_text(encoding="utf-8"), name), "utf-8")
    print(f"{folder} is written: change into it, and run pytest.")
    return 0


def _filled_in(text: str, name: str) -> str:
    kind = "".join(part.capitalize() for part in name.split("_"))
    return text.replace("dot_", ".").replace("NAME", name).replace("KIND", kind)
