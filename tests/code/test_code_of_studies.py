"""The keys of the project's own studies: kept by harmless edits, changed by every planted fault."""

import sys
from importlib import import_module
from pathlib import Path

import pytest

from repro.code import Modules, digest, reached
from repro.runs.identity import roots
from repro.studies.early_exit.arms import ExitArm

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

from faults import FAULTS, faults_of  # noqa: E402

ARMS = {
    "context_vector": ["ContextArm"],
    "depth_ladder": ["LadderArm"],
    "early_exit": ["ExitArm"],
    "finetuning": ["FinetuneArm", "PretrainArm", "BaselineArm"],
    "parameter_sharing": ["SharingArm", "TeacherArm"],
    "own": ["Spirals"],
}
HARMLESS = [
    ("repro/marks.py", '"""Mark a test as the claim of a source.', '"""Make a claim of a test.'),
    ("repro/marks.py", "only_at=only_at", "only_at=only_at, more=1"),
    ("repro/core/train.py", "is larger than an epoch of", "does not fit into an epoch of"),
    ("repro/own/timing.py", "rounds: int = 20", "rounds: int = 30"),
    ("repro/studies/early_exit/arms.py", "\nONE_LAYER", "\nPRESET = ExitArm()\nONE_LAYER"),
    ("repro/studies/early_exit/model.py", "from __future__", "# a comment\nfrom __future__"),
]
"""Edits of one place each: a path, what stands there, and what replaces it."""


NOT_TRAINED = {"a generated token forgets those that left early"}
"""Faults in what no run computes; the tests of the study hold them."""


@pytest.fixture(scope="module", autouse=True)
def _examples():
    sys.path.insert(0, str(ROOT / "examples" / "own_module"))
    yield
    sys.path.pop(0)


@pytest.fixture(scope="module")
def modules():
    return Modules({"spirals"})


def types_of(folder):
    module = import_module("spirals" if folder == "own" else f"repro.studies.{folder}.arms")
    return [getattr(module, name) for name in ARMS[folder]]


def code(arm_type, modules):
    return digest(reached(roots(frozenset({arm_type})), modules))


def edited(modules, path, old, new):
    text = (ROOT / path).read_text()
    assert old in text
    name = path.removesuffix(".py").replace("/", ".")
    return modules.edited(name, text.replace(old, new, 1))


@pytest.fixture(scope="module")
def before(modules):
    return {kind: code(kind, modules) for folder in ARMS for kind in types_of(folder)}


def test_faults_can_be_planted():
    for fault in FAULTS:
        fault.planted((ROOT / fault.path).read_text())  # says it where it cannot


def changes_a_key(fault, before, modules):
    *_, folder, _ = fault.path.split("/")
    after = edited(modules, fault.path, fault.old, fault.new)
    kinds = types_of(folder) if folder in ARMS else before
    return any(code(kind, after) != before[kind] for kind in kinds)


@pytest.mark.thorough
def test_every_fault_in_code_that_trains_changes_a_key(before, modules):
    kept = {f.name for f in faults_of("training") if not changes_a_key(f, before, modules)}
    assert kept == NOT_TRAINED


@pytest.mark.thorough
def test_a_harmless_edit_keeps_every_key(before, modules):
    changed = []
    for path, old, new in HARMLESS:
        after = edited(modules, path, old, new)
        changed += [(new, kind) for kind in before if code(kind, after) != before[kind]]
    assert changed == []


@pytest.mark.thorough
def test_a_label_is_no_part_of_a_key(modules):
    names = reached(roots(frozenset({ExitArm})), modules)
    assert not [name for name in names if name.endswith((".label", ".at", ".located"))]
