"""An agent that edits `train.py` thirty times, and keeps or discards each edit by exit codes alone.

    python loop.py            # half a minute

It works on a copy in the folder `work`. An edit is run with a new seed, then `decide` is asked, and
so on until it answers 0 (keep) or 1 (discard). A run that crashes or hangs is no answer, as is a
value that is not finite: 3. The list of edits says what each of them is, which the loop does not
look at.
"""

import itertools
import shutil
import subprocess
import sys
from pathlib import Path

HERE, WORK = Path(__file__).parent, Path("work")
KEEP, DISCARD, RUN_MORE, NO_ANSWER = 0, 1, 2, 3
BASELINE = 12

SEED, CRASHES, HANGS = "random.Random(seed)", "exit(1)", "[None for _ in iter(int, 1)]"
EDITS = [
    ("no-op", "by stochastic gradient descent", "by SGD"),
    ("worse rate", "RATE = 0.002", "RATE = 0.0002"),
    ("lucky seed", SEED, "random.Random(123)"),
    ("no-op", "error = dot(weights, x) - y", "error = -y + dot(weights, x)"),
    ("crash", SEED, CRASHES),
    ("better rate", "RATE = 0.002", "RATE = 0.01"),
    ("hang", SEED, HANGS),
    ("no-op", "STEPS = 400", "STEPS = 402"),
    ("lucky seed", SEED, "random.Random(57)"),
    ("worse start", "[0.0] * INPUTS", "[3.0] * INPUTS"),
    ("no-op", "weight - RATE", "weight - 1.0 * RATE"),
    ("fewer steps", "STEPS = 400", "STEPS = 40"),
    ("crash", "import random", "import randomness"),
    ("no-op", "RATE * error * each", "error * each * RATE"),
    ("lucky seed", SEED, "random.Random(51)"),
    ("hang", "for _ in range(STEPS)", "while True"),
    ("no-op", "POINTS = 100", "POINTS = 101"),
    ("worse rate", "RATE = 0.01", "RATE = 0.0004"),
    ("no-op", "(a - b) ** 2", "(b - a) ** 2"),
    ("crash", "return math.log(", "return math.log(0 * "),
    ("no-op", "x, y = draw.choice(points)", "(x, y) = draw.choice(points)"),
    ("better data", "POINTS = 100", "POINTS = 1600"),
    ("no-op", "draw = random", "draw = stream = random"),
    ("diverges", "RATE = 0.01", "RATE = 50.0"),
    ("no-op", "STEPS = 400", "STEPS = 398"),
    ("lucky seed", SEED, "random.Random(255)"),
    ("worse noise", "+ draw.gauss(0, 1))", "+ draw.gauss(0, 3))"),
    ("no-op", "INPUTS = 20", "INPUTS = 2 * 10"),
    ("crash", "if __name__", "if undefined"),
    ("no-op", "truth, weights = normal(INPUTS)", "truth, weights = list(normal(INPUTS))"),
]


def run(seed, into):
    """Train once; return whether it wrote a row, and did not crash or hang."""
    try:
        done = subprocess.run(
            [sys.executable, "train.py", str(seed)], cwd=WORK, capture_output=True, timeout=3
        )
    except subprocess.TimeoutExpired:
        return False
    if done.returncode == 0:
        with (WORK / into).open("ab") as file:
            file.write(done.stdout)
    return done.returncode == 0


def decide():
    """Return the exit code of the command, which is all that the loop knows."""
    command = ["-m", "repro", "decide", "baseline.jsonl", "candidate.jsonl", "--lower", "loss"]
    return subprocess.run([sys.executable, *command], cwd=WORK, capture_output=True).returncode


def main():
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir()
    shutil.copy(HERE / "train.py", WORK)
    seeds = itertools.count(100)
    for _ in range(BASELINE):
        run(next(seeds), "baseline.jsonl")
    for name, old, new in EDITS:
        before = (WORK / "train.py").read_text()
        (WORK / "train.py").write_text(before.replace(old, new))
        (WORK / "candidate.jsonl").write_text("")
        code, runs = RUN_MORE, 0
        while code == RUN_MORE:
            code = decide() if run(next(seeds), "candidate.jsonl") else NO_ANSWER
            runs += 1
        if code == KEEP:
            for _ in range(BASELINE):  # the runs that it was kept by look better than it is
                run(next(seeds), "kept.jsonl")
            (WORK / "kept.jsonl").rename(WORK / "baseline.jsonl")
        else:
            (WORK / "train.py").write_text(before)
        said = {KEEP: "kept", DISCARD: "discarded"}.get(code, f"reverted, no answer ({code})")
        print(f"{name:<14}{said} after {runs} runs", flush=True)


if __name__ == "__main__":
    main()
