"""The import that Ctrl-C does not end in the middle."""

import signal
import sys
from threading import Thread

import pytest

from repro.imports import import_whole

INTERRUPTED = """
import signal
signal.raise_signal(signal.SIGINT)
{then}
is_whole = True
"""


@pytest.fixture
def interrupted(tmp_path, monkeypatch):
    """Return the maker of a module in whose import Ctrl-C comes."""

    def make(name, then=""):
        (tmp_path / f"{name}.py").write_text(INTERRUPTED.format(then=then))
        return name

    monkeypatch.syspath_prepend(tmp_path)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield make
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_is_raised_once_the_module_is_there(interrupted):
    name = interrupted("interrupted_whole")
    with pytest.raises(KeyboardInterrupt):
        import_whole(name)
    assert sys.modules[name].is_whole
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_is_raised_where_the_import_fails_too(interrupted):
    with pytest.raises(KeyboardInterrupt) as raised:
        import_whole(interrupted("interrupted_broken", then="import no_such_module"))
    assert isinstance(raised.value.__context__, ModuleNotFoundError)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_whoever_ignores_ctrl_c_goes_on_ignoring_it(interrupted):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    name = interrupted("interrupted_ignored")
    import_whole(name)
    assert sys.modules[name].is_whole
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_a_thread_that_hears_no_signals_imports_as_ever(tmp_path, monkeypatch):
    (tmp_path / "imported_apart.py").write_text("is_whole = True\n")
    monkeypatch.syspath_prepend(tmp_path)
    thread = Thread(target=import_whole, args=("imported_apart",))
    thread.start()
    thread.join()
    assert sys.modules["imported_apart"].is_whole
