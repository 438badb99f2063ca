"""The ledger: the last accepted verdicts, as text beside the claims, under version control.

It has one entry for each claim, profile and data set. A claim that was reproduced and is not any
more fails; one that was not is an expected failure, with the finding as its reason. An entry of a
reproduced claim says on what machine, and how far past their bounds its comparisons were, because
another kind of machine trains other runs.

Each file of claims has a ledger of its own, in the folder `ledger` beside it. An older
`ledger.toml` for all claims of a folder is read, and left when the ledger is written next.
"""

from repro.ledger.entry import KINDS, VERDICTS, Change, Entry, Kind, LedgerError, short_source
from repro.ledger.file import (
    NAME,
    Ledger,
    Ledgers,
    entries_at,
    folders_with_ledgers,
    leave_one_file,
    ledgers_in,
    locked,
    read_ledgers,
    write_ledgers,
)

__all__ = [
    "KINDS",
    "NAME",
    "VERDICTS",
    "Change",
    "Entry",
    "Kind",
    "Ledger",
    "LedgerError",
    "Ledgers",
    "entries_at",
    "folders_with_ledgers",
    "leave_one_file",
    "ledgers_in",
    "locked",
    "read_ledgers",
    "short_source",
    "write_ledgers",
]
