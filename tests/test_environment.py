"""`make` on a fresh machine: what stands in its way is said in one sentence."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

PYTHON = """#!/bin/sh
case "$1 $2" in
  "-c import sys"*) exit {too_old} ;;
  "-c import platform"*) echo 3.9.2 ;;
  "-c import urllib"*) exit 1 ;;
  "-m venv") mkdir -p "$3/bin" && cp "$0" "$3/bin/python" && touch "$3/bin/pytest" ;;
  "-m pip") echo "ERROR: {pip_says}"; exit {pip_fails} ;;
esac
"""


@pytest.fixture
def make(tmp_path):
    """`make environment` in a copy, with a Python and a disk that are as told."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    tools = tmp_path / "tools"
    tools.mkdir()

    def run(*, too_old=0, pip_says="", pip_fails=0, free=9_999_999):
        text = PYTHON.format(too_old=too_old, pip_says=pip_says, pip_fails=pip_fails)
        df = f"#!/bin/sh\necho Filesystem\necho disk 1 1 {free} 1% /\n"
        for name, script in (("python3", text), ("df", df)):
            (tools / name).write_text(script)
            (tools / name).chmod(0o755)
        path = f"{tools}:{os.environ['PATH']}"
        return subprocess.run(  # of a make that runs these tests nothing may be left, such as ENV
            ["make", "environment"],
            cwd=tmp_path,
            env={"PATH": path},
            capture_output=True,
            text=True,
        )

    return run


def test_it_is_set_up_once(make):
    assert "setting up .venv" in make().stdout
    again = make(pip_says="nobody asked", pip_fails=1)
    assert again.returncode == 0
    assert "setting up" not in again.stdout


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"too_old": 1}, "repro needs Python 3.11 or newer, and python3 is 3.9.2"),
        ({"free": 2000}, "Only 1 MB are free here"),
        ({"pip_fails": 1, "pip_says": "[Errno 28] No space left on device"}, "The disk is full"),
        ({"pip_fails": 1, "pip_says": "NewConnectionError: failed"}, "index could not be reached"),
        ({"pip_fails": 1, "pip_says": "No matching distribution"}, "index could not be reached"),
        ({"pip_fails": 1, "pip_says": "it broke"}, "Installing failed: ERROR: it broke"),
    ],
)
def test_what_stands_in_its_way_is_one_sentence(make, wrong, sentence):
    for _ in range(2):  # a setup that failed is not taken for one that is there
        result = make(**wrong)
        assert result.returncode != 0
        said = [line for line in result.stderr.splitlines() if not line.startswith("make")]
        assert len(said) == 1
        assert sentence in said[0]
    assert make().returncode == 0
