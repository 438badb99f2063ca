"""`make` on a fresh machine: it says what it installs, and in one sentence what is in its way."""

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
  "-c import urllib"*) exit {no_cpu_index} ;;
  "-m venv") mkdir -p "$3/bin" && cp "$0" "$3/bin/python" && touch "$3/bin/pytest" ;;
  "-m pip")
    case "$4" in
      index) echo "Available versions: 99.0, {torch}, 2.6.0" ;;
      config) echo "{pip_config}" ;;
      install) echo "$@" >>asked; echo "ERROR: {pip_says}"; exit {pip_fails} ;;
    esac ;;
esac
"""
UV = '#!/bin/sh\necho uv "$@" >>asked\necho "error: uv broke"\nexit {uv_fails}\n'
TORCH = next(
    line.removeprefix("torch==")
    for line in (ROOT / "constraints.txt").read_text().splitlines()
    if line.startswith("torch==")
)
CPU, GPU = f"{TORCH}+cpu", TORCH


@pytest.fixture
def make(tmp_path):
    """`make environment` in a copy, with a Python, a disk, an index and a uv that are as told."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    tools = tmp_path / "tools"
    tools.mkdir()

    def run(target="environment", *, free=9_999_999, uv_fails=None, system="Linux", **told):
        usual = {"too_old": 0, "pip_says": "", "pip_fails": 0, "no_cpu_index": 1}
        text = PYTHON.format(**{**usual, "torch": CPU, "pip_config": "", **told})
        scripts = {
            "python3": text,
            "df": f"#!/bin/sh\necho Filesystem\necho disk 1 1 {free} 1% /\n",
            "uname": f"#!/bin/sh\necho {system}\n",
            "no-gpu": "",
        }
        if uv_fails is not None:
            scripts["some-uv"] = UV.format(uv_fails=uv_fails)
        for name, script in scripts.items():
            (tools / name).write_text(script)
            (tools / name).chmod(0o755)
        path = f"{tools}:{os.environ['PATH']}"
        return subprocess.run(  # of a make that runs these tests nothing may be left, such as ENV
            ["make", target],
            cwd=tmp_path,
            env={"PATH": path, "UV": "some-uv"},
            capture_output=True,
            text=True,
        )

    run.asked = tmp_path / "asked"
    return run


def test_it_is_set_up_once(make):
    assert "setting up .venv" in make().stdout
    again = make(pip_says="nobody asked", pip_fails=1)
    assert again.returncode == 0
    assert "setting up" not in again.stdout


def test_each_command_installs_its_own_set(make):
    make()
    assert ".[report,train]" in make.asked.read_text()
    assert "for make test" in make(".venv/test.ready").stdout
    assert make.asked.read_text().endswith(".[test]\n")
    make("development")
    assert make.asked.read_text().endswith(".[dev]\n")
    assert make(".venv/test.ready").stdout.startswith("make")  # it is among those of the other


def test_the_set_of_development_has_the_others(make):
    make("development")
    assert "setting up" not in make().stdout + make(".venv/test.ready").stdout


@pytest.mark.skipif(shutil.which("nvidia-smi") is not None, reason="there is a GPU here")
@pytest.mark.parametrize(
    ("told", "says"),
    [
        ({"torch": CPU}, "PyTorch for CPUs and the rest, about 1250 MB"),
        ({"torch": CPU, "no_cpu_index": 0}, "PyTorch for CPUs and the rest, about 1250 MB"),
        ({"torch": GPU}, "PyTorch for NVIDIA GPUs and the rest, about 5950 MB"),
        ({"torch": GPU, "system": "Darwin"}, "PyTorch for CPUs and the rest, about 1250 MB"),
    ],
)
def test_the_build_of_torch_and_the_size_are_said_before(make, told, says):
    done = make(**told)
    assert says in done.stdout
    assert ("could not be reached, so the larger one" in done.stdout) == ("GPU" in says)
    assert ("download.pytorch.org" in make.asked.read_text()) == (told.get("no_cpu_index") == 0)


def test_uv_is_used_where_it_is(make):
    assert make(uv_fails=0).returncode == 0
    assert make.asked.read_text().startswith("uv pip install --python .venv/bin/python")
    assert len(make.asked.read_text().splitlines()) == 1


def test_where_uv_fails_pip_installs(make):
    done = make(uv_fails=1)
    assert "uv could not install it, so pip does: error: uv broke" in done.stdout
    assert make.asked.read_text().splitlines()[1].startswith("-m pip")


def test_where_pip_has_settings_of_its_own_uv_is_not_asked(make):
    assert make(uv_fails=0, pip_config="global.index-url='a mirror'").returncode == 0
    assert "uv" not in make.asked.read_text().split()


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"too_old": 1}, "repro needs Python 3.11 or newer, and python3 is 3.9.2"),
        ({"free": 2000}, "Only 1 MB are free here, and .venv needs about 12"),
        ({"free": 3_000_000, "torch": GPU, "system": "Linux"}, "with PyTorch for NVIDIA GPUs"),
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
