"""The examples in the docstrings of `repro.data` are right."""

import doctest
import importlib
import pkgutil
import zipfile

import pytest

import repro.__main__
import repro.data

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(repro.data.__path__, "repro.data.")
    if not module.name.endswith("__main__")
)


@pytest.mark.parametrize("name", [*MODULES, "repro.__main__"])
def test_the_documented_examples_run(name, data):
    (data / "five.txt").write_text("words")
    with zipfile.ZipFile(data / "set.zip", "w") as archive:
        archive.writestr("in/a/folder/five.txt", "words")
    module = importlib.import_module(name)
    options = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
    failed, _ = doctest.testmod(module, extraglobs={"folder": data}, optionflags=options)
    assert failed == 0
