"""Traces: all that made a result, as plain data, and its comparison with the code of today.

A trace has the units of all modules of projects that were imported, less the bodies of functions
that did not run; the files that were read, and those that were missing; modules that were not
found; the variables that were read. A result is used again while all of that is the same.

Not counted, since only judging reads it: the default of a setting, which the result has by value;
the metrics of an arm; an assignment of arms or plain values that no counted code mentions, in a
module whose names nobody looks up.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, reduce
from importlib import metadata
from pathlib import Path
from types import FunctionType
from typing import Any

from repro.code import record
from repro.code.record import Read
from repro.code.units import EFFECTS, IMPORT, Source, Unit, definitions, source_of

Trace = dict[str, Any]

_JUDGED = frozenset({"metrics", "documented_seeds", "deterministic", "alike"})
"""The members of an arm that only judging reads."""

_SCALE = ("repro.arm", "Metric.scale")
"""The scale of a metric, which only judging reads; earlier traces have it."""

_TWO = "two texts"
"""The digest of a unit that was read twice with an edit between, or a file edited since."""

_ORDER = "<order>"
"""The name of the order in which a module computes its names."""

_SALT = secrets.token_hex(8)

_OUTSIDE = "a file outside of the project"
"""The words for a changed file outside of the project, whose path a pack does not tell."""

_PROJECT, _FIXTURES = "project:", "fixtures:"


# --- The code of today.


class Today:
    """The code, files and variables of this process's project, each read once.

    >>> Today(project).changes(trace, digest=result.made.trace)
    ['toy.model.Net.forward']
    """

    def __init__(
        self, project: str | os.PathLike[str], *, places: Sequence[str] | None = None
    ) -> None:
        self.project, self._places = os.path.realpath(project), places
        self._sources: dict[tuple[str, bool], Source | None] = {}
        self._definitions: dict[str, dict[str, str]] = {}
        self._files: dict[str, str | None] = {}
        self._changes: dict[str, list[str]] = {}
        self._used: dict[tuple[str, str], str] = {}
        """The digests of the units that made the results of this process."""
        self._known: set[str] = set()

    def changes(self, trace: Trace, *, digest: str) -> list[str]:
        """Return what has changed since a trace was made, in words; nothing if it still holds."""
        if digest not in self._changes:
            found = (change for part in parts_of(trace) for change in self._found_changed(part))
            self._changes[digest] = list(dict.fromkeys(found))
        return self._changes[digest]

    def mentioned(self, trace: Trace, names: set[str]) -> list[str]:
        """Return which of the names the code of a trace that holds mentions."""
        found: set[str] = set()
        for part in parts_of(trace):
            for key, of_module in part.get("modules", {}).items():
                source = self._source_of(key)
                units = source.units if source is not None else {}
                for name in of_module.keys() & units.keys():
                    found |= names & units[name].mentions
        return sorted(found)

    def _source_of(self, key: str) -> Source | None:
        is_path = _is_path(key)
        return self.source(self.placed(key) if is_path else self.file_of(key), is_script=is_path)

    def other_version(self, trace: Trace, *, digest: str) -> str:
        """Return what differs from the code of results before, in words; empty if nothing does."""
        if digest not in self._known:
            units = {
                (key, name): then
                for part in parts_of(trace)
                for key, of_module in part.get("modules", {}).items()
                for name, then in of_module.items()
                if name != _ORDER  # of the names that count, which differ by what ran
            }
            for unit, then in units.items():
                if self._used.get(unit, then) != then:
                    return _unit_in_words(*unit)
            self._used |= units
            self._known.add(digest)
        return ""

    def file_of(self, name: str) -> str:
        """Return the file that an import of a module would find; empty where it finds none."""
        found = self._places
        parts = name.split(".")
        for count in range(1, len(parts) + 1):
            spec = _spec(".".join(parts[:count]), found)
            if spec is None:
                return ""
            found = spec.submodule_search_locations
            if found is None and count < len(parts):
                return ""
        origin = spec.origin or ""
        return os.path.realpath(origin) if os.path.isabs(origin) else "".join(list(found or [])[:1])

    def source(self, file: str, *, is_script: bool = False) -> Source | None:
        """Return the units of the file of a module, or of a script; None where it is unreadable."""
        place = file, is_script
        if place not in self._sources:
            try:
                text = Path(file).read_bytes()
                self._sources[place] = source_of(file, text, is_script=is_script)
            except (OSError, SyntaxError, ValueError):
                self._sources[place] = None
        return self._sources[place]

    def placed(self, name: str) -> str:
        """Return the path of a file on this machine, by its name in a trace."""
        kind, _, path = name.partition(":")
        if kind == "project":
            return os.path.join(self.project, path)
        return os.path.join(_fixtures(), path) if kind == "fixtures" else name

    def name_of(self, path: str) -> str:
        """Return the name of a file in a trace: below the project, or of repro's own data."""
        for kind, place in ((_FIXTURES, _fixtures()), (_PROJECT, self.project)):
            if path.startswith(place + os.sep):
                return kind + path[len(place) + 1 :]
        return path

    def digest(self, path: str) -> str | None:
        """Return the digest of a file, or of the names in a folder; None where it is missing."""
        if path not in self._files:
            self._files[path] = record.digest_of(path)
        return self._files[path]

    def patched(self, trace: Trace) -> str:
        """Name a function or constant of a trace that this process has changed; empty without one.

        Trainer processes import the files, so they never see a change by a test, a `conftest.py` or
        a debugger in this process. Names that code of the project itself rebinds may differ.
        """
        found = (said for part in parts_of(trace) for said in self._found_patched(part))
        return next(found, "")

    def _found_changed(self, trace: Trace) -> Iterator[str]:
        for name, then in trace.get("definitions", {}).items():  # of an earlier version
            if self._whole(name) != then:
                yield name
        modules: dict[str, dict[str, str]] = trace.get("modules", {})
        sources = {key: self._source_of(key) for key in modules}
        known = {key: source for key, source in sources.items() if source is not None}
        ran = {key: [x[:-2] for x in modules[key] if x.endswith("()")] for key in known}
        now = counted(known, ran, trace.get("arms", ()))
        for key, then in modules.items():
            today = now.get(key)
            if today is None:
                yield _OUTSIDE if key.startswith("outside:") else f"{key}, which is not here,"
                continue
            for name in sorted(then.keys() | today.keys()):
                if then.get(name) != today.get(name) and (key, name) != _SCALE:
                    yield _unit_in_words(key, name)
        for name, then in trace.get("files", {}).items():
            if self.digest(self.placed(name)) != then:
                yield _OUTSIDE if name.startswith("outside:") else name.removeprefix(_PROJECT)
        for name in trace.get("missing", ()):
            if self.file_of(name):
                yield f"{name}, which was not there,"
        for name, then in trace.get("variables", {}).items():
            if record.salted(trace["salt"], name, os.environ.get(name)) != then:
                yield f"the variable {name}"

    def _whole(self, name: str) -> str | None:
        """Return the digest of a definition as earlier versions had it."""
        parts = name.split(".")
        for count in range(len(parts) - 1, 0, -1):
            file = self.file_of(".".join(parts[:count]))
            if file and self.source(file) is not None:
                if file not in self._definitions:
                    self._definitions[file] = definitions(Path(file).read_bytes())
                return self._definitions[file].get(".".join(parts[count:]))
        return None

    def _found_patched(self, trace: Trace) -> Iterator[str]:
        sources: dict[str, Source] = {}
        for key in trace.get("modules", ()):
            file = os.path.realpath(getattr(sys.modules.get(key), "__file__", None) or "")
            source = self.source(file) if file and file == self.file_of(key) else None
            if source is not None:
                sources[key] = source
        rebound = {x for each in sources.values() for u in each.units.values() for x in u.rebinds}
        for key, source in sources.items():
            for name, unit in source.units.items():
                ran = f"{name}()" in trace["modules"][key]
                said = _said_of_patched(key, unit, ran, rebound)
                if said:
                    yield (
                        f"{key}.{name} is {said} here, and training reads it from its file: it does"
                        " not see what a test or a conftest.py changes. Make it a setting of the"
                        " arm."
                    )


