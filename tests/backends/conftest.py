"""What the tests of backends share: keys without code, and slots that no other session has."""

import pytest


@pytest.fixture(autouse=True)
def _without_code(request, monkeypatch):
    on_cluster = any(map(request.node.get_closest_marker, ("cluster", "slurm")))
    if not on_cluster:  # a node finds the code by itself
        monkeypatch.setattr("repro.runs.identity._code", lambda types: "code")


@pytest.fixture
def _slots_of_this_test(tmp_path, monkeypatch):
    """Sessions are called alike in these tests, which others on this machine run too."""
    (tmp_path / "runtime").mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "runtime"))
