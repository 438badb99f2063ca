"""How planning, judging, reporting and the store grow with their number: nothing is trained.

    python benchmarks/scale.py                            # 100 and 1,000 claims, 10,000 runs
    python benchmarks/scale.py --claims 0 --runs 0        # the controller and ledgers alone
    python benchmarks/scale.py --claims 500 --runs 0      # a pack, as docs/evidence.md has it
    python benchmarks/scale.py --quick                    # 20 claims, 100 runs

A project of so many claims is written, each comparing two arms over five seeds or more; then pytest
collects it, plans it with an empty store, judges it with one full of made-up results, and writes
the report, which Chromium opens and filters where it is installed (`CHROMIUM` names one that is not
on the path). The results are packed into a file, and judged from that, and as many claims from a
table of 100 rows a claim. A store of so many runs is filled, and asked for some that it has and for
some that it has not. With so many missing runs, a session hands over batches of one run to a pool
that ends each at once; the time is what the session's process takes for a batch. Ledgers of so many
entries, this project's under further names, are read and
written. `times` is what a line took, over the same line at a tenth of the number;
memory is that of the largest process.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from repro.arm import Run
from repro.code.trace import counted
from repro.code.units import parse
from repro.ledger import Ledger, entries_at, read_ledgers
from repro.own.arm import OutsideArm
from repro.runs.identity import arms_of, identity, settings_of
from repro.runs.plan import Plan
from repro.runs.pool import Batch, Ended, Event, Job, Pool, Stored
from repro.runs.profiles import PROFILES
from repro.runs.provenance import provenance
from repro.runs.results import Results, RunsMissing
from repro.runs.training import Training
from repro.store import Made, Store, run_files

STUDY = """
from dataclasses import dataclass
from typing import ClassVar

from repro.arm import Metric
from repro.own.arm import OutsideArm
from repro.own.outside import OutsideStudy


@dataclass(frozen=True, kw_only=True)
class Made(OutsideArm):
    study: ClassVar[str] = "made_up"
    metrics: ClassVar[dict[str, Metric]] = {"score": Metric("identity")}

    number: int = 0
    better: bool = False
    data: str = "none"


def train(arm, seed):
    raise RuntimeError("all results are in the store")


STUDY = OutsideStudy(train)
"""
CLAIMS = '''
"""Claims of nothing."""

import pytest
from made_up import Made

from repro import claim


@claim("The better one is better", source="made up, everywhere")
@pytest.mark.parametrize("number", range({count}))
def test_better(trials, number):
    better, usual = trials(Made(number=number, better=True), Made(number=number))
    assert better.score > usual.score
'''
RECORDED = """
import pytest

from repro import claim
from repro.arm import Metric
from repro.recorded import recorded

SHARE = {{"accuracy": Metric("log-odds", examples=10_000)}}
RESULTS = recorded("results.csv", arm=["method", "number"], seed="seed", metrics=SHARE)


@claim("The better one is better", source="made up, everywhere")
@pytest.mark.parametrize("number", range({count}))
def test_better(trials, number):
    arms = (RESULTS(method=method, number=number) for method in ("better", "usual"))
    better, usual = trials(*arms)
    assert better.accuracy > usual.accuracy
"""
ROWS = 50
"""The rows of each arm in the table."""

LOOKUPS = 2000
SEEDS = 20
"""The missing runs of each arm."""

BATCHES = 200
FILES = 20
"""The files of claims that a ledger is for."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--claims", type=int, default=1000, help="of the largest project; 0: none")
    parser.add_argument("--runs", type=int, default=10_000, help="of the largest store; 0: none")
    parser.add_argument("--quick", action="store_true", help="20 claims, 100 runs")
    options = parser.parse_args()
    claims, runs = (20, 100) if options.quick else (options.claims, options.runs)
    with tempfile.TemporaryDirectory(prefix="repro-scale-") as name:
        folder = Path(name)
        if claims:
            print(f"{'claims':>9}{'':4}{'what':<26}{'seconds':>9}{'times':>7}{'MiB':>7}")
            grow(tenfold(claims, least=min(100, claims)), lambda n: projects(folder / str(n), n))
        if runs:
            print(f"\n{'runs':>9}{'':4}{'what':<26}{'seconds':>9}{'times':>7}")
            grow(tenfold(runs, least=min(10_000, runs)), lambda n: stores(folder / "store", n))
        print(f"\n{'missing':>9}{'':4}{'what':<26}{'seconds':>9}{'times':>7}")
        grow([400, 4_000, 40_000], lambda n: controller(folder / f"missing-{n}", n))
        print(f"\n{'entries':>9}{'':4}{'what':<26}{'seconds':>9}{'times':>7}")
        grow([1_000, 10_000], lambda n: ledgers(folder / f"ledgers-{n}", n))


def tenfold(most: int, *, least: int) -> list[int]:
    """Return sizes that grow tenfold."""
    sizes = [least]
    while sizes[-1] * 10 <= most:
        sizes.append(sizes[-1] * 10)
    return sizes


