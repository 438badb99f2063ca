"""Evidence files: lines of JSON, compressed by gzip, whose checksum reveals damage.

The first line is the head; traces come before the runs that they made. A file is read and checked
as a whole before it is used: the form of each line, and each run's key. Runs of format 3 have the
definitions of their code as their trace.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from repro.arm import Run
from repro.code.trace import Trace, parts_of
from repro.evidence import EvidenceError
from repro.files import beside, explained
from repro.store import Made, Result, run_key
from repro.store.key import digest_of, plain
from repro.store.run_files import key_of

Line = dict[str, Any]

NAME = "repro evidence"
FORMAT = 4
FORMATS = (3, FORMAT)
"""The formats that this version reads."""

LONGEST_LINE = 8 * 2**20
MOST_BYTES = 2**30
"""The most bytes of a file in memory; each line counts at least `LEAST`."""
LEAST = 4000

LEVEL = 9
"""The level of compression; it is fixed so that equal results give equal bytes."""

LARGEST = 2**63
"""The bound of whole numbers; a float cannot hold all larger ones."""

NOT_PACKED = ("host", "pid")
"""Fields of a run's provenance that name a machine or a process; they are not packed."""

Form: TypeAlias = "type | list[Form] | dict[str, Form]"
"""The form of a value in a line: a type, a list of one form, or a table with members."""

FORMS: dict[str, Form] = {
    "head": {"name": str, "format": int, "profile": str, "runs": int},
    "code": {"code": str, "definitions": dict},
    "trace": {"trace": str, "content": dict},
    "run": {
        "study": str,
        "key": str,
        "data_sets": [str],
        "keeps_weights": bool,
        "identity": {"arm": {"arm": str}, "seed": int, "device": str, "torch": str},
        "values": {"history": dict},
        "provenance": dict,
    },
    "weights": {"key": str},
}
"""The members of each kind of line."""

TRACE: dict[str, Form] = {
    "arms": [str],
    "modules": dict,
    "files": dict,
    "missing": [str],
    "variables": dict,
    "salt": str,
    "definitions": dict,
}
"""The parts of a trace."""

SHOWN = ("machine", "commit", "python", "finished", "engine", "rekeyed", "renewed")
"""Fields of a provenance that reports show; they must be texts."""


class Unsound(ValueError):
    """A line or a file is no valid evidence; the message continues "line 3 …"."""


@dataclass(frozen=True)
class Record:
    """A packed run: its line in the file, and its result."""

    line: Line

    @cached_property
    def result(self) -> Result:
        key, identity, values, made = (
            self.line[name] for name in ("key", "identity", "values", "provenance")
        )
        content = self.line.get("content", "")
        return Result(key, identity, values, made, made=self.made, content=content)

    @property
    def made(self) -> Made:
        """The trace, settings and start of the run; format 3 has only a digest of its code."""
        made = self.line.get("made")
        return Made(**made) if made is not None else Made(trace=self.line["identity"]["code"])

    @property
    def is_earlier(self) -> bool:
        """True for a run of format 3, which knows the definitions of its code and no more."""
        return "code" in self.line["identity"]

    @property
    def key(self) -> str:
        return self.result.key

    @property
    def data_sets(self) -> list[str]:
        """The names of the data sets that it read."""
        return list(self.line["data_sets"])

    @property
    def keeps_weights(self) -> bool:
        """True where other runs start from its final parameters."""
        return bool(self.line["keeps_weights"])

    @cached_property
    def place(self) -> str:
        """A text that is the same for all results of one arm and seed."""
        identity = self.result.identity
        return place_of(self.line["study"], identity["arm"], identity["seed"])

    @property
    def name(self) -> str:
        """The run in words."""
        identity = self.result.identity
        return f"{identity['arm']['arm']}, seed {identity['seed']} ({self.key[:12]})"


