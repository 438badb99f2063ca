"""The keys of the project's own studies: kept by harmless edits, changed by every planted fault."""

import sys
from importlib import import_module
from pathlib import Path

import pytest

from repro.code import Modules, digest, reached
from repro.code.source import parse
from repro.runs.identity import roots

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

from teeth import FAULTS, faults_of  # noqa: E402

ARMS = {
    "context_vector": ["arms.ContextArm"],
    "depth_ladder": ["arms.LadderArm"],
    "early_exit": ["arms.ExitArm"],
    "finetuning": ["arms.FinetuneArm", "arms.PretrainArm", "baselines.BaselineArm"],
    "parameter_sharing": ["arms.SharingArm"],
    "own": ["spirals.Spirals"],
}
HARMLESS = [
    ("repro/marks.py", '"""Mark a test as the claim of a source.', '"""Make a claim of a test.'),
    ("repro/core/train.py", "is larger than an epoch of", "does not fit into an epoch of"),
    ("repro/studies/early_exit/arms.py", "\nONE_LAYER", "\nPRESET = ExitArm()\nONE_LAYER"),
]
"""Edits of one place each: a path, what stands there, and what replaces it."""


@pytest.fixture(scope="module")
def modules():
    sys.path.insert(0, str(ROOT / "examples" / "own_module"))
    yield Modules({"spirals"})
    sys.path.pop(0)


@pytest.fixture(scope="module")
def before(modules):
    return {kind: definitions(kind, modules) for folder in ARMS for kind in types_of(folder)}


def types_of(folder):
    package = "" if folder == "own" else f"repro.studies.{folder}."
    places = [name.split(".") for name in ARMS[folder]]
    return [getattr(import_module(package + module), kind) for module, kind in places]


def definitions(kind, modules):
    return reached(roots(frozenset({kind})), modules)


def changed_by(path, old, new, before, modules):
    text = (ROOT / path).read_text()
    assert old in text
    package, _, name = path.removesuffix(".py").replace("/", ".").rpartition(".")
    after = Modules(modules.packages)
    after.update(modules)
    after[f"{package}.{name}"] = parse(text.replace(old, new, 1), package)
    folder = path.split("/")[-2]
    kinds = types_of(folder) if folder in ARMS else before
    return [x for x in kinds if digest(definitions(x, after)) != digest(before[x])]


def test_faults_can_be_planted():
    for fault in FAULTS:
        fault.planted((ROOT / fault.path).read_text())  # says it where it cannot


@pytest.mark.thorough
def test_every_fault_in_code_that_trains_changes_a_key(before, modules):
    for fault in faults_of("training"):
        changed = changed_by(fault.path, fault.old, fault.new, before, modules)
        assert changed, fault.name


@pytest.mark.thorough
def test_a_harmless_edit_keeps_every_key_and_a_label_is_part_of_none(before, modules):
    assert [edit for edit in HARMLESS if changed_by(*edit, before, modules)] == []
    names = [name for reach in before.values() for name in reach]
    assert not [name for name in names if name.endswith((".label", ".located"))]
