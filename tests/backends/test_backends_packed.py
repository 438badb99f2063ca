"""Batches in another process: their classes are those of the files that they were defined in."""

import importlib.util
import os
import pickle
import subprocess
import sys
from dataclasses import InitVar, dataclass
from functools import cached_property
from types import ModuleType

import pytest

from repro.arm import Run
from repro.backends.packed import Unsendable, packed, unpacked
from repro.backends.trainer import made_again
from repro.runs.pool import Batch
from tests.backends.behaving import Behaving

DEFINES = """
from dataclasses import dataclass
from typing import ClassVar
{more}
from tests.backends.behaving import STUDY, Behaving

@dataclass(frozen=True, kw_only=True)
class Inner:
    place: str = {place!r}

@dataclass(frozen=True, kw_only=True)
class Mine(Behaving):
    study: ClassVar[str] = __name__
    inner: Inner = Inner()
"""

READS = """
import pickle, sys
from repro.backends.packed import unpacked
from repro.studies import study_of
for content in pickle.load(sys.stdin.buffer):
    arm = unpacked(content).arm
    study = sys.modules[arm.study]
    assert study_of(arm) is study.STUDY and type(arm) is study.Mine, arm
    print(arm.inner.place, study.__name__)
"""


@pytest.fixture
def loaded(tmp_path, monkeypatch):
    """Load a new file under a name, as pytest does; return what it defines."""

    def load(name, path, more=""):
        file = tmp_path / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(DEFINES.format(more=more, place=path))
        if parent := name.rpartition(".")[0]:
            monkeypatch.setitem(sys.modules, parent, ModuleType(parent))
            sys.modules[parent].__path__ = [str(file.parent)]
        spec = importlib.util.spec_from_file_location(name, file)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
        return module

    return load


def one(arm):
    return Batch(1, {Run(arm, 0): {"seed": 0}}, "loop")


@pytest.mark.thorough
def test_a_class_is_found_by_its_file_whatever_is_called_alike(loaded, tmp_path):
    first = loaded("conftest", "first/conftest.py")
    second = loaded("conftest", "second/conftest.py")  # has the name from now on
    (tmp_path / "claims").mkdir()
    (tmp_path / "claims" / "beside.py").write_text("")
    test = loaded("claims.test_mine", "claims/test_mine.py", more="from . import beside")
    arms = [first.Mine(), second.Mine(), first.Mine(at=1), test.Mine()]
    content = pickle.dumps([packed(one(arm)) for arm in arms])
    command = [sys.executable, "-c", READS]
    done = subprocess.run(command, input=content, stdout=subprocess.PIPE, check=True, cwd="/")
    assert done.stdout.decode().splitlines() == [
        "first/conftest.py conftest",
        "second/conftest.py conftest",
        "first/conftest.py conftest",
        "claims/test_mine.py claims.test_mine",
    ]


def test_what_another_process_could_not_read_is_refused_in_a_sentence(loaded):
    class Local(Behaving):
        pass

    mine = loaded("mine", "mine.py")
    nowhere = type("Nowhere", (Behaving,), {"__module__": "mine"})
    mine.__file__ = None
    for arm, why in (
        (Local(), "Local is defined in a function"),
        (Behaving(does=lambda: 1), "cannot be sent to a trainer process .*lambda"),
        (nowhere(), "Nowhere is defined in no file"),
    ):
        with pytest.raises(Unsendable, match=f"{why}.*use -s to"):
            packed(one(arm))


def test_a_batch_comes_back_as_it_was(loaded):
    sent = one(loaded("mine", "mine.py").Mine())
    again = unpacked(packed(sent))
    assert (again.number, list(again.runs.values()), again.engine) == (1, [{"seed": 0}], "loop")
    assert repr(again.runs) == repr(sent.runs)


@dataclass(frozen=True, kw_only=True)
class Grown(Behaving):
    def __post_init__(self) -> None:
        object.__setattr__(self, "made_in", os.getpid())

    @cached_property
    def wide(self) -> int:
        return 3


@dataclass(frozen=True, kw_only=True)
class Seeded(Behaving):
    more: InitVar[int] = 1

    def __post_init__(self, more: int) -> None:
        object.__setattr__(self, "seen", more)


def test_an_arm_is_made_again_where_it_is_trained():
    sent = Grown()
    object.__setattr__(sent, "made_in", 0)
    assert sent.wide == 3
    made = made_again(sent)
    assert made == sent
    assert vars(made)["made_in"] == os.getpid()
    assert "wide" not in vars(made)
    assert vars(made_again(Seeded(more=5)))["seen"] == 5  # which is no setting
