"""The options of a session, checked before anything starts."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from repro.ledger import LedgerError, folders_with_ledgers, ledgers_in, read_ledgers
from repro.plugin.command_line import OPTIONS, by_hand, is_set, option, set_option
from repro.runs.profiles import MOST_SEEDS, PROFILES, profile_named
from repro.store import RUNS

if TYPE_CHECKING:
    from repro.backends.cluster import SlurmSettings
    from repro.evidence.results import EvidenceResults

__all__ = ["option"]

DEFAULT_STORE = ".repro"
DEFAULT_PROFILE = "ci"

ENGINES = ("auto", "loop", "stacked")

EVIDENCE = pytest.StashKey[Any]()  # EvidenceResults, whose module is imported when files are named

ABOUT_TRAINING = ("plan", "device", "engine", "executor", "update-ledger")
"""Options that mean nothing where results are read from evidence."""

LOOKS = (
    *("repro_plan", "collectonly", "setupplan", "showfixtures", "show_fixtures_per_test"),
    "cacheshow",
)
"""Options with which a session runs no test, as everybody sees, by their names within pytest."""

PATHS = ("evidence", "report", "slurm-folder", "store")
"""Options that name a file or a folder."""

BY_HAND_ALONE = (
    *LOOKS,
    *("setuponly", "markers", "help", "version", "repro_update_ledger", "repro_allow_not_run"),
)
"""Options with which nothing that is lost fails, so that they are for the command line."""


def store_folder(config: pytest.Config) -> Path:
    """Return the folder in which the command line, the environment or the project keeps results."""
    named = folder_named(config, "store")
    if named is None and (of_environment := os.environ.get("REPRO_STORE")):
        named = Path(os.path.expanduser(of_environment))
    return named or project_folder(config) / DEFAULT_STORE


def folder_named(config: pytest.Config, name: str) -> Path | None:
    """Return the folder that an option names; the shell leaves the `~` in `--store=~/runs`."""
    text = option(config, name)
    return Path(os.path.expanduser(text)) if text else None  # no error where there is no home


def project_folder(config: pytest.Config) -> Path:
    """Return the folder of a project, from whichever of its folders pytest was started.

    Without a configuration file pytest takes the folder that it was started in, or one above; then
    it is the nearest one that has a store already, or is a repository.
    """
    root = config.rootpath
    if config.getoption("rootdir", None) and not _has_tests(config, root):
        root = project_of(config)
    elif config.inipath is not None:
        return root
    for folder in (root, *root.parents):
        if (folder / DEFAULT_STORE).is_dir() or (folder / ".git").exists():
            return folder
    return root


def _has_tests(config: pytest.Config, root: Path) -> bool:
    """Return whether all that pytest is to collect is below a folder."""
    paths = (path_named(config, argument).resolve() for argument in config.args)
    return all(path.is_relative_to(root.resolve()) for path in paths)


def project_of(config: pytest.Config) -> Path:
    """Return the project's folder; `rootpath` may be one above, where a store lies elsewhere."""
    return config.inipath.parent if config.inipath else config.invocation_params.dir


def require_by_hand(config: pytest.Config) -> None:
    """End pytest with one sentence where settings have an option that is for the command line."""
    given = by_hand(config)
    for name in BY_HAND_ALONE:
        if config.getoption(name, None) and not getattr(given, name, None):
            said = name.removeprefix("repro_").replace("_", "-")
            raise pytest.UsageError(
                f"--{said} is for the command line: in settings it would make the gate pass"
                " whatever is lost."
            )


def looks_only(config: pytest.Config) -> bool:
    """Return whether the session runs no test, on purpose."""
    return any(config.getoption(name, None) for name in LOOKS)


def check_options(config: pytest.Config) -> None:
    """End pytest with one sentence where an option or a ledger is bad.

    This is done in the process that owns the session, before xdist starts its workers: an error in
    a worker reaches nobody as a sentence. Options at their defaults are not looked at, so that a
    session without claims loads nothing for them.
    """
    try:
        _require_own_root(config)
        check_evidence(config)
        if option(config, "profile") is None:
            set_option(config, "profile", DEFAULT_PROFILE)
        _check_what_is_trained(config)
        for name in ("store", "report", "slurm-folder"):
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
        _check_ledgers(config)
    except (ValueError, LedgerError) as error:
        raise pytest.UsageError(str(error)) from error


