"""The help texts of commands: a description, and an example to copy."""

from __future__ import annotations

import argparse

COMMANDS: dict[str, tuple[str, str]] = {
    "data": (
        "List the data sets that repro knows: where each is, and its size, licence and hash.",
        "data",
    ),
    "data fetch": (
        "Download data sets and check their hashes.",
        "data fetch wikitext-2 sms-spam",
    ),
    "decide": (
        "Keep or discard an edit by its runs and those without it, or say how many more runs it"
        " takes. Ask again after each new run. The exit code is 0 for keep, 1 for discard, 2 for"
        " run more, and 3 without an answer.",
        "decide baseline.jsonl candidate.jsonl --lower val_bpb",
    ),
    "evidence": (
        "Evidence is a file with the results behind verdicts. With pytest --evidence=FILE others"
        " judge claims from it without training.",
        "evidence pack results.jsonl.gz claims",
    ),
    "evidence pack": (
        "Write the stored runs that claims use into one file.",
        "evidence pack results.jsonl.gz claims -k 004",
    ),
    "evidence add": (
        "Put the runs of files into the store of this machine. Sessions then find those runs.",
        "evidence add results.jsonl.gz",
    ),
    "evidence audit": (
        "Draw runs of a file at random, train them again here, and compare the results. The exit"
        " code is 1 if a result differs by more than rounding.",
        "evidence audit results.jsonl.gz --runs 5",
    ),
    "evidence renew": (
        "Take runs of earlier code over to today's, after training some of each kind again: they"
        " must have the same bits. Without files it does so for the store. The exit code is 1 if"
        " some runs stay runs of earlier code.",
        "evidence renew results.jsonl.gz",
    ),
    "judge": (
        "Judge sentences about runs that exist. The exit code is 0 for reproduced, 1 for refuted,"
        " 2 for inconclusive, and 3 without an answer; of several sentences it is the worst."
        " Without a sentence it is a table of all arms.",
        "judge runs.csv 'new.val_loss < old.val_loss' --arm method",
    ),
    "new": (
        "Write a small project that runs: a study, a claim and a workflow for CI.",
        "new my_study --kind script",
    ),
    "store": (
        "Show the size and the age of the store, and its runs by arm and code.",
        "store",
    ),
    "store prune": (
        "Remove old results from the store, or those of former code. A claim that still needs one"
        " trains it again.",
        "store prune --older-than 90",
    ),
    "table": (
        "Write the runs behind claims as CSV. Each number has a row: the claim, the arm and its"
        " settings, the seed, the epoch (empty for the final value), the metric and the value.",
        "table claims -k 004 --into runs.csv",
    ),
}
"""The description of each command, and an example for `python -m repro`."""


def describe(parser: argparse.ArgumentParser, command: str = "") -> None:
    """Add descriptions and examples to a parser and to its commands.

    >>> parser = argparse.ArgumentParser()
    >>> _ = parser.add_subparsers().add_parser("store")
    >>> describe(parser)
    """
    if command:
        description, example = COMMANDS[command]
        parser.description = description
        parser.epilog = " ".join(
            filter(None, (parser.epilog, f"Example: python -m repro {example}"))
        )
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, of_it in action.choices.items():
                describe(of_it, f"{command} {name}".strip())
