"""Records what a Python process uses: functions that run, modules, files, variables.

`start` begins it as early as possible: in a trainer, and in every Python that a training starts
(`startup/sitecustomize.py`). It needs only the standard library, since the Python of a command may
have nothing else.

Each function of a project's module gets one statement at its beginning, which sets its mark. The
modules are compiled from the text that is kept here, without `.pyc` files. So the record is of the
code that runs, even if a file is edited meanwhile. Lines and results stay the same.

A process that a training starts writes into a folder what it uses, and at its end its marks. If it
is killed, or is a fork, it has no marks: then all functions of its modules count.
"""

from __future__ import annotations

import ast
import atexit
import hashlib
import importlib._bootstrap_external
import itertools
import json
import marshal
import os
import re
import runpy
import shlex
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, TextIO

VARIABLE = "REPRO_RECORD"
"""The variable that tells the processes of a training what to leave out, and where to write."""

STARTUP = str(Path(__file__).resolve().parent / "startup")

PACKAGE = str(Path(__file__).resolve().parents[1])
COUNTED = frozenset({"arm.py", "recipe.py", "core", "data", "own", "studies", "_fixtures"})
"""The parts of repro's own package that results depend on."""

UNMARKED = frozenset({"numba", "taichi"})
"""Libraries that cannot compile a function with a mark; a module that imports one has no marks."""

LIBRARIES = (
    *(os.path.join(prefix, "lib", "python") for prefix in (sys.prefix, sys.base_prefix)),
    *(os.path.join(prefix, "bin", "") for prefix in (sys.prefix, sys.base_prefix)),
    os.path.dirname(os.__file__) + os.sep,
    *("/proc/", "/sys/", "/dev/", "/etc/", "/lib/", "/usr/lib/", "/usr/share/", "/usr/include/"),
    *("/usr/local/lib/", "/usr/local/share/", "/bin/", "/usr/bin/", "/usr/local/bin/"),
)
"""The beginnings of paths that belong to a machine and not to a project."""

_loading: Any = importlib._bootstrap_external
_VERSION = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
_PACKAGES = re.compile(r"(.*?/(?:site|dist)-packages)/([^/]+)")
_RAN = "__repro_ran__"
_WRITES = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
_RUNPY = runpy.run_path.__code__.co_filename
_BELOW = os.path.dirname(os.__file__)
_IMPORTING = ("<frozen importlib", os.path.join(_BELOW, "importlib", ""))
_LOOKING = tuple(
    os.path.join(_BELOW, name)
    for name in ("os.py", "_collections_abc.py", "collections/__init__.py", "string.py")
)
_FOLDERS = frozenset({"__pycache__", "node_modules"})

_OF_MACHINE = frozenset(
    {
        *("COLUMNS", "CUDA_VISIBLE_DEVICES", "HOME", "HOSTNAME", "LANG", "LINES", "LOGNAME"),
        *("MASTER_ADDR", "MASTER_PORT", "NO_COLOR", "OLDPWD", "PATH", "PWD", "PYTHONPATH", "SHELL"),
        *("TEMP", "TERM", "TMP", "TMPDIR", "TZ", "USER", "VIRTUAL_ENV"),
    }
)
_OF_MACHINE_TOO = (
    *("CONDA_", "CUBLAS_", "GITHUB_", "LC_", "LSB_", "MKL_", "NCCL_", "NUMEXPR_", "OMP_"),
    *("OPENBLAS_", "PBS_", "PYTEST_", "RAY_", "REPRO_", "SLURM_", "SUBMITIT_", "XDG_"),
)
"""Variables that differ by machine; they do not count."""


Read = tuple[str | None, int, bool]
"""The digest of a file when it was read, the time, and whether it could be written, too."""


