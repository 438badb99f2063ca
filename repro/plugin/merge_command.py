"""The command `merge`: joins the results of shards, and judges all their claims in one session.

What each shard packed goes into one store. A session of pytest then reads it as if it had trained
all of it: one ledger, one report, one error over all verdicts. It trains what no shard could know
of: further seeds of claims whose programs lie in several shards, and what a shard failed to train.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add_to(commands: Any) -> None:
    """Add `merge` to the commands of a parser.

    >>> add_to(argparse.ArgumentParser().add_subparsers())
    """
    parser = commands.add_parser(
        "merge",
        help="join the results of shards, and judge all their claims together",
        epilog="Other options are pytest's, such as -n 4, --report DIR and --update-ledger; give"
        " them behind the files.",
    )
    parser.add_argument(
        "shards", type=Path, nargs="+", metavar="SHARD", help="the file of each shard"
    )
    parser.add_argument(
        "--into", metavar="DIR", dest="store", help="the store for all results (also REPRO_STORE)"
    )
    parser.add_argument(
        "--claims",
        nargs="+",
        default=["claims"],
        metavar="PATH",
        help="the folders of the claims (claims)",
    )
    parser.add_argument("--device", default="auto", help="auto (default), cpu, cuda or mps")
    parser.set_defaults(run=_merge, passed_on=[])


def _merge(chosen: argparse.Namespace) -> int:
    from repro.plugin.merging import merge_shards  # pytest takes long to import

    return merge_shards(chosen)