Line = tuple[str, float, float]
"""What was done, seconds, MiB (0 where they were not looked at)."""


def grow(sizes: list[int], measure: Callable[[int], Iterator[Line]]) -> None:
    """Print what each line takes at each size."""
    found: dict[tuple[str, int], float] = {}
    for size in sizes:
        for what, seconds, memory in measure(size):
            before = found.get((what, size // 10))
            times = f"{seconds / before:7.1f}" if before else " " * 7
            held = f"{memory:7.0f}" if memory else ""
            print(f"{size:>9,}{'':4}{what:<26}{seconds:9.4f}{times}{held}", flush=True)
            found[what, size] = seconds


def projects(folder: Path, count: int) -> Iterator[Line]:
    """Yield what a project of so many claims takes, from collection to report."""
    folder.mkdir()
    (folder / "made_up.py").write_text(STUDY)
    (folder / "test_made_up.py").write_text(CLAIMS.format(count=count))
    (folder / "pytest.ini").write_text("[pytest]\n")
    store = folder / "full"
    yield "collect", *pytest(folder, "--collect-only")
    yield "plan, nothing stored", *pytest(folder, "--plan", "--store", "empty")
    apart = get_context("spawn").Process(target=fill, args=(folder, store, count))
    apart.start()  # the memory of a command is at least that of the process that starts it
    apart.join()
    if apart.exitcode:
        raise SystemExit("the store could not be filled")
    stored = ("--store", str(store))
    seeds = str(PROFILES["ci"].looks[-1])  # as many as are stored
    yield "judge", *pytest(folder, *stored, "--update-ledger", "--reference-seeds", seeds)
    for workers in ("0", "4"):
        yield f"judge, -n {workers}", *pytest(folder, *stored, "-n", workers)
    yield "report", *pytest(folder, *stored, "--report", "report")
    yield from browse(folder / "report" / "index.html")
    yield "pack", *timed(folder, "repro", "evidence", "pack", "packed", ".", *stored)
    yield "judge, from the file", *pytest(folder, "--evidence", "packed")
    table = folder / "recorded"
    table.mkdir()
    (table / "test_results.py").write_text(RECORDED.format(count=count))
    (table / "pytest.ini").write_text("[pytest]\n")
    write_rows(table / "results.csv", count)
    yield "judge, from a table", *pytest(table)
    yield "report, from a table", *pytest(table, "--report", "report")
    shutil.rmtree(folder)


def browse(page: Path) -> Iterator[Line]:
    """Yield what a browser takes to open a report, and to filter it."""
    program = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if program is None:
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        tab = browser.new_page()
        tasks: dict[str, Callable[[], object]] = {
            "open in Chromium": lambda: tab.goto(page.as_uri()),
            "filter by a word": lambda: tab.fill("[name=text]", "number=9", force=True),
            "show all again": lambda: tab.fill("[name=text]", "", force=True),
        }
        for what, task in tasks.items():
            began = time.perf_counter()
            task()  # and until what has changed is on the screen:
            tab.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
            yield what, time.perf_counter() - began, 0
        browser.close()


def write_rows(path: Path, claims: int) -> None:
    """Write a table of results for so many claims."""
    rng = random.Random(1)
    with path.open("w") as file:
        file.write("method,number,seed,accuracy\n")
        for number in range(claims):
            for method, mean in (("better", 0.95), ("usual", 0.9)):
                for seed in range(1, ROWS + 1):
                    file.write(f"{method},{number},{seed},{rng.gauss(mean, 0.01):.5f}\n")


def pytest(folder: Path, *options: str) -> tuple[float, float]:
    """Return the seconds and the most memory of any process of one pytest session."""
    return timed(folder, "pytest", "-q", "-p", "no:cacheprovider", *options)


def timed(folder: Path, *command: str) -> tuple[float, float]:
    """Return the seconds and the most memory of any process of one of Python's modules."""
    places = os.pathsep.join([str(folder), str(Path(__file__).parents[1])])
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": places}
    began = time.perf_counter()
    log = folder / "log"
    with log.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", *command], cwd=folder, env=environment, stdout=out, stderr=out
        )
        _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} failed:\n{log.read_text()[-2000:]}")
    return time.perf_counter() - began, usage.ru_maxrss / 1024


def fill(folder: Path, root: Path, count: int) -> None:
    """Write made-up results for every claim of a project into a store."""
    store = Store(root)
    sys.path.insert(0, str(folder))
    from made_up import Made  # type: ignore[import-not-found]

    seeds = PROFILES["ci"].looks[-1]
    for number in range(count):
        for better in (False, True):
            add(store, Made(number=number, better=better), seeds)


def add(store: Store, arm: OutsideArm, seeds: int) -> None:
    arms = arms_of(arm)
    modules = counted({"made_up": parse(STUDY)}, {}, arms)
    made = Made(settings_of(arm), store.put_trace({"arms": arms, "modules": modules}))
    for seed in arm.seeds(seeds):
        run = Run(arm, seed)
        value = random.Random(f"{arm.label} {seed}").gauss(2.0 * ("better" in arm.label), 1.0)
        values = {"measures": {"score": value}, "history": {}, "steps": 0}
        write(store, identity(run, device="cpu"), values, made=made)


