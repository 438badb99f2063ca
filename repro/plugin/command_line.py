"""The options of the plugin, and their names on the command line.

Each option has a full name, such as `--repro-profile`, and a short name, `--profile`. The short
name works unless another plugin or a conftest file has an option of that name.
"""

from __future__ import annotations

import argparse
import copy
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest


def _switch(said: str) -> dict[str, Any]:
    return {"action": "store_true", "help": said}


def _valued(metavar: str, said: str, **more: Any) -> dict[str, Any]:
    return {"metavar": metavar, "help": said, **more}


def _level(text: str) -> float:
    from repro.judge import require_level  # here: sessions without the option do without SciPy

    try:
        return require_level(float(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


OPTIONS: dict[str, dict[str, Any]] = {
    "profile": _valued(
        "SIZE", "the size to train: ci (small; the default, or that of --evidence) or paper"
    ),
    "plan": _switch("print what would be trained, and stop"),
    "report": _valued("DIR", "write a report into DIR: a web page, figures and data"),
    "update-ledger": _switch("accept the verdicts: write them into the ledger"),
    "gate": _switch(
        "judge at the first look only claims that are reproduced in the ledger, or new; a claim"
        " that then looks weaker than in the ledger gets up to 30 seeds"
    ),
    "device": _valued("NAME", "where to train: auto (default), cpu, cuda or mps", default="auto"),
    "engine": _valued(
        "NAME",
        "how to train: one run at a time (loop), many as one (stacked), or auto (default)",
        default="auto",
    ),
    "executor": _valued(
        "NAME",
        "the machines to train on: local (default), slurm, or ray (at RAY_ADDRESS)",
        default="local",
    ),
    "slurm": _valued(
        "KEY=VALUE",
        "a parameter of Slurm's jobs by its name in submitit, such as partition=gpu; once for each",
        action="append",
    ),
    "evidence": _valued(
        "FILE",
        "judge from files of packed results, and train nothing",
        nargs="+",
        action="extend",
    ),
    "store": _valued("DIR", "the folder of the results (.repro; also REPRO_STORE)"),
    "seed-budget": _valued("N", "judge with at most N seeds of each arm", type=int),
    "level": _valued(
        "P",
        "the chance of a false verdict in one direction, where a claim declares none (0.005)",
        type=_level,
        default=0.005,
    ),
    "gate-levels": _switch("fail if the level of a metric has moved since the ledger"),
    "reference-seeds": _valued(
        "N",
        "with --update-ledger: measure reproduced claims over N seeds (ci: 20, paper: 0)",
        type=int,
    ),
    "require-verdict": _switch(
        "fail claims that cannot be run here, but for those that --gate leaves out"
    ),
    "allow-not-run": _switch(
        "allow that claims which are reproduced in the ledger are not judged here"
    ),
}
"""The options by their short names, as argparse takes them."""


def add_options(parser: pytest.Parser) -> None:
    """Add the options to pytest's by their full names."""
    group = parser.getgroup(
        "repro",
        "claims as tests (repro- may be left out; most users need only the first five)",
    )
    for name, how in OPTIONS.items():
        group.addoption(f"--repro-{name}", dest=_attribute(name), **how)


def option(config: pytest.Config, name: str) -> Any:
    """Return the value of an option, by its short name.

    >>> option(request.config, "seed-budget")
    """
    return config.getoption(_attribute(name))


def is_set(config: pytest.Config, name: str) -> bool:
    """Tell whether an option differs from its default.

    >>> is_set(request.config, "plan")
    False
    """
    how = OPTIONS[name]
    usual = how.get("default", False if how.get("action") == "store_true" else None)
    return bool(option(config, name) != usual)


def from_command_line(config: pytest.Config) -> argparse.Namespace:
    """Return the options and paths of the command line, without those of the settings.

    >>> from_command_line(request.config).keyword
    ''
    """
    given = list(map(os.fspath, config.invocation_params.args))
    others = [argument for argument in given if argument not in ("-h", "--help")]
    found = config._parser.parse_known_args(_full_names(config._parser, others))
    found.help = len(others) < len(given)  # parsing --help would exit in some versions of pytest
    return found


def set_option(config: pytest.Config, name: str, value: object) -> None:
    """Set the value of an option, where the command line does not name it."""
    setattr(config.option, _attribute(name), value)


def _attribute(name: str) -> str:
    return f"repro_{name.replace('-', '_')}"


@contextmanager
def completed_arguments(
    config: pytest.Config, parser: pytest.Parser, arguments: list[str]
) -> Iterator[None]:
    """Replace short names by full ones, in the command line and the project's `addopts`.

    Within the context pytest reads conftest files. It looks for them beside the named files and
    folders, so it must first know which arguments are paths. Only afterwards is it known which
    short names belong to conftest files.
    """
    given = list(arguments)
    known = parser.parse_known_args(_full_names(parser, given), copy.copy(config.option))
    config.known_args_namespace.file_or_dir = known.file_or_dir
    yield
    arguments[:] = _full_names(parser, given)


def _full_names(parser: pytest.Parser, arguments: Sequence[str]) -> list[str]:
    """Return arguments with full names in place of the short names that are free for us."""
    full: list[str] = []
    for place, argument in enumerate(arguments):
        if argument == "--":
            return [*full, *arguments[place:]]
        name, equals, value = argument.removeprefix("--").partition("=")
        is_ours = argument.startswith("--") and name in OPTIONS and _is_free(parser, f"--{name}")
        full.append(f"--repro-{name}{equals}{value}" if is_ours else argument)
    return full


def _is_free(parser: pytest.Parser, name: str) -> bool:
    """Tell whether no other plugin and no conftest file has an option of this name."""
    try:
        return name in parser.parse_known_and_unknown_args([name])[1]
    except pytest.UsageError:  # it exists, and needs a value
        return False