@dataclass
class EvidenceFile:
    """The runs of one file, kept as text; a run is parsed when it is needed.

    >>> EvidenceFile.read(Path("evidence/ci-generated.jsonl.gz")).profile
    'ci'
    """

    path: Path
    profile: str = ""
    sha256: str = ""
    traces: dict[str, bytes] = field(default_factory=dict)
    """The lines with traces, by the digest of each."""
    lines: dict[str, bytes] = field(default_factory=dict)
    """The lines of the runs, by key."""
    places: dict[str, str] = field(default_factory=dict)
    """The key of the first run of each arm and seed."""
    data_sets: set[str] = field(default_factory=set)
    """The data sets that its runs read."""
    _kept: int = 0

    @classmethod
    def read(cls, path: Path) -> EvidenceFile:
        """Read a file and check it; raises `EvidenceError`."""
        try:
            return cls(path)._read(path)
        except Unsound as why:
            raise EvidenceError(
                f"The evidence file {path} cannot be used: {why}; get it again from where it came"
                " from."
            ) from None

    @classmethod
    def write(cls, path: Path, lines: Iterable[Line]) -> EvidenceFile:
        """Write lines and read them again; raises `EvidenceError` where they are no evidence.

        With one version of zlib, equal lines give equal bytes.
        """
        with (
            explained(
                EvidenceError,
                full=(f"There is no room for {path}", "free some space, or choose another place"),
                refused=(f"{path} cannot be written", "choose a place where you may write"),
            ),
            beside(path) as fresh,
        ):
            with (
                fresh.open("wb") as file,
                gzip.GzipFile("", "wb", LEVEL, file, mtime=0) as compressed,
            ):
                compressed.writelines(map(encoded, lines))
            try:
                return cls(path)._read(fresh)
            except Unsound as why:
                raise EvidenceError(
                    f"{path} was not written, since it could not be read again: {why}; pack the"
                    " claims in several files (--evidence takes any number), or measure less."
                ) from None

    def _read(self, path: Path) -> EvidenceFile:
        runs = number = 0
        for number, text in enumerate(texts(path), 1):
            try:
                line = decoded(text)
                if (kind := line["kind"]) not in FORMS:
                    raise Unsound(f"is of an unknown kind, {kind!r}")
                _require(line, FORMS[kind], "line")
                if number > 1:
                    self._take(text, line)
                    continue
                _require_head(line, path)
                self.profile, runs = line["profile"], line["runs"]
            except Unsound as why:
                raise Unsound(f"line {number} {why}") from None
        if number == 0:
            raise Unsound("it is empty")
        if len(self.lines) != runs:
            raise Unsound(f"it has {len(self.lines)} runs where its head says {runs}")
        with path.open("rb") as file:
            self.sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        return self

    @property
    def name(self) -> str:
        """The file in words: its path, its hash, and its number of runs."""
        return f"{self.path} ({self.sha256[:12]}, {len(self.lines)} runs)"

    def record(self, key: str) -> Record:
        """Return the run with this key."""
        return Record(decoded(self.lines[key]))

    def at(self, place: str) -> Record | None:
        """Return the run of an arm and seed; None if the file has none."""
        return self.record(self.places[place]) if place in self.places else None

    def trace(self, digest: str) -> dict[str, Any]:
        """Return the trace with a digest, which this file has."""
        line = decoded(self.traces[digest])
        found: dict[str, Any] = line.get("content") or {"definitions": line["definitions"]}
        return found

    def _take(self, text: bytes, line: Line) -> None:
        match line["kind"]:
            case "run":
                self._take_run(text, sound_record(line))
            case "code":
                for each in line["definitions"].values():
                    _require(each, str, "definition")
                self.traces[line["code"]] = self._keep(text)
            case "trace":
                _require_trace(line)
                self.traces[line["trace"]] = self._keep(text)
            case "weights":
                if line["key"] != next(reversed(self.lines), None):
                    raise Unsound("has weights of another run than the one before it")
            case _:
                raise Unsound("is a second head")

    def _take_run(self, text: bytes, record: Record) -> None:
        if record.key in self.lines:
            raise Unsound(f"is a second one for {record.name}")
        if record.made.trace not in self.traces:
            raise Unsound(f"is {record.name}, whose trace does not stand before it")
        self.lines[record.key] = self._keep(text)
        self.data_sets.update(record.data_sets)
        self.places.setdefault(record.place, record.key)

    def _keep(self, text: bytes) -> bytes:
        self._kept += max(len(text), LEAST)
        if self._kept > MOST_BYTES:
            raise Unsound(f"is one too many: a file has {MOST_BYTES} bytes at most")
        return text