def _spec(name: str, path: Sequence[str] | None) -> Any:
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        try:
            spec = find(name, path) if find is not None else None
        except (ImportError, ValueError, AttributeError):
            spec = None
        if spec is not None:
            return spec
    return None


def _is_path(key: str) -> bool:
    return ":" in key or os.sep in key


def _unit_in_words(key: str, name: str) -> str:
    if name in (EFFECTS, _ORDER):
        return key
    if name.startswith(IMPORT):
        return f"{key}, which imports {name.removeprefix(IMPORT)},"
    return f"{key}.{name.removesuffix('()')}"


def _fixtures() -> str:
    inside = os.path.join(record.PACKAGE, "_fixtures")
    beside = os.path.join(os.path.dirname(record.PACKAGE), "fixtures")
    return inside if os.path.isdir(inside) else beside


# --- What counts.


def counted(
    sources: Mapping[str, Source], ran: Mapping[str, Iterable[str] | None], arms: Sequence[str]
) -> dict[str, dict[str, str]]:
    """Return the digests of the units that count, by module.

    Of functions' bodies these are those that `ran`, by module; all where it is None.
    """
    found: dict[str, dict[str, Unit]] = {}
    candidates: list[tuple[str, Unit]] = []
    classes = {"Metric", "Recipe", *(arm.rpartition(".")[2] for arm in arms)}
    for key, source in sources.items():
        kept = source.digests(ran.get(key)).keys()
        found[key] = {}
        for name in kept:
            unit = source.units[name]
            owner, _, last = name.removesuffix("()").rpartition(".")
            is_of_arm = f"{key}.{owner}" in arms
            is_test = unit.is_test and f"{name}()" not in kept
            if (is_of_arm and unit.is_field) or is_test or (key, name) == _SCALE:
                continue
            is_judged = is_of_arm and last in _JUDGED
            if is_judged or _is_plain(unit, classes) or name.startswith(IMPORT):
                candidates.append((key, unit))
            else:
                found[key][name] = unit
    _take_mentioned(found, candidates, sources)
    digests = {key: {name: x.digest for name, x in units.items()} for key, units in found.items()}
    for key, source in sources.items():
        if order := [name for name in source.order if name in found[key]]:
            digests[key][_ORDER] = hashlib.sha256(" ".join(order).encode()).hexdigest()[:16]
    return digests