def write(
    store: Store,
    identity: dict[str, object],
    values: dict[str, object],
    *,
    seconds: float = 0.0,
    made: Made = run_files.UNKNOWN,
) -> str:
    """Write a run as `Store.put` does, but for waiting until it is on the disk; return its key."""
    key, how = run_files.key_of(identity, made), provenance("cpu", seconds, 1)
    folder = store.root / "runs" / key[:2] / key
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in run_files.encode(identity, values, how, made=made).items():
        (folder / name).write_bytes(content)
    return key


def stores(folder: Path, count: int) -> Iterator[Line]:
    """Yield what a store of so many runs takes; it grows from one size to the next."""
    store = Store(folder)
    have = sum(1 for _ in (folder / "runs").glob("*/*/*"))
    for number in range(have, count):
        write(store, {"number": number}, {"measures": {"score": 0.5}})
    choice = random.Random(1)
    began = time.perf_counter()
    Store(folder)
    yield "open", time.perf_counter() - began, 0
    stored = [{"number": choice.randrange(count)} for _ in range(LOOKUPS)]
    missing = [{"number": count + choice.randrange(count)} for _ in range(LOOKUPS)]
    for what, keys in (
        ("2,000 that it has", stored),  # a large store does not fit into memory: read from the disk
        ("the same again", stored),
        ("2,000 that it has not", missing),
    ):
        began = time.perf_counter()
        found = sum(store.get(key) is not None for key in keys)
        yield what, time.perf_counter() - began, 0
        assert found == (LOOKUPS if keys is stored else 0)


class AtOnce(Pool[Job]):
    """A pool of 200 trainers that ends batches at once, and counts what each takes the session."""

    def __init__(self, store: Store) -> None:
        super().__init__("cpu", trainers=200)
        self._store = store
        self._trace = store.put_trace({"missing": ["no_such"]})
        self.seconds: list[float] = []

    def submit(self, batch: Batch, *, is_last_try: bool = False) -> None:
        self._jobs[Job(batch)] = None

    def events(self, seconds: float) -> Iterator[Event]:
        for job in list(self._jobs)[:BATCHES]:
            [run] = job.left
            made = Made(settings_of(run.arm), self._trace)
            key = write(self._store, job.batch.runs[run], {"measures": {"score": 0.5}}, made=made)
            del self._jobs[job]
            began = time.process_time()
            yield Stored(run, key)
            yield Ended(job.batch.number)
            self.seconds.append(time.process_time() - began)

    def stop(self) -> None:
        self._jobs.clear()


def controller(folder: Path, count: int) -> Iterator[Line]:
    """Yield what the process of a session takes for a batch, with so many missing runs."""
    folder.mkdir()
    (folder / "made_up.py").write_text(STUDY)
    sys.path.insert(0, str(folder))
    from made_up import Made

    results = Results(store := Store(folder / "store"), device="cpu", project=folder)
    training = Training(store, pool := AtOnce(store), results, engine="auto", project=folder)

    def read(number: int) -> None:
        arms = [Made(number=number, better=better) for better in (False, True)]
        runs = [Run(arm, seed) for arm in arms for seed in range(SEEDS)]
        if missing := [run for run in runs if not results.is_done(run)]:
            raise RunsMissing(missing)

    claims = {number: partial(read, number) for number in range(count // 2 // SEEDS)}
    plan = Plan(claims, is_done=results.is_done)
    plan.read_all()
    began = time.process_time()
    plan.want(plan.take(0))
    training.train(plan, seconds=0.0)
    yield "begin, with 200 batches", time.process_time() - began - sum(pool.seconds), 0
    yield "a batch", statistics.median(pool.seconds), 0
    training.stop()
    sys.path.remove(str(folder))


def ledgers(folder: Path, count: int) -> Iterator[Line]:
    """Yield what a ledger of so many entries takes, in as many files as there are."""
    known = entries_at(Path(__file__).parents[1] / "claims" / "ledger")
    copies = range(-(-count // len(known)))
    entries = [replace(x, claim=f"{x.claim}-{n}") for n in copies for x in known][:count]
    first = folder / "ledger" / "test_0.toml"
    first.parent.mkdir(parents=True)
    of_claim = {name: n for n, name in enumerate(dict.fromkeys(x.claim for x in entries))}
    for n in range(FILES):
        own = [entry for entry in entries if of_claim[entry.claim] % FILES == n]
        Ledger(first.with_name(f"test_{n}.toml"), []).accept(own)
    changed = replace(entries[0], measured="other")
    tasks: dict[str, Callable[[], object]] = {
        "read one of them": lambda: Ledger.read(first),  # first, since what was read is known
        f"read {FILES} files": lambda: read_ledgers(folder),
        "change an entry in one": lambda: Ledger.read(first).accept([changed]),
    }
    for what, task in tasks.items():
        began = time.process_time()
        task()
        yield what, time.process_time() - began, 0


if __name__ == "__main__":
    main()
