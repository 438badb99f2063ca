"""Tables in a folder of their own, and the commands on them."""

import json

import numpy as np
import pytest

from repro.__main__ import main

MEANS = {"new": (3.2716, 10), "old": (3.28, 12), "2024-10-10_Muon": (3.28, 8)}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def lines():
    """The lines of a table: arms of several runs, their losses and accuracies."""
    rng = np.random.default_rng(1)
    rows = ["method,seed,val_loss,eval/acc,host"]
    for method, (mean, runs) in MEANS.items():
        for seed in range(1, runs + 1):
            loss = mean + 0.002 * rng.standard_normal()
            rows.append(
                f"{method},{seed},{loss:.5f},{0.9 + 0.01 * rng.standard_normal():.4f},h{seed}"
            )
    return rows


@pytest.fixture
def table(folder, lines):
    (folder / "runs.csv").write_text("\n".join(lines) + "\n")
    return folder / "runs.csv"


@pytest.fixture
def call(capsys):
    """Call a command; returns its exit code, and what it wrote to both of its streams."""

    def called(*arguments):
        code = main([str(each) for each in arguments])
        out, err = capsys.readouterr()
        return code, out.strip(), " ".join(err.split())

    return called


@pytest.fixture
def runs(folder):
    """Write runs as JSON lines."""

    def write(name, values, metric="val_bpb", **more):
        lines = [json.dumps({metric: x, "seed": i} | more) for i, x in enumerate(values, 1)]
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
        return name

    return write
