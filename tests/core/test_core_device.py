"""The best device there is, found without importing torch where there is plainly none."""

import ctypes
import sys
from importlib import metadata

import pytest

from repro.core.device import resolve_device


@pytest.fixture
def machine(monkeypatch):
    """A machine without torch to ask, of a build of torch and with or without a driver."""

    def of(*, build, platform="linux", driver=False):
        def load(name):
            assert name == "libcuda.so.1"
            if not driver:
                raise OSError(f"{name}: cannot open shared object file")

        monkeypatch.setattr(metadata, "version", lambda package: f"2.13.0{build}")
        monkeypatch.setattr(sys, "platform", platform)
        monkeypatch.setattr(ctypes, "CDLL", load)
        monkeypatch.setitem(sys.modules, "torch", None)
        resolve_device.cache_clear()

    yield of
    resolve_device.cache_clear()


def test_where_there_is_plainly_none_torch_is_not_imported(machine):
    for build in ("+cpu", "+cu130", ""):
        machine(build=build)
        assert resolve_device("auto") == "cpu", build


def test_where_there_may_be_one_torch_is_asked(machine):
    for known in (
        {"build": "", "driver": True},
        {"build": "+cu130", "driver": True},
        {"build": "+rocm6.4"},
        {"build": "", "platform": "darwin"},
    ):
        machine(**known)
        with pytest.raises(ImportError):
            print(known, "does not ask torch, which says", resolve_device("auto"))
