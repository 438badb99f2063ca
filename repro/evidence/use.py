"""An account of the evidence that a session read, for its summary: whence it is, and how old."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypedDict

from repro.evidence.record import Record
from repro.evidence.results import EvidenceResults

Counted = dict[str, list[str]]
"""Keys of runs, by what they have in common."""

MOST_NAMED = 3


class Use(TypedDict):
    """The account of what one process read, as plain data that xdist can send."""

    files: Counted
    commits: Counted
    machines: Counted
    changed: Counted


def use_of(results: EvidenceResults) -> Use:
    """Return the account of a process's view.

    >>> use_of(EvidenceResults(Evidence.read([path])))["changed"]
    {}
    """
    use = Use(files={}, commits={}, machines={}, changed={})
    for file in results.evidence.files:
        use["files"][f"{file.path} ({file.sha256[:12]}, {len(file.lines)} runs)"] = []
    for run, (file, record) in results.used.items():
        name = f"{file.path} ({file.sha256[:12]}, {len(file.lines)} runs)"
        use["files"][name].append(record.key)
        use["commits"].setdefault(_commit(record), []).append(record.key)
        use["machines"].setdefault(_machine(record), []).append(record.key)
        for each in results.changes(run):
            use["changed"].setdefault(each, []).append(record.key)
    return use


def use_lines(uses: Sequence[Use]) -> list[str]:
    """Return what all processes of a session read, in sentences.

    >>> use_lines([use_of(results)])[0]
    'judged from evidence, nothing was trained: ...
    """
    files, commits, machines, changed = (
        _united([use[name] for use in uses]) for name in ("files", "commits", "machines", "changed")
    )
    lines = [f"judged from evidence, nothing was trained: {_listed(files, 'runs used of')}"]
    if commits:
        lines.append(f"trained at {_listed(commits)}, on {_listed(machines)}")
    if changed:
        runs = len(set().union(*changed.values()))
        lines.append(f"code has changed since {runs} runs were trained: {_listed(changed)}")
    elif commits:
        lines.append("code and data are the same as when these runs were trained")
    return lines


def _united(parts: Iterable[Mapping[str, list[str]]]) -> dict[str, set[str]]:
    united: dict[str, set[str]] = {}
    for part in parts:
        for name, keys in part.items():
            united.setdefault(name, set()).update(keys)
    return united


def _listed(counted: Mapping[str, set[str]], of: str = "") -> str:
    """Return names with how many runs each has, those with the most first."""
    ordered = sorted(counted, key=lambda name: (-len(counted[name]), name))
    if of:
        return ", ".join(f"{len(counted[name])} {of} {name}" for name in ordered)
    named = ", ".join(f"{name} ({len(counted[name])} runs)" for name in ordered[:MOST_NAMED])
    more = len(ordered) - MOST_NAMED
    return f"{named} and {more} more" if more > 0 else named


def _commit(record: Record) -> str:
    made = record.result.provenance
    changes = " with uncommitted changes" if made.get("uncommitted_changes") else ""
    return f"commit {str(made.get('commit') or 'unknown')[:10]}{changes}"


def _machine(record: Record) -> str:
    made, identity = record.result.provenance, record.result.identity
    return f"{identity['device']} {made.get('machine')}, torch {identity['torch']}"
