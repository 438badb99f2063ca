"""Packs batches as bytes for another process, with the files in which their classes are defined.

pytest, a script and a second `conftest.py` give modules names by which an import finds nothing, or
another file. So a class is packed as the name and file of its module, and its own name. The other
process loads that file under that name.
"""

from __future__ import annotations

import dataclasses
import importlib
import io
import os
import pickle
import sys
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from repro.runs.pool import Batch

MAIN = "__main__"
LOADED_MAIN = "__mp_main__"
"""The name of a loaded script, as in `multiprocessing`: its `__main__` guard is then false."""

_being_loaded: list[str] = []
_loaded: dict[tuple[str, str], ModuleType] = {}


class Unsendable(ValueError):
    """A batch cannot be sent to another process; the message says what to change."""


def packed(batch: Batch) -> bytes:
    """Return a batch as bytes; raises `Unsendable` where another process could not read it.

    >>> unpacked(packed(batch)) == batch
    True
    """
    kind, buffer = type(batch.arm), io.BytesIO()
    study = batch.arm.study
    try:
        # a study that is not imported here can be imported there in the usual way
        loaded = getattr(sys.modules.get(study), "__file__", None)
        file = _file_of(kind) if study == kind.__module__ else loaded
        _ByFile(buffer).dump((study, file, batch))
    except Unsendable:
        raise
    except Exception as error:  # settings of an arm may raise any error
        raise Unsendable(
            f"cannot be sent to a trainer process ({error}); give its arm plain data, or use -s to"
            " train in pytest's own process"
        ) from error
    return buffer.getvalue()


def unpacked(content: bytes) -> Batch:
    """Return a batch from bytes; loads the modules of its study and its classes."""
    importlib.invalidate_caches()  # files may be newer than this process
    study, file, batch = pickle.loads(content)
    if file is not None:
        load(study, file)
    assert isinstance(batch, Batch)
    return batch


def load(name: str, file: str) -> ModuleType:
    """Return the module of a file, and register it under a name."""
    if (name, file) not in _loaded:
        _being_loaded.append(file)
        try:
            _loaded[name, file] = _imported(name, file) or _executed(name, file)
        finally:
            _being_loaded.pop()
    module = sys.modules[name] = _loaded[name, file]
    return module


def require_not_loading() -> None:
    """Raise RuntimeError where this process is loading a script that trains when imported."""
    if _being_loaded:
        raise RuntimeError(
            f"{_being_loaded[0]} trains when it is imported, and a trainer process has to import"
            ' it; put the training under `if __name__ == "__main__":`'
        )


class _ByFile(pickle.Pickler):
    """Pickles data classes by the files in which they are defined."""

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, type) and dataclasses.is_dataclass(value):
            return _class_in, (value.__module__, _file_of(value), value.__qualname__)
        return NotImplemented


def _file_of(kind: type) -> str:
    """Return the file in which a class is defined; raises `Unsendable` if it is not known.

    It is found by the globals of the class's methods, since another module may now have the name.
    """
    if "<locals>" in kind.__qualname__:
        raise Unsendable(
            f"{kind.__qualname__} is defined in a function, where a trainer process cannot find it;"
            " define it at the top of its module, or use -s to train in pytest's own process"
        )
    names = getattr(kind.__init__, "__globals__", {})  # type: ignore[misc]
    if names.get("__name__") != kind.__module__:  # those of a parent
        names = vars(sys.modules[kind.__module__])
    file: str | None = names.get("__file__")
    if file is None or not Path(file).exists():
        raise Unsendable(
            f"{kind.__qualname__} is defined in no file that a trainer process could load; write it"
            " into a module, or use -s to train in pytest's own process"
        )
    return os.path.abspath(file)


def _class_in(module: str, file: str, qualname: str) -> type:
    """Return the class of this name in the module of a file."""
    found: Any = load(module, file)
    for part in qualname.split("."):
        found = getattr(found, part)
    assert isinstance(found, type)
    if found.__module__ == LOADED_MAIN:
        found.__module__ = module  # so that arms compare equal across processes
    return found


def _imported(name: str, file: str) -> ModuleType | None:
    """Import a module in the usual way, if that finds this file."""
    if name == MAIN:
        return None
    try:
        spec = find_spec(name)
    except (ModuleNotFoundError, ValueError):  # no such package, or a module without a spec
        return None
    if spec is None or spec.origin is None or not Path(spec.origin).exists():
        return None
    return importlib.import_module(name) if Path(spec.origin).samefile(file) else None


def _executed(name: str, file: str) -> ModuleType:
    """Make a module from a file, even if another module has its name."""
    name = LOADED_MAIN if name == MAIN else name
    _load_parents(name, Path(file))
    spec = spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _load_parents(name: str, file: Path) -> None:
    """Load the parent packages of a module, for its relative imports."""
    parent = name.rpartition(".")[0]
    folder = file.parents[1] if file.name == "__init__.py" else file.parent
    if not parent or str(folder) in getattr(sys.modules.get(parent), "__path__", ()):
        return
    if (folder / "__init__.py").exists():
        load(parent, str(folder / "__init__.py"))
        return
    _load_parents(parent, folder / "__init__.py")
    package = sys.modules[parent] = ModuleType(parent)
    package.__path__ = [str(folder)]