def _require_own_root(config: pytest.Config) -> None:
    """Raise ValueError where pytest took an option's path for the root of its tests.

    It looks for its configuration before it knows our options, so that a path behind one of them is
    a test to it. Then the project's own configuration is ignored.
    """
    params = config.invocation_params
    is_said = config.args_source is pytest.Config.ArgsSource.ARGS
    if is_said or config.getoption("rootdir", None) or config.getoption("inifilename", None):
        return
    for name, path in pairwise(map(str, params.args)):
        is_ours = name.removeprefix("--").removeprefix("repro-") in PATHS
        if is_ours and Path(path).exists() and not Path(path).resolve().is_relative_to(params.dir):
            raise ValueError(f"pytest takes {path} for the root of its tests: write {name}={path}")


def _check_what_is_trained(config: pytest.Config) -> None:
    if option(config, "require-verdict") and option(config, "gate"):
        raise ValueError(
            "--require-verdict asks for a verdict on every claim and --gate leaves some out: "
            "give one of them."
        )
    reference = option(config, "reference-seeds")
    if reference is not None and not option(config, "update-ledger"):
        raise ValueError("--reference-seeds is for the ledger: give --update-ledger too.")
    if reference is not None and not 0 <= reference <= MOST_SEEDS:
        raise ValueError(
            f"--reference-seeds {reference} is no number of seeds from 0, which adds none, to"
            f" {MOST_SEEDS}."
        )
    if option(config, "profile") != DEFAULT_PROFILE or is_set(config, "seed-budget"):
        profile_named(option(config, "profile"), budget=option(config, "seed-budget"))
    if (engine := option(config, "engine")) not in ENGINES:
        raise ValueError(f"There is no engine {engine!r}; choose one of {', '.join(ENGINES)}.")
    if any(is_set(config, name) for name in OPTIONS if name.startswith("slurm-")):
        slurm_settings(config).require_sound()
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


def _check_ledgers(config: pytest.Config) -> None:
    """Raise LedgerError where a ledger that this session will need cannot be read."""
    for argument in config.args:
        for place in places_with_ledgers(config, path_named(config, argument)):
            read_ledgers(place)


def slurm_settings(config: pytest.Config) -> SlurmSettings:
    """Return what the command line and the project's settings wish of Slurm's jobs."""
    from repro.backends.cluster import SlurmSettings

    return SlurmSettings(
        partition=option(config, "slurm-partition"),
        account=option(config, "slurm-account"),
        minutes=option(config, "slurm-time"),
        memory=option(config, "slurm-memory"),
        gpus=option(config, "slurm-gpus"),
        max_jobs=option(config, "slurm-max-jobs"),
        folder=folder_named(config, "slurm-folder"),
    )


def path_named(config: pytest.Config, argument: str) -> Path:
    """Return the file or folder that an argument names, and maybe a test of."""
    return Path(os.path.abspath(config.invocation_params.dir / argument.partition("::")[0]))


def places_with_ledgers(config: pytest.Config, path: Path) -> Iterator[Path]:
    """Yield a file, or a folder's folders with ledgers, as pytest walks them."""
    if path.is_dir():
        yield from folders_with_ledgers(path, but=store_folder(config).absolute() / RUNS)
    else:
        yield path


def reference_of(config: pytest.Config) -> int:
    """Return the seeds over which reproduced claims are measured for the ledger; 0 if none."""
    if not option(config, "update-ledger"):
        return 0
    asked: int | None = option(config, "reference-seeds")
    return PROFILES[option(config, "profile")].reference if asked is None else asked


def evidence_of(config: pytest.Config) -> EvidenceResults | None:
    """Return the evidence that the command line names, read once a process; raises EvidenceError.

    None where it names none.
    """
    from repro.evidence.results import EvidenceResults

    named = option(config, "evidence")
    if named and EVIDENCE not in config.stash:
        config.stash[EVIDENCE] = EvidenceResults.read(map(Path, named))
    evidence: EvidenceResults | None = config.stash.get(EVIDENCE, None)
    return evidence


def evidence_option(config: pytest.Config) -> str:
    """Return the option as it is written behind a command that judges from the same files."""
    named = option(config, "evidence") or ()
    return f" --evidence {shlex.join(named)}" if named else ""


def check_evidence(config: pytest.Config) -> None:
    """Raise ValueError where evidence is named that cannot be read, or with options of training."""
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
    _settle_profile(config, evidence)


def _settle_profile(config: pytest.Config, evidence: EvidenceResults) -> None:
    """Take the profile of the files; raises ValueError where they, or an option, have another."""
    first, *others = evidence.files
    for file in others:
        if file.profile != first.profile:
            raise ValueError(
                f"{file.path} is of the profile {file.profile} and {first.path} of"
                f" {first.profile}: judge them one after the other."
            )
    asked = option(config, "profile")
    if asked is not None and asked != first.profile:
        raise ValueError(
            f"{first.path} is of the profile {first.profile}; leave out --profile {asked}."
        )
    set_option(config, "profile", first.profile)
