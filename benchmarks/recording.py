"""What recording costs: a cheap claim of each source, with and without a record, in turns.

    python benchmarks/recording.py                   # five sources and the tutorial's perceptron
    python benchmarks/recording.py --only perceptron # where torch is not installed
    python benchmarks/recording.py --rounds 3

Each session trains and judges one claim on an empty store. Its CPU seconds are those of all of its
processes. The one without a record has a plugin that takes it out of the trainers. The table has
the least of the rounds, since other work only adds to them, and as noise the second of the rounds
over the least.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
CLAIMS = {
    "000 early exit": ("test_early_exit.py", "test_one_layer_is_nearly_as_good and wikitext"),
    "001 context vector": ("test_context_vector.py", "test_depth_alone"),
    "002 sharing": ("test_parameter_sharing.py", "test_baseline_encoder_does_not_collapse"),
    "003 cost": ("test_finetuning.py", "test_cost_of_row and 2"),
    "003 finetuning": ("test_finetuning.py", "test_training_is_above_test and 8"),
    "004 ladder": ("test_depth_ladder.py", "test_bp_gain and d256"),
}
PERCEPTRON = "perceptron"
UNRECORDED = """
from repro.backends import trainer_process

START = trainer_process.START
begins = START.index(" start(")
trainer_process.START = (
    START[:begins] + " from repro.code.trace import TRACER;"
    " TRACER.trace = lambda **_: {'missing': ['no_such']}" + START[START.index(";", begins):]
)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="*", help="names of lines (default: all)")
    chosen = parser.parse_args()
    if chosen.rounds < 2:
        parser.error("the noise is the second round over the least: give --rounds 2 or more")
    print(f"{'':20}{'recorded':>10}{'without':>10}{'ratio':>8}{'noise':>14}")
    with tempfile.TemporaryDirectory(prefix="repro-recording-") as name:
        folder = Path(name)
        (folder / "unrecorded.py").write_text(UNRECORDED)
        write_tutorial(folder / "tutorial")
        for line in chosen.only or [*CLAIMS, PERCEPTRON]:
            compare(line, folder, chosen.rounds)


def compare(line: str, folder: Path, rounds: int) -> None:
    """Print a line: the CPU seconds of a claim with and without a record."""
    if line == PERCEPTRON:
        where, options = folder / "tutorial", ["test_perceptron.py"]
    else:
        file, claim = CLAIMS[line]
        where, options = ROOT, [f"claims/{file}", "-k", claim]
    found: dict[bool, list[float]] = {True: [], False: []}
    for number in range(rounds):
        for is_recorded in (number % 2 == 0, number % 2 == 1):
            found[is_recorded].append(seconds(where, options, folder, is_recorded))
    (least, second, *_), (usual, other, *_) = sorted(found[True]), sorted(found[False])
    noise = f"{second / least:.3f}, {other / usual:.3f}"
    print(f"{line:20}{least:10.2f}{usual:10.2f}{least / usual:8.3f}{noise:>14}", flush=True)


def seconds(where: Path, options: list[str], folder: Path, is_recorded: bool) -> float:
    """Return the CPU seconds of a session on an empty store, with its trainers."""
    places = os.pathsep.join([str(folder), str(ROOT)])
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": places}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # as it is for users
    with tempfile.TemporaryDirectory(dir=folder) as store, open(folder / "log", "w+") as log:
        more = ["-q", "-n", "1", "-p", "no:cacheprovider", "--seed-budget", "5", "--store", store]
        more += [] if is_recorded else ["-p", "unrecorded"]
        command = [sys.executable, "-m", "pytest", *options, *more]
        process = subprocess.Popen(command, cwd=where, env=environment, stdout=log, stderr=log)
        _, status, usage = os.wait4(process.pid, 0)
        log.seek(0)
        said = log.read()
        if status not in (0, 256) or not re.search(
            r"\b[1-9]\d* trained now, the rest stored", said
        ):
            raise SystemExit(f"{' '.join(command)} failed:\n{said[-2000:]}")
    return usage.ru_utime + usage.ru_stime


def write_tutorial(folder: Path) -> None:
    """Write the files of the tutorial, whose first line says their names."""
    folder.mkdir()
    text = (ROOT / "docs/tutorial.md").read_text()
    for name, content in re.findall(r"```\w+\n# (\S+\.(?:py|toml))\n(.*?)```", text, re.DOTALL):
        (folder / name).write_text(content)


if __name__ == "__main__":
    main()
