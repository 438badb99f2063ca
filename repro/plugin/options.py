"""The options of a session, checked before anything starts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from repro.plugin.command_line import from_command_line, is_set, option, set_option
from repro.runs.profiles import MOST_SEEDS, profile_named
from repro.store import DEFAULT_STORE, RUNS, project_above

if TYPE_CHECKING:
    from repro.evidence.reader import EvidenceResults

DEFAULT_PROFILE = "ci"

ENGINES = ("auto", "loop", "stacked")

EVIDENCE = pytest.StashKey[Any]()  # EvidenceResults; its module is imported only with --evidence

ABOUT_TRAINING = ("plan", "device", "engine", "executor", "update-ledger")
"""Options that have no meaning with `--evidence`."""

NO_TEST_OPTIONS = (
    *("repro_plan", "collectonly", "setupplan", "showfixtures", "show_fixtures_per_test"),
    "cacheshow",
)
"""Options with which a session visibly runs no test, by their names within pytest."""

PATHS = ("evidence", "report", "store")
"""Options that name a file or a folder."""

BY_HAND_ALONE = (
    *NO_TEST_OPTIONS,
    *("setuponly", "markers", "help", "version", "repro_update_ledger", "repro_allow_not_run"),
)
"""Options with which a lost finding does not fail, so only the command line may have them."""


def store_folder(config: pytest.Config) -> Path:
    """Return the folder of the store: from the command line, the environment or the project."""
    named = folder_named(config, "store")
    if named is None and (of_environment := os.environ.get("REPRO_STORE")):
        named = Path(os.path.expanduser(of_environment))
    return named or project_folder(config) / DEFAULT_STORE


def folder_named(config: pytest.Config, name: str) -> Path | None:
    """Return the folder that an option names; the shell does not expand `--store=~/runs`."""
    text = option(config, name)
    return Path(os.path.expanduser(text)) if text else None  # Path.expanduser raises without a home


def project_folder(config: pytest.Config) -> Path:
    """Return the folder of the project, also if pytest was started in a folder below it.

    This is the folder of pytest's configuration file. Without one, it is the nearest folder above
    with a store or a repository.
    """
    root = config.rootpath
    paths = (path_named(config, argument).resolve() for argument in config.args)
    is_told = config.getoption("rootdir", None)
    if is_told and not all(path.is_relative_to(root.resolve()) for path in paths):
        root = project_of(config)
    elif config.inipath is not None:
        return root
    return project_above(root)


def project_of(config: pytest.Config) -> Path:
    """Return the folder of the configuration file, or else the folder where pytest was started."""
    return config.inipath.parent if config.inipath else config.invocation_params.dir


def require_from_command_line(config: pytest.Config) -> None:
    """Refuse options in settings that are for the command line only."""
    given = from_command_line(config)
    for name in BY_HAND_ALONE:
        if config.getoption(name, None) and not getattr(given, name, None):
            said = name.removeprefix("repro_").replace("_", "-")
            raise pytest.UsageError(
                f"--{said} is for the command line: in settings it would let the gate pass"
                " although findings are lost."
            )


def runs_no_test(config: pytest.Config) -> bool:
    """Return whether the session runs no test, on purpose."""
    return any(config.getoption(name, None) for name in NO_TEST_OPTIONS)


def check_options(config: pytest.Config) -> None:
    """End pytest with one sentence where an option or a ledger is bad.

    This runs in the main process, before xdist starts its workers: the user would not see a
    worker's error as a sentence. Options at their defaults are not checked, so that a session
    without claims imports nothing for them.
    """
    from repro.ledger import LedgerError, ledgers_in, read_ledgers  # not for the workers of xdist

    try:
        _require_own_root(config)
        check_evidence(config)
        if option(config, "profile") is None:
            set_option(config, "profile", DEFAULT_PROFILE)
        _check_what_is_trained(config)
        for name in ("store", "report"):
            if option(config, name) == "":
                raise ValueError(f"--{name} has no name of a folder after it; give one.")
            folder = store_folder(config) if name == "store" else folder_named(config, name)
            if folder:
                _require_folder(f"--{name}", folder)
        if ledgers_in(store_folder(config)):
            raise ValueError(
                f"The store {store_folder(config)} has ledgers in it: name a folder for results"
                " alone, which git is told to ignore."
            )
        for argument in config.args:
            for place in places_with_ledgers(config, path_named(config, argument)):
                read_ledgers(place)
    except (ValueError, LedgerError) as error:
        raise pytest.UsageError(str(error)) from error


def _require_own_root(config: pytest.Config) -> None:
    """Raise ValueError where pytest takes the path of an option for the root of its tests.

    pytest looks for its configuration before it knows our options, so it takes a path behind an
    option for a test, once the path exists. Then it ignores the project's own configuration.
    """
    params = config.invocation_params
    is_said = config.args_source is pytest.Config.ArgsSource.ARGS
    if is_said or config.getoption("rootdir", None) or config.getoption("inifilename", None):
        return
    for name, path in pairwise(map(str, params.args)):
        is_ours = name.removeprefix("--").removeprefix("repro-") in PATHS
        if is_ours and not Path(path).resolve().is_relative_to(params.dir):
            raise ValueError(f"pytest takes {path} for the root of its tests: write {name}={path}")


def _check_what_is_trained(config: pytest.Config) -> None:
    reference = option(config, "reference-seeds")
    if reference is not None and not option(config, "update-ledger"):
        raise ValueError("--reference-seeds is for the ledger: give --update-ledger too.")
    if reference is not None and not 0 <= reference <= MOST_SEEDS:
        raise ValueError(
            f"--reference-seeds {reference} is out of range; give a number from 0 (no further"
            f" seeds) to {MOST_SEEDS}."
        )
    budget = option(config, "seed-budget")
    if reference is not None and budget is not None and reference > budget:
        raise ValueError(
            f"--reference-seeds {reference} are more than --seed-budget {budget} allows: leave out"
            " one of them."
        )
    if option(config, "profile") != DEFAULT_PROFILE or budget is not None:
        profile_named(option(config, "profile"), budget=budget)
    if (engine := option(config, "engine")) not in ENGINES:
        raise ValueError(f"There is no engine {engine!r}; choose one of {', '.join(ENGINES)}.")
    if is_set(config, "slurm"):
        from repro.backends.cluster import slurm_parameters

        slurm_parameters(option(config, "slurm"))
    if is_set(config, "executor"):
        from repro.backends.cluster import require_executor

        require_executor(option(config, "executor"))
    elif is_set(config, "device"):
        from repro.core.device import resolve_device

        resolve_device(option(config, "device"))


def _require_folder(option: str, folder: Path) -> None:
    """Raise ValueError where a folder cannot be made or written to."""
    place = folder.absolute()
    while not os.path.lexists(place) and place != place.parent:
        place = place.parent
    if not place.is_dir():
        raise ValueError(f"{option} {folder} cannot be used: {place} is not a folder.")
    if not os.access(place, os.W_OK | os.X_OK):
        raise ValueError(f"{option} {folder} cannot be used: {place} may not be written to.")


def path_named(config: pytest.Config, argument: str) -> Path:
    """Return the file or folder of an argument, which may be a node id."""
    return Path(os.path.abspath(config.invocation_params.dir / argument.partition("::")[0]))


def places_with_ledgers(config: pytest.Config, path: Path) -> Iterator[Path]:
    """Yield the path of a file; for a folder, all folders with ledgers in it."""
    if path.is_dir():
        from repro.ledger import folders_with_ledgers

        yield from folders_with_ledgers(path, but=store_folder(config).absolute() / RUNS)
    else:
        yield path


def reference_of(config: pytest.Config) -> int:
    """Return the seeds over which reproduced claims are measured for the ledger; 0 for no more."""
    if not option(config, "update-ledger"):
        return 0
    asked: int | None = option(config, "reference-seeds")
    if asked is not None:
        return asked
    return profile_named(option(config, "profile"), budget=option(config, "seed-budget")).reference


def evidence_of(config: pytest.Config) -> EvidenceResults | None:
    """Return the evidence of `--evidence`, read once; None without it. Raises EvidenceError."""
    named = option(config, "evidence")
    if named and EVIDENCE not in config.stash:
        from repro.evidence.reader import EvidenceResults

        paths = map(Path, map(os.path.expanduser, named))
        config.stash[EVIDENCE] = EvidenceResults.read(paths, project=project_folder(config))
    evidence: EvidenceResults | None = config.stash.get(EVIDENCE, None)
    return evidence


def check_evidence(config: pytest.Config) -> None:
    """Judge at the profile of the evidence, if there is any.

    Raises ValueError where it cannot be read, or stands beside options of training.
    """
    if not option(config, "evidence"):
        return
    for name in ABOUT_TRAINING:
        if is_set(config, name):
            raise ValueError(
                f"--evidence judges what is in the files and trains nothing; leave out --{name}, or"
                " add the files to a store first: python -m repro evidence add FILE."
            )
    from repro.evidence import EvidenceError

    try:
        evidence = evidence_of(config)
    except EvidenceError as error:
        raise ValueError(str(error)) from error
    assert evidence is not None
    first, *others = evidence.files
    for file in others:
        if file.profile != first.profile:
            raise ValueError(
                f"{file.path} is of the profile {file.profile} and {first.path} of"
                f" {first.profile}: judge them one after the other."
            )
    asked = option(config, "profile")
    if asked not in (None, first.profile):
        raise ValueError(
            f"{first.path} is of the profile {first.profile}; leave out --profile {asked}."
        )
    set_option(config, "profile", first.profile)
