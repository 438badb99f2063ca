"""The command `bisect`: finds the commit at which a claim's effect changed."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from repro.store.command import named_store


def add_to(commands: Any) -> None:
    """Add `bisect` to the commands of a parser.

    >>> add_to(argparse.ArgumentParser().add_subparsers())
    """
    parser = commands.add_parser("bisect", help="find the commit that changed a claim's effect")
    parser.add_argument("claim", metavar="CLAIM", help="its name in the ledger, or its node id")
    parser.add_argument("span", metavar="good..bad", help="the commits to look in")
    parser.add_argument(
        "--claims",
        nargs="+",
        default=["claims"],
        metavar="PATH",
        help="the folder of the claim (claims)",
    )
    parser.add_argument("--profile", default="ci", help="ci (default) or paper")
    parser.add_argument("--store", metavar="DIR", help="where results are kept (also REPRO_STORE)")
    parser.add_argument("--device", default="auto", help="auto (default), cpu, cuda or mps")
    parser.add_argument("--engine", default="auto", help="auto (default), loop or stacked")
    parser.set_defaults(run=bisect)


def bisect(chosen: argparse.Namespace) -> int:
    """Look for the commit, and print it; the exit code."""
    from repro.bisect.answer import answer
    from repro.bisect.history import History
    from repro.bisect.search import find_change
    from repro.bisect.steps import Steps

    store = named_store(chosen).absolute()
    named = {"profile": chosen.profile, "store": store}
    named |= {"device": chosen.device, "engine": chosen.engine}
    options = [*(f"--repro-{name}={value}" for name, value in named.items()), *chosen.claims]
    history = History.of(Path.cwd(), chosen.span)
    with history.worktrees() as trees:
        steps = Steps(chosen.claim, options, history.commits, trees)
        found = find_change(len(history.commits), steps.measure, steps.tell)
    print("\n" + "\n".join(answer(chosen.claim, history.commits, found)))
    return 0
