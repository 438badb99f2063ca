"""The command line: `python -m repro`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from repro.exits import answered, exit_refused
from repro.help_texts import describe
from repro.text import shown

COMMANDS = {
    "data": "repro.commands.data:add_to",
    "decide": "repro.commands.decide:add_to",
    "evidence": "repro.commands.evidence:add_to",
    "judge": "repro.commands.judge:add_to",
    "new": "repro.commands.new:add_to",
    "store": "repro.commands.store:add_to",
    "table": "repro.commands.used_runs:add_table",
}
"""The function that adds each command to a parser; the command's `run` takes the arguments.

`goes_on` names a list argument that may continue after options. A command imports its own module
only: others would import SciPy, which takes longer than most commands.
"""

ANSWERS = ("decide", "judge")
"""The commands whose exit code is an answer."""


def command_line(*names: str) -> argparse.ArgumentParser:
    """Return the parser of the named commands, or of all, with their descriptions.

    >>> command_line().prog
    'python -m repro'
    """
    described = "Claims as tests: the commands beside pytest. COMMAND --help explains each."
    parser = argparse.ArgumentParser(prog="python -m repro", description=described)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name in names or COMMANDS:
        module, _, add_to = COMMANDS[name].partition(":")
        getattr(import_module(module), add_to)(commands)
    describe(parser)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code.

    >>> main(["data", "fetch", "nothing"])
    1
    """
    given = sys.argv[1:] if arguments is None else arguments
    if given and (given[0] in ANSWERS or not (given[0] in COMMANDS or given[0].startswith("-"))):
        return answered(lambda: _called(given))  # also where their names are misspelt
    # here: what cannot be imported must not look like the answer 1
    from repro.data.locate import DataError
    from repro.evidence import EvidenceError
    from repro.ledger import LedgerError
    from repro.store import StoreError

    try:
        return _called(given)
    except (DataError, EvidenceError, LedgerError, StoreError) as error:
        print(shown(str(error)), file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader, such as `head`, has ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return 130


def _called(given: Sequence[str]) -> int:
    """Run a command; return its exit code."""
    parser = command_line(*(name for name in given[:1] if name in COMMANDS))
    chosen, later = parser.parse_known_args(given)
    if later:  # argparse ends a list at the first option, unlike pytest
        if "goes_on" not in chosen or any(each.startswith("-") for each in later):
            parser.error(f"unrecognized arguments: {' '.join(later)}")
        vars(chosen)[chosen.goes_on] += later
    with exit_refused():
        code: int = chosen.run(chosen)
    sys.stdout.flush()
    return code


if __name__ == "__main__":
    sys.exit(main())
