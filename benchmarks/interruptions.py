"""Claims killed at random moments and started again: the promise of docs/reliability.md.

    python benchmarks/interruptions.py            # the ladder's claims, killed twenty times
    python benchmarks/interruptions.py --quick    # few of them, killed three times

Kills the controller or a trainer of `pytest claims/test_depth_ladder.py -n 4` with SIGKILL, starts
it again wherever nothing is left running, and lets it end. Then two such commands
share one more store. Prints what was stored each time, and fails unless all three stores hold the
same bytes, no stored result was ever touched again, and no run was trained twice.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
COUNTS = re.compile(r"(\d+) distinct runs? needed: (\d+) trained now")
CLAIMS = ["claims/test_depth_ladder.py", "-n", "4", "-p", "no:cacheprovider"]
FEW = ["-k", "test_bp_climbs and d256", "--seed-budget", "3"]


def start(store: Path, few: list[str]) -> subprocess.Popen[str]:
    """Judge the claims on a store; what they print is written beside it."""
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", *CLAIMS, *few, "--store", str(store)],
        cwd=ROOT,
        stdout=store.with_suffix(".log").open("a"),
        stderr=subprocess.STDOUT,
        text=True,
    )


def counts(log: Path) -> list[tuple[int, int]]:
    """Runs needed and runs trained, of each session that came to its end."""
    return [(int(a), int(b)) for a, b in COUNTS.findall(log.read_text())]


def stored(store: Path) -> dict[str, tuple[bytes, int]]:
    """Each stored result: its bytes, and the moment it was written."""
    paths = {path.parents[1].name: path for path in (store / "runs").glob("*/*/*/result.json")}
    return {run: (path.read_bytes(), path.stat().st_mtime_ns) for run, path in paths.items()}


def workers(session: subprocess.Popen[str]) -> list[int]:
    found = subprocess.run(
        ["pgrep", "-P", str(session.pid)], capture_output=True, text=True, check=False
    )
    return [int(pid) for pid in found.stdout.split()]


def kill_one(session: subprocess.Popen[str], choice: random.Random) -> str:
    victims = [session.pid, *workers(session)]
    victim = choice.choice(victims)
    os.kill(victim, signal.SIGKILL)
    if victim == session.pid:
        session.wait()
    return "controller" if victim == session.pid else "trainer"


def disturbed(store: Path, few: list[str]) -> None:
    choice, longest, kills = random.Random(1), *((5.0, 3) if few else (20.0, 20))
    session = start(store, few)
    known = stored(store)
    for number in range(1, kills + 1):
        time.sleep(choice.uniform(1.0, longest))
        if session.poll() is not None:
            session = start(store, few)
            time.sleep(choice.uniform(1.0, longest))
        what = kill_one(session, choice)
        found = stored(store)
        assert known.items() <= found.items(), "a stored result was lost or written again"
        known = found
        print(f"kill {number:2}: {what:10} {len(found)} runs stored", flush=True)
    session.wait()
    start(store, few).wait()
    assert known.items() <= stored(store).items(), "a stored result was lost or written again"


def values(store: Path) -> dict[str, bytes]:
    return {key: content for key, (content, _) in stored(store).items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few claims, killed three times")
    few = FEW if parser.parse_args().quick else []
    with tempfile.TemporaryDirectory(prefix="repro-interruptions-") as folder:
        calm, killed, shared = (Path(folder) / name for name in ("calm", "killed", "shared"))
        start(calm, few).wait()
        print(f"undisturbed: {counts(calm.with_suffix('.log'))} (needed, trained)", flush=True)
        disturbed(killed, few)
        print(f"killed: ends with {counts(killed.with_suffix('.log'))[-1]} (needed, trained)")
        pair = [start(shared, few), start(shared, few)]
        for session in pair:
            session.wait()
        both = counts(shared.with_suffix(".log"))
        print(f"two at once: {both} (needed, trained)")
        assert values(killed) == values(calm), "the killed sessions' results differ"
        assert values(shared) == values(calm), "the two sessions' results differ"
        assert sum(trained for _, trained in both) == len(values(calm)), "a run was trained twice"
        print(f"{len(values(calm))} results, byte for byte the same in all three stores")


if __name__ == "__main__":
    main()