def _is_plain(unit: Unit, classes: set[str]) -> bool:
    """Return whether a unit is an assignment that calls at most some classes."""
    return unit.calls is not None and unit.calls <= classes


def _take_mentioned(
    found: dict[str, dict[str, Unit]],
    candidates: Sequence[tuple[str, Unit]],
    sources: Mapping[str, Source],
) -> None:
    """Add the candidates that counted units mention, or may find by looking names up."""
    mentions: set[str] = set()
    words: set[str] = set()
    judged: set[str] = set()
    looked_up: set[str] = set()
    imported: dict[str, set[str]] = {}
    for source in sources.values():
        for name, unit in source.units.items():
            imported.setdefault(name.removeprefix(IMPORT), set()).update(unit.paths)
    new = [(key, unit) for key, units in found.items() for unit in units.values()]
    left = list(candidates)
    while new:
        for key, unit in new:
            found[key][unit.name] = unit
            mentions |= unit.mentions
            words |= unit.words
            if not key.startswith("repro."):
                judged |= {f".{name}" for name in unit.mentions & _JUDGED}
            if unit.looks_up_names:
                looked_up.add(key)
            if unit.looks_up_modules and not key.startswith("repro."):
                looked_up.update(sources)
            for name in unit.handed_on:
                first, dot, rest = name.partition(".")
                looked_up.add(name)
                looked_up.update(path + dot + rest for path in imported.get(first, ()))
        new = []
        waiting: list[tuple[str, Unit]] = []
        for key, unit in left:
            is_import = unit.name.startswith(IMPORT)
            bound = unit.name.removeprefix(IMPORT)
            if "." in bound:  # a member of an arm that only judging reads, unless training does
                (new if bound[bound.rindex(".") :] in judged else waiting).append((key, unit))
                continue
            is_of_project = is_import and (bound == "*" or not _is_library(unit.paths))
            is_named = bound in mentions or (bound in words and not is_import)
            if is_named or key in looked_up or is_of_project:
                new.append((key, unit))
            else:
                waiting.append((key, unit))
        left = waiting


