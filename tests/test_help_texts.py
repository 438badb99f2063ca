"""The help of each command says what it does, and shows an example that can be typed."""

import argparse
import shlex

import pytest

from repro.__main__ import command_line
from repro.help_texts import COMMANDS, describe


def commands_of(parser, before=""):
    """Yield the parser of each command and action by its name."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, of_it in action.choices.items():
                yield f"{before} {name}".strip(), of_it
                yield from commands_of(of_it, f"{before} {name}".strip())


PARSERS = dict(commands_of(command_line()))


def test_every_command_is_described_and_nothing_else():
    assert set(PARSERS) == set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_has_the_description_and_an_example(command):
    text = " ".join(PARSERS[command].format_help().split())
    description, example = COMMANDS[command]
    assert description in text
    assert f"Example: python -m repro {example}" in text
    assert example.startswith(command)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_example_can_be_parsed(command):
    _, unknown = command_line().parse_known_args(shlex.split(COMMANDS[command][1]))
    assert unknown in ([], ["--update-ledger"])  # merge passes it on to pytest


def test_a_command_without_a_text_is_refused():
    parser = argparse.ArgumentParser()
    parser.add_subparsers().add_parser("unheard-of")
    with pytest.raises(KeyError):
        describe(parser)
