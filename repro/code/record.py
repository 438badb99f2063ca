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
import json
import os
import shlex
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
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
    os.path.dirname(os.__file__) + os.sep,
    *("/proc/", "/sys/", "/dev/", "/etc/", "/lib/", "/usr/lib/", "/usr/share/", "/usr/include/"),
    *("/usr/local/lib/", "/usr/local/share/", "/bin/", "/usr/bin/", "/usr/local/bin/"),
)
"""The beginnings of paths that belong to a machine and not to a project."""

_loading: Any = importlib._bootstrap_external
_RAN = "__repro_ran__"
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_LOOKING = (os.__file__, sys.modules["_collections_abc"].__file__)
_FOLDERS = frozenset({"__pycache__", "node_modules"})

_OF_MACHINE = frozenset(
    {
        *("CI", "COLUMNS", "CUDA_VISIBLE_DEVICES", "HOME", "HOSTNAME", "LANG", "LINES", "LOGNAME"),
        *("MASTER_ADDR", "MASTER_PORT", "NO_COLOR", "OLDPWD", "PATH", "PWD", "PYTHONPATH", "SHELL"),
        *("TEMP", "TERM", "TMP", "TMPDIR", "TZ", "USER", "VIRTUAL_ENV"),
    }
)
_OF_MACHINE_TOO = (
    *("CONDA_", "CUBLAS_", "GITHUB_", "LC_", "LSB_", "MKL_", "NCCL_", "NUMEXPR_", "OMP_"),
    *("OPENBLAS_", "PBS_", "PYTEST_", "RAY_", "REPRO_", "SLURM_", "SUBMITIT_", "XDG_"),
)
"""Variables that differ by machine; they do not count."""


class Facts:
    """What one process has used."""

    def __init__(self) -> None:
        self.modules: dict[str, str] = {}
        """The files of imported modules of projects, by the name of the module."""
        self.texts: dict[str, bytes] = {}
        """The texts that were compiled, by file."""
        self.functions: dict[str, list[str]] = {}
        """The functions of each file with marks, in the order of `marks`."""
        self.marks: dict[str, list[bool]] = {}
        self.files: dict[str, None] = {}
        """Files that were opened for reading; listed folders end with a slash."""
        self.missing: dict[str, None] = {}
        """The names of modules that were not found."""
        self.variables: dict[str, str | None] = {}
        self.written: dict[str, None] = {}
        """Files that the process itself has written, and folders that it has made."""
        self.changed: dict[str, None] = {}
        """Folders in which it has made something."""
        self.is_marked = True
        """False where the marks of this process do not tell all that ran."""

    def ran(self, file: str) -> list[str] | None:
        """Return the functions of a file that have run; None if all of them count."""
        if not self.is_marked or file not in self.marks or file in self.files:
            return None
        marked = zip(self.functions[file], self.marks[file], strict=True)
        return sorted({name for name, has_run in marked if has_run})


FACTS = Facts()

environment: dict[str, str] = {}
"""The variables when the record began; later ones were set by what is recorded."""