def _is_library(paths: Sequence[str]) -> bool:
    """Return whether imported modules come with Python, or from an index of packages."""
    tops = {path.partition(".")[0] for path in paths}
    return all(top in sys.stdlib_module_names or _is_installed(top) for top in tops - {"repro"})


@cache
def _is_installed(top: str) -> bool:
    spec = _spec(top, None)
    if spec is None:
        return False
    places = [os.path.join(folder, "a") for folder in spec.submodule_search_locations or ()]
    places.append(spec.origin or "")
    return any(os.path.isabs(place) and not record.is_project(place) for place in places)


_ABSENT = object()
_DECORATED = ("__init_subclass__", "__class_getitem__", "__new__")
"""Functions that Python itself turns into static or class methods."""


def _said_of_patched(module: str, unit: Unit, has_run: bool, rebound: set[str]) -> str:
    """Return what a name is in this process if that is not what its file states; else nothing."""
    name, last = unit.name, unit.name.rpartition(".")[2]
    if not unit.stated or (last in rebound and unit.stated != "def"):
        return ""
    found = _value(module, name)
    if unit.stated != "def":
        return "" if found is _ABSENT or repr(found) == unit.stated else repr(found)
    if not has_run or name.endswith(_DECORATED):
        return ""
    is_same = isinstance(found, FunctionType) and found.__qualname__ == name
    return "" if is_same or found is _ABSENT else "another function"


def _value(module: str, name: str) -> Any:
    """Return the value of a name in this process; `_ABSENT` without one."""
    owner: Any = sys.modules.get(module)
    *outer, last = name.split(".")
    for part in outer:
        owner = getattr(owner, part, None)
    return vars(owner).get(last, _ABSENT) if hasattr(owner, "__dict__") else _ABSENT


# --- The trace of this process.


