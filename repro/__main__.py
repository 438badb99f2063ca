"""The command line: `python -m repro`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from repro.data import command as data
from repro.data.locate import DataError
from repro.evidence import EvidenceError
from repro.exits import exit_refused
from repro.help_texts import describe
from repro.ledger import LedgerError
from repro.new import command as new
from repro.plugin import evidence_command as evidence
from repro.plugin import rekey_command as rekey
from repro.plugin import store_command as store
from repro.plugin.claim_commands import add_recorded, add_run, add_table
from repro.report import badge, diff
from repro.store import StoreError
from repro.text import shown

COMMANDS = (
    *(badge.add_to, data.add_to, diff.add_to, evidence.add_to, new.add_to, add_recorded),
    *(rekey.add_to, add_run, store.add_to, add_table),
)
"""Functions that add a command to a parser; the command's `run` takes the arguments.

`goes_on` names a list argument that may continue after options.
"""


def command_line() -> argparse.ArgumentParser:
    """Return the parser of all commands, with their descriptions.

    >>> command_line().prog
    'python -m repro'
    """
    described = "Claims as tests: the commands beside pytest. COMMAND --help explains each."
    parser = argparse.ArgumentParser(prog="python -m repro", description=described)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for add_to in COMMANDS:
        add_to(commands)
    describe(parser)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code.

    >>> main(["data", "fetch", "nothing"])
    1
    """
    parser = command_line()
    chosen, later = parser.parse_known_args(arguments)
    if later:  # argparse ends a list at the first option, unlike pytest
        if "goes_on" not in chosen or any(each.startswith("-") for each in later):
            parser.error(f"unrecognized arguments: {' '.join(later)}")
        vars(chosen)[chosen.goes_on] += later
    try:
        with exit_refused():
            code: int = chosen.run(chosen)
        sys.stdout.flush()
    except (DataError, EvidenceError, LedgerError, StoreError) as error:
        print(shown(str(error)), file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader, such as `head`, has ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return 130
    return code


if __name__ == "__main__":
    sys.exit(main())