class Facts:
    """The modules, functions, files and variables of projects that one Python process has used."""

    def __init__(self) -> None:
        self.modules: dict[tuple[str, str], None] = {}
        """The names of imported modules of projects with their files; `__main__` for a script."""
        self.texts: dict[str, list[bytes]] = {}
        """The texts that were compiled, by file; more than one where it was edited meanwhile."""
        self.functions: dict[str, list[str]] = {}
        """The functions of each file with marks, in the order of `marks`."""
        self.marks: dict[str, list[bool]] = {}
        self.files: dict[str, Read] = {}
        """Files that were opened for reading; listed folders end with a slash."""
        self.missing: dict[str, None] = {}
        """The names of modules that were not found."""
        self.unheard: dict[str, None] = {}
        """Pythons that were started without the variables by which they would take part."""
        self.variables: dict[str, str | None] = {}
        self.written: dict[str, int] = {}
        """Files that the process has written and folders that it has made, with the time."""
        self.changed: dict[str, int] = {}
        """Folders in which it has made something."""
        self.is_marked = True
        """False where the marks of this process do not tell all that ran."""
        self.told: dict[str, list[str] | None] = {}
        """The functions that ran, by file, of another process; `marks` has those of this one."""

    def ran(self, file: str) -> list[str] | None:
        """Return the functions of a file that have run; None if all of them count."""
        if not self.is_marked or file in self.files:
            return None
        if file not in self.marks:
            return self.told.get(file)
        marked = zip(self.functions[file], self.marks[file], strict=True)
        return sorted({name for name, has_run in marked if has_run})


FACTS = Facts()

places: list[str] = []
"""The folders in which modules were found when the record began; training may add others."""

environment: dict[str, str] = {}
"""The variables when the record began; later ones were set by what is recorded."""

_options = {"folder": "", "project": "", "store": ""}
_busy = threading.local()
_told: TextIO | None = None
"""The file that this process writes its facts into, if another process keeps the record."""


def is_on() -> bool:
    """Return whether this process is recorded."""
    return bool(_options["folder"])


def folder() -> Path:
    """Return the folder that the processes of this training write into."""
    return Path(_options["folder"])


def project() -> str:
    """Return the folder of the project."""
    return _options["project"]


def start(*, project: str = "", store: str = "", folder: str = "") -> None:
    """Begin to record this process, and the Pythons that it will start.

    Without a project, it takes part in the record of the process that has started it. Files in the
    store do not count. Other processes write into the folder.

    >>> start(project=str(project), store=str(project / ".repro"), folder=tempfile.mkdtemp())
    """
    if is_on():
        return
    environment.update(os.environ)
    places[:] = sys.path
    if project:
        _options.update(folder=folder, project=os.path.realpath(project))
        _options["store"] = os.path.realpath(store)
        os.environ[VARIABLE] = json.dumps(_options)
        before = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        further = [place for place in before if place and place != STARTUP]
        os.environ["PYTHONPATH"] = os.pathsep.join([STARTUP, *further])
    else:
        _options.update(json.loads(os.environ[VARIABLE]))
        _tell()
        atexit.register(_end)
    _loading.SourceLoader.get_code = _get_code
    sys.meta_path.append(_Missing())
    os.environ.__class__ = os.environb.__class__ = _Variables
    os.register_at_fork(after_in_parent=_has_forked, after_in_child=_is_fork)
    sys.addaudithook(_hear)


def state() -> object:
    """Return what is different whenever something new was recorded."""
    note_reads()
    facts = FACTS
    tables = (facts.modules, facts.files, facts.missing, facts.unheard, facts.variables)
    counts = [len(table) for table in (*tables, facts.written)]
    ran = sum(sum(marks) for marks in facts.marks.values())
    theirs = [(file.name, file.stat().st_size) for file in os.scandir(_options["folder"])]
    texts = sum(len(texts) for texts in facts.texts.values())
    return counts, ran, texts, facts.is_marked, sorted(theirs), tuple(places)


def told() -> Iterator[Facts]:
    """Yield what each other process of this training has used; without marks if it left none."""
    for path in sorted(folder().glob("*.jsonl")):
        facts = Facts()
        for line in path.read_text(encoding="utf-8").splitlines():
            with suppress(ValueError):  # it was killed within a line
                kind, name, *about = json.loads(line)
                if kind == "end":
                    facts.told = name
                elif kind == "modules":
                    file, digest = about
                    facts.modules[name, file] = None
                    facts.texts.setdefault(file, []).append((folder() / digest).read_bytes())
                elif kind != "variables":
                    getattr(facts, kind)[name] = about[0] if about else None
                elif salted(_options["folder"], name, value := environment.get(name)) == about[0]:
                    facts.variables[name] = value  # which the training did not set
        yield facts