class Tracer:
    """Makes the traces of this process, which `repro.code.record` records.

    >>> TRACER.trace(arms=["toy.Network"])["modules"]["toy"]
    """

    def __init__(self) -> None:
        self._before: list[Trace] = []
        self._made: dict[tuple[object, ...], tuple[object, Trace]] = {}
        self._texts = _Texts([])
        self.libraries: dict[str, str] = {}
        """The versions of the libraries that code of the project imports, but repro's own."""

    @cached_property
    def today(self) -> Today:
        """The code that this process finds."""
        return Today(record.project(), places=record.places)

    def goes_on_from(self, trace: Trace) -> None:
        """Add what made the checkpoint, or the result, that a run goes on from."""
        if trace not in self._before:  # all runs of a batch start from one
            self._before.append(trace)

    def trace(self, *, arms: Sequence[str], whole: bool = False) -> Trace:
        """Return all that this process has used so far; without a record nothing.

        With `whole`, the bodies of all functions count.
        """
        if not record.is_on():
            return {}
        with record.unheard():
            state, key = (record.state(), len(self._before)), (*sorted(arms), whole)
            if self._made.get(key, (None,))[0] != state:
                self._made[key] = state, self._trace(arms, whole)
            return self._made[key][1]

    def _trace(self, arms: Sequence[str], whole: bool) -> Trace:
        if self._texts.places != record.places:
            self._texts = _Texts(record.places)
        today, texts = Today(record.project(), places=record.places), self._texts
        ran = dict[str, list[str] | None]()
        files: dict[str, Read] = {}
        written: dict[str, int] = {}
        variables: dict[str, str | None] = {}
        missing, unheard, changed = set[str](), set[str](), set[str]()
        for facts in (record.FACTS, *record.told()):
            for name, file in facts.modules:
                for text in facts.texts[file]:
                    key = texts.add(name, file, text)
                ran[key] = _both(ran.get(key, []), facts.ran(file))
            for name, read in facts.files.items():
                files[name] = min(files.get(name, read), read, key=lambda read: read[1])
            for name, at in facts.written.items():
                written[name] = min(written.get(name, at), at)
            variables = facts.variables | variables
            for found, more in (
                (missing, facts.missing),
                (unheard, facts.unheard),
                (changed, facts.changed),
            ):
                found.update(more)
        for name, file in texts.unrecorded(record.FACTS.modules):
            ran[texts.add(name, file, None)] = None
        for name in {*files, *(_python_files(today.project) if unheard else ())}:
            if name not in texts.files and texts.is_script(name):
                ran[texts.add("__main__", name, None)] = None
        if whole or unheard:
            ran = {}
        self.libraries = _libraries(texts.sources)
        missing |= texts.nowhere  # as yet, where this session looks
        trace: Trace = {
            "arms": sorted(arms),
            "modules": counted(texts.sources, ran, arms),
            "files": dict(sorted(self._files(today, files, written, changed))),
            "missing": sorted(name for name in missing if not today.file_of(name)),
            "variables": {n: record.salted(_SALT, n, x) for n, x in sorted(variables.items())},
        }
        for key in texts.twice:
            trace["modules"][key][EFFECTS] = _TWO
        if variables:
            trace["salt"] = _SALT
        own = {name: value for name, value in trace.items() if value}
        return reduce(joined, self._before, own)

    def _files(
        self,
        today: Today,
        files: Mapping[str, Read],
        written: Mapping[str, int],
        changed: set[str],
    ) -> Iterator[tuple[str, str | None]]:
        """Yield the files that were read before the training wrote them, with digests of then."""
        for name, (digest, at, is_open_to_write) in files.items():
            path = name.removesuffix(os.sep)
            if path != name and (path in written or path in changed):
                continue
            outputs = (written[each] for each in (path, *_above(path)) if each in written)
            if name in self._texts.files or min(outputs, default=at) < at:
                continue
            if (digest is None and path in written) or (
                is_open_to_write and digest != today.digest(name)
            ):
                continue
            yield today.name_of(name), digest or today.digest(name)


def _both(one: list[str] | None, other: list[str] | None) -> list[str] | None:
    """Return what ran in one process or another; None if all of it counts."""
    return None if one is None or other is None else sorted({*one, *other})


