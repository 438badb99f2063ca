"""An account of the evidence that a session read: where it is from, how old it is, what repeats."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from repro.evidence.record import Record
from repro.evidence.results import EvidenceResults
from repro.runs.identity import name_of

Use = dict[str, dict[str, list[str]]]
"""Keys of the runs that one process read, by what they have in common: data that xdist can send."""

MOST_NAMED = 3


def use_of(results: EvidenceResults) -> Use:
    """Return the account of a process's view.

    >>> use_of(EvidenceResults.read([path]))["changed"]
    {}
    """
    use: Use = {"files": {file.name: [] for file in results.files}}
    repeats = results.repeats()
    for run, (file, record) in results.used.items():
        common = {
            "files": [file.name],
            "commits": [_commit(record)],
            "machines": [_machine(record)],
            "changed": results.changes(run),
            "repeats": [str(file.path)] if run in repeats else [],
        }
        for what, names in common.items():
            for name in names:
                use.setdefault(what, {}).setdefault(name, []).append(record.key)
    for run, earlier in repeats.items():
        words = f"{name_of(run)}, which is seed {earlier.seed} again"
        use.setdefault("examples", {}).setdefault(str(results.used[run][0].path), []).append(words)
    return use


def use_lines(uses: Sequence[Use]) -> list[str]:
    """Return what all processes of a session read, in sentences.

    >>> use_lines([use_of(results)])[0]
    'judged from evidence, nothing was trained: ...
    """
    files, commits, machines, changed = (
        _united(uses, what) for what in ("files", "commits", "machines", "changed")
    )
    of_files = ", ".join(f"{len(files[name])} runs used of {name}" for name in _ordered(files))
    lines = [f"judged from evidence, nothing was trained: {of_files}", *repeat_lines(uses)]
    if commits:
        lines.append(f"trained at {_listed(commits)}, on {_listed(machines)}")
    if changed:
        runs = len(set().union(*changed.values()))
        lines.append(f"code has changed since {runs} runs were trained: {_listed(changed)}")
    elif commits:
        lines.append("code and data are the same as when these runs were trained")
    return lines


def repeat_lines(uses: Sequence[Use]) -> Iterator[str]:
    """Yield a sentence for each file in which seeds of an arm have the same result.

    >>> [*repeat_lines([use_of(results)])]
    []
    """
    examples = _united(uses, "examples")
    for path, runs in _united(uses, "repeats").items():
        yield (
            f"{path} repeats itself: {len(runs)} runs have all numbers of another seed of their"
            f" arm, such as {min(examples[path])}; were they copied, or is the seed not used?"
        )


def _united(uses: Sequence[Use], what: str) -> dict[str, set[str]]:
    united: dict[str, set[str]] = {}
    for use in uses:
        for name, keys in use.get(what, {}).items():
            united.setdefault(name, set()).update(keys)
    return united


def _ordered(counted: Mapping[str, set[str]]) -> list[str]:
    """Return names, those with the most runs first."""
    return sorted(counted, key=lambda name: (-len(counted[name]), name))


def _listed(counted: Mapping[str, set[str]]) -> str:
    names = _ordered(counted)
    named = ", ".join(f"{name} ({len(counted[name])} runs)" for name in names[:MOST_NAMED])
    more = len(names) - MOST_NAMED
    return f"{named} and {more} more" if more > 0 else named


def _commit(record: Record) -> str:
    made = record.result.provenance
    changes = " with uncommitted changes" if made.get("uncommitted_changes") else ""
    return f"commit {str(made.get('commit') or 'unknown')[:10]}{changes}"


def _machine(record: Record) -> str:
    made, identity = record.result.provenance, record.result.identity
    return f"{identity['device']} {made.get('machine')}, torch {identity['torch']}"