@contextmanager
def unheard() -> Iterator[None]:
    """Leave out the files that this thread opens within the block.

    >>> with unheard():
    ...     content = path.read_bytes()  # its hash is part of what tells runs apart
    """
    was, _busy.on = getattr(_busy, "on", False), True
    try:
        yield
    finally:
        _busy.on = was


# --- What is code of a project, and what is a library?


def is_project(file: str) -> bool:
    """Return whether a file is code of a project: what no index of packages provides."""
    if file.startswith(PACKAGE + os.sep):
        return file[len(PACKAGE) + 1 :].partition(os.sep)[0] in COUNTED
    if not os.path.isabs(file):
        return False
    if found := _PACKAGES.match(file):
        return found[2].removesuffix(".py") in _from_folders(found[1])
    return not file.startswith(LIBRARIES)


@cache
def _has_libraries(folder: str) -> bool:
    """Return whether all files in a folder are a library's, as far as they are no links."""
    if not os.path.isabs(folder) or folder in ("/", PACKAGE) or folder.endswith("-packages"):
        return False
    if _has_libraries(os.path.dirname(folder)):
        return not os.path.islink(folder)
    return os.path.realpath(folder) == folder and not is_project(os.path.join(folder, "a"))


def _is_of_library(path: str) -> bool:
    return _has_libraries(os.path.dirname(path)) and not os.path.islink(path)


@cache
def _from_folders(folder: str) -> set[str]:
    """Return the packages and modules in a folder of libraries that are code of a project.

    They were installed from a folder that is still there, or from version control.
    """
    infos = [path.parent for path in Path(folder).glob("*.dist-info/direct_url.json")]
    return {name for info in infos if _is_from_folder(info) for name in _tops(info)}


def _is_from_folder(info: Path) -> bool:
    try:
        made = json.loads((info / "direct_url.json").read_text(encoding="utf-8"))
        place = made["url"].removeprefix("file://") if "dir_info" in made else ""
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False
    return "vcs_info" in made or bool(place and os.path.isdir(place))


def _tops(info: Path) -> set[str]:
    """Return the packages and modules that an installer has recorded."""
    try:
        lines = (info / "RECORD").read_text(encoding="utf-8").splitlines()
    except OSError:
        return set()
    return {line.partition(",")[0].partition("/")[0].removesuffix(".py") for line in lines}


def counts(path: str) -> bool:
    """Return whether a result depends on a file, as far as its path tells.

    Not the files of libraries, of the store, of caches and other hidden folders, temporary ones,
    and those that the process has written itself.
    """
    if path.startswith(PACKAGE + os.sep) or not is_project(path):
        return is_project(path)
    below = _is_below(path)
    inner = path[len(project()) :] if below else path
    folders = Path(inner).parts[:-1]
    if any(part.startswith(".") or part in _FOLDERS for part in folders):
        return False
    if path.startswith(_options["store"] + os.sep):
        return False
    if not below and path.startswith(os.path.realpath(tempfile.gettempdir()) + os.sep):
        return False
    return FACTS.written.keys().isdisjoint([path, *map(str, Path(path).parents)])


def _is_below(path: str) -> bool:
    return path.startswith(project() + os.sep)


# --- Modules, and the marks of their functions.