def texts(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file, each cut just above the longest allowed length."""
    if path.exists() and not path.is_file():  # opening a pipe would wait for ever
        raise EvidenceError(f"The evidence file {path} cannot be read: it is not a file.")
    refused = (f"The evidence file {path} cannot be read", "name a file that you may read")
    with explained(EvidenceError, full=refused, refused=refused), path.open("rb") as file:
        try:
            with gzip.GzipFile(fileobj=file) as stream:
                while text := stream.readline(LONGEST_LINE + 1):
                    yield text
        except EOFError:
            raise Unsound("it is cut off before its end") from None
        except (gzip.BadGzipFile, zlib.error):
            raise Unsound("it is not whole gzip") from None


def encoded(line: Line) -> bytes:
    """Return a line as bytes for a file.

    >>> encoded({"b": 1, "a": 0.5})
    b'{"a":0.5,"b":1}\\n'
    """
    text = json.dumps(
        line, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return f"{text}\n".encode()


def decoded(text: bytes) -> Line:
    """Return the content of a line; raises `Unsound`.

    >>> decoded(b"[1]")
    Traceback (most recent call last):
    repro.evidence.file.Unsound: is no JSON object with a kind
    """
    if len(text) > LONGEST_LINE:
        raise Unsound(f"has more than {LONGEST_LINE} bytes")
    try:
        line = json.loads(text)
    except (ValueError, RecursionError):
        raise Unsound("is not JSON") from None
    if not isinstance(line, dict) or not isinstance(line.get("kind"), str):
        raise Unsound("is no JSON object with a kind")
    return line


def _require_head(line: Line, path: Path) -> None:
    """Raise where the first line of a file is no head, or has another format."""
    if line["kind"] != "head" or line["name"] != NAME:
        raise Unsound("is not the head of evidence")
    if line["format"] not in FORMATS:
        raise EvidenceError(
            f"The evidence file {path} has format {line['format']} where this version of"
            f" repro reads {FORMAT}; use the version that packed it, or pack it again."
        )


def _require_trace(line: Line) -> None:
    """Raise where a trace has parts that no trace has, a file elsewhere, or another digest."""
    trace = line["content"]
    if "parts" in trace:
        _require(trace, {"parts": [dict]}, "trace")
    for part in parts_of(trace):
        _require_part(part)
    if digest_of(trace) != line["trace"]:
        raise Unsound("is a trace with another digest than it says")


def _require_part(trace: Trace) -> None:
    for name, part in trace.items():
        if name not in TRACE:
            raise Unsound(f"has a trace with {name!r}, which is no part of one")
        _require(part, TRACE[name], name)
    if trace.get("variables") and "salt" not in trace:
        raise Unsound("has variables without a salt")
    modules, files = trace.get("modules", {}), trace.get("files", {})
    for each in modules.values():
        _require(each, dict, "module")
    for table in (*modules.values(), files, trace.get("variables", {})):
        for digest in table.values():
            _require(digest or "", str, "digest")
    for name in (*modules, *files):
        path = name.rpartition(":")[2]
        if os.path.isabs(path) or ".." in path.split("/") or "\0" in path:
            raise Unsound("has a file outside of its project")


def _require(value: Any, form: Form, name: str) -> None:
    """Raise `Unsound` where a value does not have a form; `name` is its name in the message."""
    if isinstance(form, dict):
        _require(value, dict, name)
        for member, inner in form.items():
            if member not in value:
                raise Unsound(f"has no {member}")
            _require(value[member], inner, member)
    elif isinstance(form, list):
        _require(value, list, name)
        for each in value:
            _require(each, form[0], name)
    elif type(value) is not form:  # isinstance(True, int) is true
        raise Unsound(f"has a {name} that is no {form.__name__}")


def record_of(run: Run, result: Result) -> Record:
    """Return the record of a stored run.

    >>> record_of(run, store.get(identity)).line["kind"]
    'run'
    """
    return Record(
        {
            "kind": "run",
            "key": result.key,
            "study": run.arm.study,
            "data_sets": list(run.arm.data_sets),
            "keeps_weights": run.arm.keeps_weights,
            "identity": result.identity,
            "made": asdict(result.made),
            "content": result.content,
            "values": result.values,
            "provenance": {n: x for n, x in result.provenance.items() if n not in NOT_PACKED},
        }
    )


def place_of(study: str, arm: Mapping[str, Any], seed: int) -> str:
    """Return a text that is the same for all results of one arm and seed, with any key.

    >>> place_of("spirals", {"arm": "Spiral", "width": 8}, 3)
    '["spirals",{"arm":"Spiral","width":8},3]'
    """
    return json.dumps([study, plain(arm, "arm"), seed], sort_keys=True, separators=(",", ":"))


def sound_record(line: Line) -> Record:
    """Return the record of a parsed line; raises `Unsound`."""
    identity, values, made = line["identity"], line["values"], line["provenance"]
    try:
        plain({"values": values, "provenance": made}, "it")
        if "made" in line:
            _require(line["made"], {"settings": dict, "trace": str, "start": str}, "making")
            key = key_of(identity, Made(**line["made"]))
        else:
            _require(identity, {"code": str}, "identity")
            key = run_key(identity)
    except (ValueError, TypeError, RecursionError) as error:
        raise Unsound(f"has a value that no result has: {error}") from None
    if line["key"] != key:
        raise Unsound("has the identity of another run than its key says")
    has_ended = "diverged_at" not in values
    _require(values, {"steps": int, "measures": dict} if has_ended else {"diverged_at": int}, "it")
    for series in values["history"].values():
        _require(series, list, "history")
    measures = values["measures"] if has_ended else {}
    if not _are_numbers([*values["history"].values(), *measures.values()]):
        raise Unsound("has measures or a history that are no numbers")
    counts = [values.get("steps", 0), values.get("diverged_at", 0), made.get("seconds") or 0]
    if not _are_numbers(counts) or min(counts) < 0:
        raise Unsound("has steps or seconds that are no count")
    packages = made.get("packages", {})
    _require(packages, dict, "packages")
    for text in (*packages.values(), *(made.get(name) or "" for name in SHOWN)):
        _require(text, str, "name, version or machine")
    return Record(line)


def _are_numbers(values: list[Any]) -> bool:
    """Return whether the values are numbers, None, or lists of these; True counts as 1."""
    return all(
        each is None
        or isinstance(each, float)
        or (isinstance(each, int) and abs(each) < LARGEST)
        or (isinstance(each, list) and _are_numbers(each))
        for each in values
    )