class _Texts:
    """The modules that count, by the key of each in a trace."""

    def __init__(self, places: Sequence[str]) -> None:
        self.places = list(places)
        self.sources: dict[str, Source] = {}
        self.files: dict[str, str] = {}
        self.twice: set[str] = set()
        self.nowhere: set[str] = set()
        """Names of modules that were not found where a session looks."""
        self._today = Today(record.project(), places=self.places)
        self._keys: dict[tuple[str, str], str] = {}
        self._digests: dict[str, bytes] = {}
        self._looked_at: set[str] = set()
        self._before: dict[str, str] = {}

    def add(self, name: str, file: str, text: bytes | None) -> str:
        """Add a module with its text, and return its key."""
        key = self._keys.get((name, file), "")
        if not key:
            is_found = name != "__main__" and self._today.file_of(name) == file
            key = self._keys[name, file] = name if is_found else self._today.name_of(file)
            self.nowhere |= {name} - {key, "__main__"}
            self.files[file] = key
        elif text is None:
            return key
        text = Path(file).read_bytes() if text is None else text
        if self._digests.setdefault(key, text) != text:
            self.twice.add(key)
        if key not in self.sources:
            self.sources[key] = source_of(file, text, is_script=_is_path(key))
        return key

    def is_script(self, file: str) -> bool:
        """Return whether a file that was read is Python source that can be read as such."""
        if not file.endswith(".py") or not record.counts(file) or file in record.FACTS.written:
            return False
        return self._today.source(file, is_script=True) is not None

    def unrecorded(self, recorded: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
        """Yield modules of projects that were imported before the record began."""
        known = {name for name, _ in recorded}
        for name in sys.modules.keys() - self._looked_at:
            file = str(getattr(sys.modules[name], "__file__", ""))
            self._looked_at.add(name)
            is_ours = name not in known and file.endswith(".py") and record.is_project(file)
            if is_ours and os.path.isfile(file):
                self._before[name] = os.path.realpath(file)
        return iter(self._before.items())


def _python_files(folder: str) -> Iterator[str]:
    """Yield the Python files of a project."""
    for place, folders, names in os.walk(folder):
        folders[:] = [each for each in folders if record.counts(os.path.join(place, each, "a"))]
        yield from (os.path.join(place, name) for name in names if name.endswith(".py"))


def _above(path: str) -> Iterator[str]:
    """Yield the folders that a file is in."""
    return map(str, Path(path).parents)


TRACER = Tracer()
"""The traces of this process."""


def _libraries(sources: Mapping[str, Source]) -> dict[str, str]:
    """Return the versions of the installed libraries that modules of a project import."""
    theirs = [source for key, source in sources.items() if not key.startswith("repro.")]
    tops = {path.partition(".")[0] for source in theirs for path in source.imported}
    tops -= sys.stdlib_module_names | {"repro"}
    names = {name for top in tops for name in _distributions_of(top)}
    return {name: metadata.version(name) for name in sorted(names)}


@cache
def _distributions_of(top: str) -> list[str]:
    """Return the distributions that bring a module: most have its name."""
    if not _is_installed(top):
        return []
    try:
        return [metadata.distribution(top).metadata["Name"]]
    except (metadata.PackageNotFoundError, ValueError):
        return _distributions().get(top, [])


@cache
def _distributions() -> Mapping[str, list[str]]:
    return metadata.packages_distributions()


def parts_of(trace: Trace) -> list[Trace]:
    """Return the traces that a trace joins; itself if it joins none."""
    return list(trace.get("parts") or [trace])


def joined(one: Trace, other: Trace) -> Trace:
    """Return a trace that holds while two traces hold.

    They stay apart, since what counts depends on all that ran in a process: it has parts.

    >>> joined({"missing": ["a"]}, {"missing": ["a", "b"]})
    {'missing': ['a', 'b']}
    """
    parts: list[Trace] = []
    for new in [*parts_of(one), *parts_of(other)]:
        if not any(_covers(part, new) for part in parts):
            parts = [part for part in parts if not _covers(new, part)] + [new]
    return parts[0] if len(parts) == 1 else {"parts": sorted(parts, key=_text)}


def _covers(whole: Trace, part: Trace) -> bool:
    """Return whether a trace has all of another one, as a later trace of the same process does."""
    if whole.get("arms", []) != part.get("arms", []) or whole.get("salt") != part.get("salt"):
        return False
    if not set(part.get("missing", ())) <= set(whole.get("missing", ())):
        return False
    tables = [(whole.get(kind, {}), part.get(kind, {})) for kind in ("files", "variables")]
    tables.append((whole.get("definitions", {}), part.get("definitions", {})))
    modules = whole.get("modules", {})
    tables += [(modules.get(name, {}), each) for name, each in part.get("modules", {}).items()]
    return all(theirs.items() <= ours.items() for ours, theirs in tables)


def _text(trace: Trace) -> str:
    return json.dumps(trace, sort_keys=True)