def functions(
    node: ast.AST, prefix: str = ""
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Yield the functions in a syntax tree with their qualified names, outer ones first."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + child.name, child
            yield from functions(child, f"{prefix}{child.name}.<locals>.")
        else:
            inner = f"{prefix}{child.name}." if isinstance(child, ast.ClassDef) else prefix
            yield from functions(child, inner)


def _get_code(loader: Any, name: str) -> CodeType:
    """Compile a module of a project from its text, with marks; any other module as ever."""
    shown = loader.get_filename(name)
    file = shown if _is_of_library(shown) else os.path.realpath(shown)
    code: CodeType
    if not is_project(file):
        code = _usual(loader, name)
        return code
    with unheard():
        text: bytes = loader.get_data(file)
    before = _note_module(name, file, text)
    if sys._getframe(1).f_code.co_filename == _RUNPY:
        _note_module("__main__", file, text)
    if type(loader).source_to_code is not _loading.SourceLoader.source_to_code:
        code = loader.source_to_code(text, shown)
        return code  # of a loader that changes what it compiles
    if before is not None and (before != text or file not in FACTS.marks):
        FACTS.marks.pop(file, None)  # those of another text would not fit
        return compile(text, shown, "exec", dont_inherit=True)

    def make() -> tuple[list[str] | None, CodeType]:
        tree = ast.parse(text, shown)
        names = _mark(tree, file) if UNMARKED.isdisjoint(_imported(tree)) else None
        return names, compile(tree, shown, "exec", dont_inherit=True)

    key = shown, file, hashlib.sha256(text).hexdigest(), sys.flags.optimize, _VERSION
    names, code = remembered("marks", shown, key, make)
    if names is not None:
        FACTS.functions[file] = names
        FACTS.marks.setdefault(file, [False] * len(names))  # it may be loaded twice
    return code


def remembered(kind: str, file: str, key: object, make: Callable[[], Any]) -> Any:
    """Return what is made of a module's file, which is kept beside Python's own bytecode.

    It begins with a digest of a key and of the rest, so it is made anew where anything is another,
    or damaged. Where it cannot be written, it is made each time.
    """
    loader, place = _loading.SourceFileLoader("", file), _loading.cache_from_source
    head = repr((key, _loading.MAGIC_NUMBER)).encode()
    with unheard():
        path = place(file, optimization=f"repro{kind}")
        with suppress(OSError):
            content = loader.get_data(path)
            if content[:32] == hashlib.sha256(head + content[32:]).digest():
                return marshal.loads(content[32:])
        made = make()
        if not sys.dont_write_bytecode:
            content = marshal.dumps(made)
            digest = hashlib.sha256(head + content).digest()
            loader._cache_bytecode(file, path, digest + content)
        return made


def _note_module(name: str, file: str, text: bytes) -> bytes | None:
    """Note a module or a script; return its text when it was last noted."""
    texts = FACTS.texts.setdefault(file, [])
    before = texts[-1] if texts else None
    if (name, file) not in FACTS.modules or text != before:
        FACTS.modules[name, file] = None
        _write("modules", name, file, _kept(text))
    if text != before:
        texts.append(text)
    return before


def _ran_file(path: Any) -> None:
    file = os.path.realpath(os.fsdecode(path))
    if counts(file):
        _note_module("__main__", file, Path(file).read_bytes())


_usual: Any = _loading.SourceLoader.get_code


def _mark(tree: ast.Module, file: str) -> list[str]:
    """Add the marks to the functions in a syntax tree; return their names."""
    names: list[str] = []
    for name, function in list(functions(tree)):
        at = int(ast.get_docstring(function, clean=False) is not None)
        where = function.body[min(at, len(function.body) - 1)]
        function.body.insert(at, _statement(f"{_RAN}[{len(names)}] = True", where))
        names.append(name)
    if names:
        at = int(ast.get_docstring(tree, clean=False) is not None)
        while getattr(tree.body[at], "module", None) == "__future__":
            at += 1
        found = f"{_RAN} = __import__('sys').modules[{__name__!r}].FACTS.marks[{file!r}]"
        tree.body.insert(at, _statement(found, tree.body[at]))
    return names


def _statement(text: str, where: ast.AST) -> ast.stmt:
    [statement] = ast.parse(text).body
    for node in ast.walk(statement):
        ast.copy_location(node, where)
    return statement


def _imported(tree: ast.Module) -> set[str]:
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {alias.name for node in nodes for alias in node.names if isinstance(node, ast.Import)}
    names |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    return {name.partition(".")[0] for name in names}


class _Missing:
    """The last finder: it is asked for the modules that no other one has found."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> None:
        caller = _caller(sys._getframe(1), lambda file: "importlib" in file)
        if is_project(os.path.realpath(caller)):
            _note("missing", name)


# --- Files and variables.


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    heard = _EVENTS.get(event)
    if heard is not None and not getattr(_busy, "on", False):
        _busy.on = True
        try:
            heard(*arguments)
        except Exception:  # an error here would be one of the training
            pass
        finally:
            _busy.on = False


def _opened(path: Any, mode: Any = None, flags: Any = 0) -> None:
    if mode is None and isinstance(flags, int):
        is_written = bool(flags & _WRITES)
    else:
        is_written = not set("wax").isdisjoint(mode or "r")
    if is_written:
        _made(path)
    else:
        for_both = "+" in mode if isinstance(mode, str) else bool(flags & os.O_RDWR)
        _read_from(path, is_open_to_write=for_both)


def _read_from(path: Any, end: str = "", *, is_open_to_write: bool = False) -> None:
    """Note a file, or with `end` a folder; also the link that leads there."""
    if not isinstance(path, str | bytes | os.PathLike):
        return  # what a number stands for was opened before
    given = os.fsdecode(path)
    if not end and _is_of_library(given):
        return
    real, name = os.path.realpath(given), os.path.abspath(given)
    is_link = real != name and (_is_below(name) or not _is_below(real))
    for each in (real, name) if is_link else (real,):
        is_new = each + end not in FACTS.files and counts(os.path.join(each, "a") if end else each)
        if is_new and not _is_bytecode(each):
            read = digest_of(each + end), time.monotonic_ns(), is_open_to_write
            _note("files", each + end, read)


def digest_of(path: str) -> str | None:
    """Return the digest of a file, or of a folder's names; None where there is none."""
    try:
        if path.endswith(os.sep):
            names = [x for x in sorted(os.listdir(path)) if not x.startswith((".", "__pycache__"))]
            return hashlib.sha256("\n".join(names).encode()).hexdigest()
        if not os.path.isfile(path):
            return None
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def _listed(path: Any = None) -> None:
    caller = sys._getframe(2).f_code.co_filename  # behind `_hear`
    if caller.startswith(_IMPORTING):
        return
    _read_from(f"/proc/self/fd/{path}" if isinstance(path, int) else path or ".", os.sep)


def _started(words: Any, where: Any = None, variables: Any = None) -> None:
    """Note the files that a command names, and whether it is a Python without a record.

    One whose `PYTHONPATH` was replaced takes part nevertheless.
    """
    if isinstance(variables, dict) and variables.get("PYTHONPATH") and VARIABLE in variables:
        places = str(variables["PYTHONPATH"]).split(os.pathsep)
        if places[0] != STARTUP:
            variables["PYTHONPATH"] = os.pathsep.join([STARTUP, *places])
    if isinstance(words, str | bytes):
        words = [words]
    given = [os.fsdecode(each) for each in words if isinstance(each, str | bytes | os.PathLike)]
    for word in [part for each in given for part in (each, *_split(each), *each.split("=")[1:])]:
        name = os.path.join(os.fsdecode(where or "."), word)
        if len(word) < 4096 and os.path.isfile(name):
            _read_from(name)
    if given and _is_unheard(given, os.environ if variables is None else variables):
        _note("unheard", given[0])


def _split(words: str) -> list[str]:
    try:
        return shlex.split(words)
    except ValueError:
        return []


def _is_unheard(words: list[str], variables: Mapping[Any, Any]) -> bool:
    """Return whether a command is a Python that takes no part in the record."""
    if not re.match(r"python[\d.]*$", os.path.basename(words[0])):
        return False
    flags = itertools.takewhile(lambda word: word.startswith("-"), words[1:])
    known = {os.fsdecode(name): os.fsdecode(value) for name, value in variables.items()}
    is_startup = known.get("PYTHONPATH", "").startswith(STARTUP) and VARIABLE in known
    return not is_startup or any(re.match("-[a-zA-Z]*[ESI]", flag) for flag in flags)


def _made(path: Any) -> None:
    if not isinstance(path, str | bytes | os.PathLike):
        return
    name = os.path.realpath(os.fsdecode(path))
    if not name.startswith(_options["store"] + os.sep):
        for kind, each in (("written", name), ("changed", os.path.dirname(name))):
            _note(kind, each, time.monotonic_ns())


def _is_bytecode(name: str) -> bool:
    return name.endswith(".pyc") and os.path.exists(name.removesuffix("c"))


_EVENTS: dict[str, Callable[..., None]] = {
    "open": _opened,
    "cpython.run_file": _ran_file,
    "import": lambda name, path, *_: _opened(path),  # of a compiled module; else None
    "os.listdir": _listed,
    "os.scandir": _listed,
    "os.mkdir": lambda path, *_: _made(path),
    "os.rename": lambda source, path, *_: _made(path),
    "os.exec": lambda path, words, variables: _started(words, None, variables),
    "os.posix_spawn": lambda path, words, variables: _started(words, None, variables),
    "os.system": lambda command: _started(command),
    "sqlite3.connect": lambda path: _read_from(path, is_open_to_write=True),
    "subprocess.Popen": lambda path, words, where, variables: _started(words, where, variables),
}


class _Variables(type(os.environ)):  # type: ignore[misc]
    """The variables, of which it notes what code of a project reads, if it reads them by name.

    What copies all of them reads each, in their order. That is no reading by name; a part of it is.
    """

    def __iter__(self) -> Iterator[str]:
        names = list(super().__iter__())
        note_reads()
        _copy[:] = names
        return iter(names)

    def __getitem__(self, name: str) -> str:
        value: str | None = None
        try:
            value = super().__getitem__(name)
            return value
        finally:
            if _copy[:1] != [name]:
                note_reads()
            _read(name, value)
            if not _copy:
                note_reads()
            elif len(_copy) == 1:  # all of them were copied
                _copy.clear()
                _reads.clear()
            else:
                del _copy[0]


_copy: list[str] = []
"""The variables that a copy of all of them would read next."""
_reads: list[tuple[str, str | None]] = []
"""The variables that were read, perhaps for a copy."""


def note_reads() -> None:
    """Note the variables that were read since all of them were listed: they were not all copied."""
    for name, value in _reads:
        _note("variables", name, value)
    _reads.clear()
    _copy.clear()


def _read(name: str | bytes, value: str | bytes | None) -> None:
    name, value = os.fsdecode(name), value and os.fsdecode(value)
    is_of_machine = name in _OF_MACHINE or name.startswith(_OF_MACHINE_TOO)
    if is_of_machine or name in FACTS.variables or environment.get(name) != value:
        return
    if is_project(os.path.realpath(_caller(sys._getframe(2), lambda file: file in _LOOKING))):
        _reads.append((name, value))


def _caller(frame: FrameType | None, is_between: Callable[[str], bool]) -> str:
    """Return the file of the code that called, beyond the frames that are between."""
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith("<") and not is_between(file):
            break
        frame = frame.f_back
    return frame.f_code.co_filename if frame is not None else ""


# --- What a process tells another one that keeps the record.


def _note(kind: str, name: str, *about: Any) -> None:
    table: dict[str, Any] = getattr(FACTS, kind)
    if name in table:
        return
    table[name] = about[0] if about else None
    if kind == "variables":  # no value is written
        about = (salted(_options["folder"], name, about[0]),)
    _write(kind, name, *about)


def _write(*parts: Any) -> None:
    if _told is not None:
        _told.write(json.dumps(parts) + "\n")
        _told.flush()


def salted(salt: str, name: str, value: str | None) -> str | None:
    """Return a digest of a variable's value, which does not tell the value."""
    return value and hashlib.sha256(f"{salt} {name} {value}".encode()).hexdigest()


def _kept(text: bytes) -> str:
    """Return the digest of a module's text, and write the text where another process looks."""
    digest = hashlib.sha256(text).hexdigest()
    if _told is not None:
        with suppress(OSError), open(folder() / digest, "xb") as file:
            file.write(text)
    return digest


def _tell() -> None:
    global _told
    number, _ = tempfile.mkstemp(".jsonl", f"{os.getpid()}-", _options["folder"])
    _told = os.fdopen(number, "w", encoding="utf-8")


def _has_forked() -> None:
    FACTS.is_marked = False


def _is_fork() -> None:
    FACTS.is_marked = False
    with suppress(OSError):
        _tell()


def _end() -> None:
    note_reads()
    if _told is not None and FACTS.is_marked:
        with suppress(OSError, ValueError):
            ran = {file: FACTS.ran(file) for file in FACTS.texts}
            _told.write(json.dumps(["end", ran]) + "\n")
            _told.close()
