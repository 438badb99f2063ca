"""The time that claims on a file of results take: 1,000 claims on 100,000 rows.

    python benchmarks/recorded.py                # a minute
    python benchmarks/recorded.py --claims 100   # with 100 rows a claim: some seconds

A file of made-up results is written, with 50 seeds of two arms for each claim. pytest judges them
into a file, with and without a report. Imports are compiled before; the seconds are those of the
processor and of the clock, from the command to its end.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SEEDS = 50
CLAIMS = """
import pytest

from repro import claim
from repro.arm import Metric
from repro.recorded import recorded

SHARE = {{"accuracy": Metric("log-odds", examples=10_000)}}
RESULTS = recorded("results.csv", arm=["method", "number"], seed="seed", metrics=SHARE)


@claim("The better one is better", source="made up, everywhere")
@pytest.mark.parametrize("number", range({claims}))
def test_better(trials, number):
    arms = (RESULTS(method=method, number=number) for method in ("better", "usual"))
    better, usual = trials(*arms)
    assert better.accuracy > usual.accuracy
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--claims", type=int, default=1000)
    claims = parser.parse_args().claims
    with tempfile.TemporaryDirectory(prefix="repro-recorded-") as name:
        folder = Path(name)
        (folder / "pytest.ini").write_text("[pytest]\n")
        (folder / "test_results.py").write_text(CLAIMS.format(claims=claims))
        write(folder / "results.csv", 2)
        judge(folder, "-k", "better[0]")  # compiles what is imported
        write(folder / "results.csv", claims)
        print(f"{claims:,} claims on {2 * SEEDS * claims:,} rows")
        for what, options in (("judge", []), ("judge and report", ["--report", "report"])):
            processor, clock = judge(folder, *options)
            print(f"{what:<18}{processor:6.1f} s of the processor, {clock:6.1f} s", flush=True)


def write(path: Path, claims: int) -> None:
    rng = random.Random(1)
    with path.open("w") as file:
        file.write("method,number,seed,accuracy\n")
        for number in range(claims):
            for method, mean in (("better", 0.92), ("usual", 0.9)):
                for seed in range(1, SEEDS + 1):
                    file.write(f"{method},{number},{seed},{rng.gauss(mean, 0.02):.5f}\n")


def judge(folder: Path, *options: str) -> tuple[float, float]:
    """Return the seconds of the processor and of the clock that a session takes."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options]
    kept = {name: x for name, x in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    given = {"OMP_NUM_THREADS": "1", "PYTHONPYCACHEPREFIX": str(folder / "compiled")}
    began, log = time.perf_counter(), folder / "log"
    with log.open("w") as out:
        process = subprocess.Popen(command, cwd=folder, env=kept | given, stdout=out, stderr=out)
        _, _, usage = os.wait4(process.pid, 0)
    if "judged as recorded" not in log.read_text():
        raise SystemExit(f"{' '.join(command)} failed:\n{log.read_text()[-2000:]}")
    return usage.ru_utime + usage.ru_stime, time.perf_counter() - began


if __name__ == "__main__":
    main()
