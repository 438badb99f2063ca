"""The error of a ledger."""


class LedgerError(Exception):
    """A ledger that cannot be read or written; says where and what to do."""