_options = {"folder": "", "project": "", "store": ""}
_busy = threading.local()
_told: TextIO | None = None
"""Where this process writes what it uses, if another process keeps the record."""


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

    >>> start(project="/home/me/project", store="/home/me/project/.repro", folder="/tmp/record")
    """
    if is_on():
        return
    environment.update(os.environ)
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
    os.environ.__class__ = _Variables
    os.register_at_fork(after_in_parent=_has_forked, after_in_child=_is_fork)
    sys.addaudithook(_hear)


def state() -> object:
    """Return what is different whenever something new was recorded."""
    note_reads()
    tables = (FACTS.modules, FACTS.files, FACTS.missing, FACTS.variables, FACTS.written)
    ran = sum(sum(marks) for marks in FACTS.marks.values())
    theirs = [(file.name, file.stat().st_size) for file in os.scandir(_options["folder"])]
    return (*[len(table) for table in tables], ran, FACTS.is_marked, sorted(theirs))


def told() -> Iterator[dict[str, Any]]:
    """Yield what each other process of this training has used.

    Its `ran` has the marks by file; None where the process has left none.
    """
    for path in sorted(folder().glob("*.jsonl")):
        found: dict[str, Any] = {"modules": [], "ran": None}
        for line in path.read_text(encoding="utf-8").splitlines():
            with suppress(ValueError):  # it was killed within a line
                kind, *parts = json.loads(line)
                if kind == "end":
                    found["ran"] = parts[0]
                else:
                    found.setdefault(kind, []).append(parts)
        yield found


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


@cache
def is_project(file: str) -> bool:
    """Return whether a file is code of a project: what no index of packages provides."""
    if file.startswith(PACKAGE + os.sep):
        return file[len(PACKAGE) + 1 :].partition(os.sep)[0] in COUNTED
    if not os.path.isabs(file):
        return False
    parts = Path(file).parts
    for kind in ("site-packages", "dist-packages"):
        if kind in parts[:-1]:
            number = parts.index(kind) + 1
            return parts[number].removesuffix(".py") in _from_folders(str(Path(*parts[:number])))
    return not file.startswith(LIBRARIES)


@cache
def is_installed(place: str) -> bool:
    """Return whether an installer has put a package, or the file of a module, at a place.

    Installers keep a record of their files; a checkout has none. What was installed from a folder
    that is still there, or from version control, is code of a project.

    >>> is_installed(pytest.__file__)
    True
    """
    path = Path(place)
    if not {"site-packages", "dist-packages"}.isdisjoint(path.parts):
        return not is_project(str(path if path.suffix else path / "__init__.py"))
    return path.name in _recorded_in(str(path.parent))


@cache
def _recorded_in(folder: str) -> set[str]:
    """Return the names of packages and modules that installers have recorded in a folder."""
    return {name for info in _infos(folder) if not _is_from_folder(info) for name in _tops(info)}


@cache
def _from_folders(folder: str) -> set[str]:
    """Return the packages and modules in a folder of libraries that are code of a project."""
    tops = {name for info in _infos(folder) if _is_from_folder(info) for name in _tops(info)}
    return {name.removesuffix(".py") for name in tops}


def _infos(folder: str) -> list[Path]:
    return [*Path(folder).glob("*.dist-info"), *Path(folder).glob("*.egg-info")]


def _is_from_folder(info: Path) -> bool:
    try:
        made = json.loads((info / "direct_url.json").read_text(encoding="utf-8"))
        place = made["url"].removeprefix("file://") if "dir_info" in made else ""
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False
    return "vcs_info" in made or bool(place and os.path.isdir(place))


def _tops(info: Path) -> set[str]:
    for name in ("RECORD", "installed-files.txt"):
        with suppress(OSError):
            lines = (info / name).read_text(encoding="utf-8").splitlines()
            return {x.removeprefix("../").partition(",")[0].partition("/")[0] for x in lines}
    return set()


def counts(path: str) -> bool:
    """Return whether a result depends on a file, as far as its path tells.

    Not the files of libraries, of the store, of caches and other hidden folders, temporary ones,
    and those that the process has written itself.
    """
    if path.startswith(PACKAGE + os.sep) or not is_project(path):
        return is_project(path)
    below = path.startswith(project() + os.sep)
    inner = path[len(project()) :] if below else path
    folders = Path(inner).parts[:-1]
    if any(part.startswith(".") or part in _FOLDERS for part in folders):
        return False
    if path.startswith(_options["store"] + os.sep):
        return False
    if not below and path.startswith(os.path.realpath(tempfile.gettempdir()) + os.sep):
        return False
    return FACTS.written.keys().isdisjoint([path, *map(str, Path(path).parents)])


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
    file = os.path.realpath(loader.get_filename(name))
    if not is_project(file):
        code: CodeType = _usual(loader, name)
        return code
    with unheard():
        text: bytes = loader.get_data(file)
    _note("modules", name, file, _kept(text))
    FACTS.texts[file] = text
    tree = ast.parse(text, loader.get_filename(name))
    if UNMARKED.isdisjoint(_imported(tree)):
        _mark(tree, file)
    return compile(tree, loader.get_filename(name), "exec", dont_inherit=True)


_usual: Any = _loading.SourceLoader.get_code


def _mark(tree: ast.Module, file: str) -> None:
    names: list[str] = []
    for name, function in list(functions(tree)):
        at = int(ast.get_docstring(function, clean=False) is not None)
        where = function.body[min(at, len(function.body) - 1)]
        function.body.insert(at, _statement(f"{_RAN}[{len(names)}] = True", where))
        names.append(name)
    if not names:
        FACTS.functions[file], FACTS.marks[file] = [], []
        return
    FACTS.functions[file], FACTS.marks[file] = names, [False] * len(names)
    at = int(ast.get_docstring(tree, clean=False) is not None)
    while getattr(tree.body[at], "module", None) == "__future__":
        at += 1
    found = f"{_RAN} = __import__('sys').modules[{__name__!r}].FACTS.marks[{file!r}]"
    tree.body.insert(at, _statement(found, tree.body[at]))


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
    if not isinstance(path, str | bytes | os.PathLike):
        return
    name = os.path.realpath(os.fsdecode(path))
    if mode is None and isinstance(flags, int):
        is_written = bool(flags & _WRITES)
    else:
        is_written = not set("wax+").isdisjoint(mode or "r")
    if is_written:
        _note("written", name)
        _note("changed", os.path.dirname(name))
    elif name not in FACTS.files and counts(name) and not _is_bytecode(name):
        _note("files", name)


def _listed(path: Any = None) -> None:
    caller = sys._getframe(2).f_code.co_filename  # behind `_hear`
    if "importlib" in caller or isinstance(path, int):
        return
    name = os.path.realpath(os.fsdecode(path or "."))
    if counts(os.path.join(name, "a")):
        _note("files", name + os.sep)


def _started(program: Any, words: Any = None, where: Any = None, *_: Any) -> None:
    if isinstance(words, str):
        words = shlex.split(words)
    for word in words if isinstance(words, list | tuple) else []:
        if isinstance(word, str | bytes | os.PathLike) and len(os.fspath(word)) < 4096:
            name = os.path.realpath(os.path.join(os.fsdecode(where or "."), os.fsdecode(word)))
            if os.path.isfile(name):
                _opened(name)


def _made(path: Any) -> None:
    name = os.path.realpath(os.fsdecode(path))
    _note("written", name)
    _note("changed", os.path.dirname(name))


def _is_bytecode(name: str) -> bool:
    return name.endswith(".pyc") and os.path.exists(name.removesuffix("c"))


_EVENTS: dict[str, Callable[..., None]] = {
    "open": _opened,
    "cpython.run_file": _opened,
    "import": lambda name, path, *_: _opened(path),  # of a compiled module; else None
    "os.listdir": _listed,
    "os.scandir": _listed,
    "os.mkdir": lambda path, *_: _made(path),
    "os.rename": lambda source, path, *_: _made(path),
    "subprocess.Popen": _started,
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
            is_in_order = bool(_copy) and _copy[0] == name
            if not is_in_order:
                note_reads()
            _read(name, value)
            if not is_in_order:
                note_reads()
            elif not _copy[1:]:
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


def _read(name: str, value: str | None) -> None:
    is_of_machine = name in _OF_MACHINE or str(name).startswith(_OF_MACHINE_TOO)
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
    if name in table and kind != "modules":
        return
    table[name] = about[0] if about else None
    if _told is not None:
        if kind == "variables":  # no value is written
            about = (salted(name, about[0]),)
        _told.write(json.dumps([kind, name, *about]) + "\n")
        _told.flush()


def salted(name: str, value: str | None) -> str | None:
    """Return a digest of a variable's value, which does not tell the value."""
    salt = _options["folder"]
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
