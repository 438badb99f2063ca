"""The options of the plugin: their names on the command line and in a project's settings.

Each has a full name, such as `--repro-profile`, and a short one, `--profile`. The short one is ours
where no other plugin and no conftest file has it.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import pytest

OPTIONS: dict[str, dict[str, Any]] = {
    "profile": {"help": "the size: ci (small; default, or that of --evidence) or paper"},
    "plan": {"action": "store_true", "help": "print what would be trained, and stop"},
    "device": {"default": "auto", "help": "where to train: auto (default), cpu, cuda or mps"},
    "engine": {"default": "auto", "help": "how to train: auto (default), loop or stacked"},
    "executor": {
        "default": "local",
        "help": "the machines to train on: local (default), slurm, ray (at RAY_ADDRESS), ray://…",
    },
    "slurm-partition": {"metavar": "NAME", "help": "the partition of --executor slurm's jobs"},
    "slurm-account": {"metavar": "NAME", "help": "the account that pays for them"},
    "slurm-time": {
        "type": int,
        "default": 60,
        "metavar": "MIN",
        "help": "the time limit of a job (60); what takes longer goes on in the next",
    },
    "slurm-memory": {"type": float, "metavar": "GB", "help": "the memory of a job"},
    "slurm-gpus": {"type": int, "default": 0, "metavar": "N", "help": "the GPUs of a job (0)"},
    "slurm-max-jobs": {
        "type": int,
        "default": 100,
        "metavar": "N",
        "help": "the jobs that are in the queue at once (100)",
    },
    "slurm-folder": {
        "metavar": "DIR",
        "help": "a folder on a disk that all nodes share (default: in the store)",
    },
    "detach": {
        "action": "store_true",
        "help": "with --executor slurm: submit and end; the same command collects later",
    },
    "same-machine": {
        "action": "store_true",
        "help": "use only results that this kind of machine trained",
    },
    "evidence": {
        "nargs": "+",
        "action": "extend",
        "metavar": "FILE",
        "help": "judge from packed results, and train nothing",
    },
    "store": {"metavar": "DIR", "help": "where results are kept (.repro; also REPRO_STORE)"},
    "share": {
        "metavar": "URL",
        "help": "a folder or s3://… that machines share results by (also REPRO_SHARE)",
    },
    "seed-budget": {"type": int, "metavar": "N", "help": "the most seeds that an arm may use"},
    "gate": {
        "action": "store_true",
        "help": "skip claims that do not hold by the ledger, as they cannot fail",
    },
    "changed-since": {
        "metavar": "REF",
        "help": "judge the claims that reach what changed since a branch left REF",
    },
    "shard": {
        "metavar": "K/N",
        "help": "train and judge the K-th of N parts; python -m repro merge joins them",
    },
    "update-ledger": {"action": "store_true", "help": "write the verdicts into the ledger"},
    "reference-seeds": {
        "type": int,
        "metavar": "N",
        "help": "with --update-ledger: measure what is reproduced over N seeds (ci: 20, paper: 0)",
    },
    "family-wise": {
        "action": "store_true",
        "help": "add seeds until a finding holds when all claims are counted together",
    },
    "require-verdict": {"action": "store_true", "help": "fail claims that cannot be run"},
    "report": {"metavar": "DIR", "help": "write the report into DIR: a page, figures and data"},
}
"""The options by their short names, as argparse takes them."""


def add_options(parser: pytest.Parser) -> None:
    """Add the options to pytest's by their full names, and settings of the same meaning."""
    group = parser.getgroup("repro", "claims as tests (short: without repro-, if that is free)")
    for name, how in OPTIONS.items():
        group.addoption(f"--repro-{name}", dest=_attribute(name), **how)
        kind: Literal["args", "bool", "string"]
        kind = "args" if "nargs" in how else "bool" if "action" in how else "string"
        parser.addini(_attribute(name), f"the option --{name}: {how['help']}", type=kind)


def option(config: pytest.Config, name: str) -> Any:
    """Return the value of an option, by its short name.

    >>> option(request.config, "seed-budget")
    """
    return config.getoption(_attribute(name))


def is_set(config: pytest.Config, name: str) -> bool:
    """Tell whether an option has another value than it has by default.

    >>> is_set(request.config, "plan")
    False
    """
    how = OPTIONS[name]
    usual = how.get("default", False if how.get("action") == "store_true" else None)
    return bool(option(config, name) != usual)


def set_option(config: pytest.Config, name: str, value: object) -> None:
    """Give an option the value that it has where the command line does not name it."""
    setattr(config.option, _attribute(name), value)


def _attribute(name: str) -> str:
    return f"repro_{name.replace('-', '_')}"


@contextmanager
def completed_arguments(
    config: pytest.Config, parser: pytest.Parser, arguments: list[str]
) -> Iterator[None]:
    """Put the settings into the arguments, and full names in the place of short ones.

    Within the context conftest files are read. Pytest looks for them beside the files and folders
    that are named, so it has to know before which arguments are those; afterwards the short names
    that they have defined are known to be theirs.
    """
    given = [*_settings(config), *arguments]
    known = parser.parse_known_args(_full_names(parser, given), copy.copy(config.option))
    config.known_args_namespace.file_or_dir = known.file_or_dir
    yield
    arguments[:] = _full_names(parser, given)


def _settings(config: pytest.Config) -> Iterator[str]:
    """Yield the options that the project's settings give."""
    for name in OPTIONS:
        value = config.getini(_attribute(name))
        if value is True:
            yield f"--repro-{name}"
        elif value:
            for each in value if isinstance(value, list) else [value]:
                yield f"--repro-{name}={each}"


def _full_names(parser: pytest.Parser, arguments: Sequence[str]) -> list[str]:
    """Return arguments with the full names of our options where the short ones are ours."""
    full: list[str] = []
    for place, argument in enumerate(arguments):
        if argument == "--":
            return [*full, *arguments[place:]]
        name, equals, value = argument.removeprefix("--").partition("=")
        is_ours = argument.startswith("--") and name in OPTIONS and _is_free(parser, f"--{name}")
        full.append(f"--repro-{name}{equals}{value}" if is_ours else argument)
    return full


def _is_free(parser: pytest.Parser, name: str) -> bool:
    """Tell whether no other plugin and no conftest file has an option of a name."""
    try:
        return name in parser.parse_known_and_unknown_args([name])[1]
    except pytest.UsageError:  # it is known, and wants a value
        return False
