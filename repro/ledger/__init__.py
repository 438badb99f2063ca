"""The ledger: the last accepted verdicts, as text beside the claims, under version control.

It has one entry for each claim, profile and data set. A claim fails if it was reproduced and is not
any more. If it was not reproduced before, it is an expected failure, with the finding as its
reason. The entry of a reproduced claim names the machine, and the distance of each comparison past
its bound, because another kind of machine gives other values.

Each file of claims has a ledger of its own, in the folder `ledger` beside it.
"""

from repro.ledger.entry import (
    KINDS,
    VERDICTS,
    Change,
    Entry,
    Kind,
    LedgerError,
    short_source,
)
from repro.ledger.ledgers import (
    Ledger,
    Ledgers,
    entries_at,
    folders_with_ledgers,
    ledgers_in,
    locked,
    read_ledgers,
    write_ledgers,
)

__all__ = [
    "KINDS",
    "VERDICTS",
    "Change",
    "Entry",
    "Kind",
    "Ledger",
    "LedgerError",
    "Ledgers",
    "entries_at",
    "folders_with_ledgers",
    "ledgers_in",
    "locked",
    "read_ledgers",
    "short_source",
    "write_ledgers",
]
