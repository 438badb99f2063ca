"""The table of sets is complete; the data folder follows each platform's convention."""

import doctest
import importlib
import pkgutil
import re
import sys
import zipfile
from pathlib import Path

import pytest

import repro.data
from repro.data import locate
from repro.data.files import file_names, read_file, resolve
from repro.data.inventory import take_inventory
from repro.data.locate import DataError
from repro.data.registry import data_sets, find

WEIGHTS = {"gpt2-small", "gpt2-medium", "gpt2-large", "gpt2-xl"}


def test_every_set_is_described_whole():
    for name in data_sets():
        known = find(name)
        assert known.title
        assert known.licence
        assert known.citation
        assert "/" not in known.folder
        assert known.folder not in ("", ".", "..")
        names = [file.name for file in known.files]
        assert len(set(names)) == len(names) > 0
        for source in known.sources:
            assert source.address.startswith("https://")
            assert source.is_archive or source.address.endswith("/")
            assert set(source.names) <= set(names)
            if source.is_archive:
                assert source.unpacked > sum(known.file(name).bytes for name in source.names)
        assert {name for source in known.sources for name in source.names} == set(names)
        for file in known.files:
            assert re.fullmatch(r"[\w.-]+", file.name)
            if name not in WEIGHTS:
                assert file.bytes is not None
                assert re.fullmatch("[0-9a-f]{64}", file.sha256)


def test_the_sets_are_those_that_the_claims_need():
    texts = {"wikitext-2", "sms-spam", "lambada", "gpt2-bpe", "blimp"}
    assert data_sets().keys() == texts | {"cifar10"} | WEIGHTS
    assert {name for name, known in data_sets().items() if known.large} == WEIGHTS
    assert len(find("blimp").files) == 67


def test_an_unknown_set_is_named_with_those_there_are():
    with pytest.raises(DataError, match="no data set 'wikitext'; choose from wikitext-2, "):
        find("wikitext")


@pytest.mark.real_data
def test_the_real_sets_are_complete():
    for name in sorted(data_sets().keys() - WEIGHTS):
        inventory = take_inventory(name)
        assert inventory.state == "complete", name
        assert inventory.bytes == sum(file.bytes for file in inventory.known.files)


CACHES = [
    ("linux", None, ".cache/repro/data"),
    ("linux", "XDG_CACHE_HOME", "named/repro/data"),
    ("darwin", None, "Library/Caches/repro/data"),
    ("win32", None, "AppData/Local/repro/data"),
    ("win32", "LOCALAPPDATA", "named/repro/data"),
]


def test_without_a_named_folder_the_cache_of_the_platform_is_used(tmp_path, monkeypatch):
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    found = []
    for platform, variable, _ in CACHES:
        for name in ("REPRO_DATA", "XDG_CACHE_HOME", "LOCALAPPDATA"):
            monkeypatch.delenv(name, raising=False)
        if variable:
            monkeypatch.setenv(variable, str(tmp_path / "named"))
        monkeypatch.setattr(sys, "platform", platform)
        found.append(locate.data_folder())
    assert found == [tmp_path / expected for *_, expected in CACHES]


def test_the_real_set_is_used_where_its_folder_is_and_else_the_twin_by_name(data):
    assert resolve("sms-spam") == "sms-spam-twin"
    assert resolve("sms-spam-twin") == "sms-spam-twin"
    (data / "sms-spam").mkdir()
    assert resolve("sms-spam") == "sms-spam"
    with pytest.raises(DataError, match="run `python -m repro data fetch sms-spam`"):
        read_file("sms-spam", "SMSSpamCollection")


def test_a_set_without_a_twin_says_how_to_get_it(data):
    with pytest.raises(DataError, match="no twin; run `python -m repro data fetch gpt2-xl`"):
        resolve("gpt2-xl")


def test_a_twin_has_the_files_of_what_it_stands_in_for():
    for name in ("wikitext-2", "sms-spam", "lambada", "gpt2-bpe"):
        assert file_names(f"{name}-twin") == file_names(name)


MODULES = [each.name for each in pkgutil.walk_packages(repro.data.__path__, "repro.data.")]


@pytest.mark.thorough
def test_the_documented_examples_run(data):
    (data / "five.txt").write_text("words")
    with zipfile.ZipFile(data / "set.zip", "w") as archive:
        archive.writestr("in/a/folder/five.txt", "words")
    options = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
    failed = []
    for name in [*(name for name in MODULES if ".twins" not in name), "repro.__main__"]:
        module = importlib.import_module(name)
        failures, _ = doctest.testmod(module, extraglobs={"folder": data}, optionflags=options)
        failed += [name] * failures
    assert failed == []
