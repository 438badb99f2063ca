"""The help of each command beside its options: a description, and an example to copy."""

from __future__ import annotations

import argparse

COMMANDS: dict[str, tuple[str, str]] = {
    "badge": (
        "Draw the number of findings that the ledgers have as an SVG picture.",
        "badge claims/ledger --into claims/badge.svg",
    ),
    "data": (
        "List the data sets that repro knows: where each is, and its size, licence and hash.",
        "data",
    ),
    "data fetch": (
        "Download data sets and check their hashes. A download that was stopped goes on.",
        "data fetch wikitext-2 sms-spam",
    ),
    "diff": (
        "Compare the verdicts of two reports, ledgers or files of evidence, claim by claim. From"
        " evidence the claims are judged. The exit code is 1 where a verdict differs.",
        "diff old-report report",
    ),
    "evidence": (
        "Evidence is a file with the results behind verdicts. Others judge from it by"
        " pytest --evidence=FILE, without training.",
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
        " code is 1 where one differs by more than rounding can explain.",
        "evidence audit results.jsonl.gz --runs 5",
    ),
    "new": (
        "Write a small project that runs: a study, a claim and a workflow for CI.",
        "new my_study --kind script",
    ),
    "recorded": (
        "Recorded runs are results that exist already, such as a CSV file. This command is about"
        " those of them that are missing.",
        "recorded wanted claims",
    ),
    "recorded wanted": (
        "List as CSV the runs that would settle claims which are open, for somebody to train.",
        "recorded wanted claims",
    ),
    "rekey": (
        "Take stored runs over to the keys of today's code, after training some of each kind again."
        " Without files it takes over those of the store. The exit code is 1 where a kind of runs"
        " gives other results now.",
        "rekey results.jsonl.gz",
    ),
    "run": (
        "Train one run of each arm of a claim in this process, where it prints and breakpoint()"
        " stops. Nothing is stored. The exit code is 1 where a run fails.",
        "run claims/test_depth_ladder.py -k bp_climbs --seed 1",
    ),
    "store": (
        "Show how much the store holds, how old it is, and its runs by arm and code.",
        "store",
    ),
    "store prune": (
        "Remove old results from the store, or those of former code. A claim that still needs one"
        " trains it again.",
        "store prune --older-than 90",
    ),
    "table": (
        "Write the runs behind claims as CSV, a row for each number: the claim, the arm and its"
        " settings, the seed, the epoch (none at a run's end), the metric and the value.",
        "table claims -k 004 --into runs.csv",
    ),
}
"""The description of each command, and an example of it behind `python -m repro`."""


def describe(parser: argparse.ArgumentParser, command: str = "") -> None:
    """Give a parser, and those of its commands, their descriptions and examples.

    >>> parser = argparse.ArgumentParser()
    >>> _ = parser.add_subparsers().add_parser("badge")
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
