"""The command `store`: shows the content and age of a store, and removes old results."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repro.code.trace import Today
from repro.commands.collecting import collected, named_store
from repro.runs.identity import name_of_type
from repro.store import Store, StoreError
from repro.store.upkeep import DAY, KINDS, Item, items, remove_old
from repro.text import counted

if TYPE_CHECKING:
    from repro.plugin.session import ClaimSession


def add_to(commands: Any) -> None:
    """Add `store` to the commands of a parser.

    >>> add_to(argparse.ArgumentParser().add_subparsers())
    """
    parser = commands.add_parser("store", help="show what a store holds, or remove old results")
    parser.add_argument("--store", metavar="DIR", help="the store's folder (also REPRO_STORE)")
    parser.set_defaults(run=show)
    actions = parser.add_subparsers(metavar="ACTION")
    pruning = actions.add_parser(
        "prune", help="remove old runs; a claim that needs one trains it again"
    )
    pruning.add_argument("--older-than", type=_days, metavar="DAYS", help="remove older results")
    pruning.add_argument(
        "--old-code",
        dest="claims",
        nargs="*",
        metavar="CLAIM",
        help="remove runs that former code of these claims' arms trained (default: all claims)",
    )
    pruning.add_argument("--damaged", action="store_true", help="remove damaged runs instead")
    pruning.add_argument(
        "--checkpoints",
        action="store_true",
        help="remove checkpoints and folders of unfinished runs instead",
    )
    pruning.add_argument("--store", metavar="DIR", default=argparse.SUPPRESS)
    pruning.set_defaults(run=prune)


def show(chosen: argparse.Namespace) -> int:
    """Print the size of each kind of content, and the runs by arm and code."""
    root = named_store(chosen).absolute()
    if not _is_store(root):
        return 0
    whole = sum(path.lstat().st_size for path in root.rglob("*") if path.is_file())
    print(f"{root}: {_size(whole)}")
    for kind in KINDS:
        print(f"  {kind:12} {_summary(list(items(root, kind)), with_size=True)}")
    print("runs by arm and code (only its claims can tell whether one is needed):")
    for line in _by_origin(list(items(root, "runs"))):
        print(f"  {line}")
    return 0


def prune(chosen: argparse.Namespace) -> int:
    """Remove content older than a number of days, or of former code, and print the numbers."""
    root, is_by_code = named_store(chosen).absolute(), chosen.claims is not None
    if chosen.older_than is None and not is_by_code:
        raise StoreError("store prune removes nothing by itself: give --older-than or --old-code.")
    if not _is_store(root):
        return 0
    store, days = Store(root), chosen.older_than or 0.0
    kinds = [kind for kind in ("damaged", "checkpoints") if getattr(chosen, kind)] or ["runs"]
    kinds += ["folders"] if chosen.checkpoints else []
    session = collected(chosen, store=root) if is_by_code else None
    today = Today(session.project if session is not None else Path.cwd())
    classes = _classes_of(session) if session is not None else set()

    def is_meant(item: Item) -> bool:
        return not is_by_code or _is_former(item, store, today, classes)

    former = f"of former code, of {counted(len(classes), 'arm')}"
    what = former if is_by_code else f"older than {days:g} days"
    for kind in kinds:
        removed, in_use = remove_old(store, kind, days=days, which=is_meant)
        stays = f"; {in_use} in use by a running session stay" if in_use else ""
        print(f"{kind} {what}: {len(removed)} removed{stays}")
    return 0


def _classes_of(session: ClaimSession) -> set[str]:
    """Return the names of the classes of claims' arms."""
    arms = [arm for item in session.trained for arm in session.read_ahead(item).arms]
    arms += [arm.starts_from.arm for arm in arms if arm.starts_from is not None]
    return {name_of_type(type(arm)) for arm in arms}


def _is_former(item: Item, store: Store, today: Today, classes: set[str]) -> bool:
    """Return whether a result is of one of these arms, and of other code than today's."""
    try:
        head = item.head
        identity, digest = head["identity"], head.get("trace", "")
        if "class" not in identity:  # of an earlier version
            return identity["arm"]["arm"] in {name.rpartition(".")[2] for name in classes}
        trace = store.trace(digest)
    except (OSError, ValueError, TypeError, KeyError):
        return False
    is_of_claims = identity["class"] in classes
    return is_of_claims and (not trace or bool(today.changes(trace, digest=digest)))


def _is_store(root: Path) -> bool:
    """Return whether there is a store; print a line if there is none."""
    is_there = (root / "runs").is_dir()
    if not is_there:
        print(f"There is no store in {root} yet.")
    return is_there


def _days(text: str) -> float:
    days = float(text)
    if not 0 <= days < 1e6:
        raise ValueError
    return days


def _summary(items: Sequence[Item], *, with_size: bool = False) -> str:
    if not items:
        return "0"
    size = f", {_size(sum(item.bytes for item in items))}" if with_size else ""
    ages = sorted(time.time() - item.written for item in items)
    return f"{len(items)}{size}, written {_age(ages[-1])} to {_age(ages[0])} ago"


def _by_origin(runs: Sequence[Item]) -> Iterator[str]:
    """Yield a line for each arm and code, the newest first."""
    groups: dict[str, list[Item]] = {}
    for run in sorted(runs, key=lambda run: -run.written):
        groups.setdefault(run.origin, []).append(run)
    for origin, theirs in groups.items():
        yield f"{origin}: {_summary(theirs)}"


def _size(count: int) -> str:
    return f"{count / 1e6:,.1f} MB"


def _age(seconds: float) -> str:
    for name, length in (("day", DAY), ("hour", 3600), ("minute", 60)):
        if seconds >= length:
            count = int(seconds / length)
            return counted(count, name)
    return "under a minute"
