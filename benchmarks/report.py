"""How long a report of so many claims takes to write, to open and to filter: nothing is trained.

    python benchmarks/report.py                    # 200 and 2,000 claims
    python benchmarks/report.py --keep report      # also leaves the last report there

Each claim compares two arms of its own over eight seeds, with curves over ten epochs. Chromium is
asked where it is installed (`CHROMIUM` names one that is not on the path), through playwright.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import resource
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from repro.judge import Outcome
from repro.ledger import Change
from repro.report.pull_request import summary
from repro.report.record import (
    ArmData,
    ClaimRecord,
    EffectData,
    FindingData,
    JudgedClaim,
    SampleData,
)
from repro.report.results import ResultsDocument, results_of
from repro.report.terminal import ending
from repro.report.write import write_data, write_page
from repro.store import Result

SEEDS = 8
VERDICTS = (Outcome.REPRODUCED, Outcome.REFUTED, Outcome.INCONCLUSIVE)


class MadeUp:
    """Runs with curves over ten epochs, each made when it is asked for."""

    def measured(self, key: str) -> Result | None:
        level = int(key[:4], 16) / 65536
        curves = {
            "loss": [2.0 / (epoch + 1) + level for epoch in range(10)],
            "score": [0.3 + 0.05 * epoch + 0.1 * level for epoch in range(10)],
        }
        values = {"measures": {"score": level}, "history": curves, "steps": 10}
        provenance = {"seconds": 1.5, "commit": "abc" * 12, "python": "3.11"}
        return Result(key, {"seed": 1, "engine": "loop"}, values, provenance)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--claims", type=int, nargs="+", default=[200, 2000])
    parser.add_argument("--keep", type=Path, help="the folder for the last report")
    options = parser.parse_args()
    print(f"{'claims':>9}{'':4}{'what':<28}{'seconds':>9}{'MiB':>7}{'bytes':>14}")
    with tempfile.TemporaryDirectory(prefix="repro-report-") as name:
        for count in options.claims:
            folder = Path(name) / str(count)
            measure(folder, count)
        if options.keep:
            shutil.copytree(folder, options.keep)


def measure(folder: Path, count: int) -> None:
    def line(what: str, task: Callable[[], Any], size: Callable[[], int] = lambda: 0) -> Any:
        began = time.perf_counter()
        done = task()
        seconds = time.perf_counter() - began
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{count:>9,}{'':4}{what:<28}{seconds:9.2f}{memory:7.0f}{size():>14,}", flush=True)
        return done

    judged = line("make the claims", lambda: [made_up(number) for number in range(count)])
    results = line("count them together", lambda: results_of(judged, []))
    line("the end of the session", lambda: ending(results))
    line("summary.md", lambda: summary(results), lambda: len(summary(results).encode()))
    line("data", lambda: write_data(folder, results), lambda: size_of(folder))
    before = size_of(folder)
    line("page", lambda: write_page(folder, results, MadeUp()), lambda: size_of(folder) - before)
    browse(folder, results, line)


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def browse(folder: Path, results: ResultsDocument, line: Callable[..., Any]) -> None:
    program = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if program is None:
        print("no chromium here: opening is not measured")
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page()
        drawn = "new Promise((done) => requestAnimationFrame(() => setTimeout(done)))"

        def wait(task: Callable[[], Any]) -> None:
            task()
            page.evaluate(drawn)  # until what has changed is on the screen

        line("open", lambda: wait(lambda: page.goto((folder / "index.html").as_uri())))
        line(
            "filter by verdict",
            lambda: wait(lambda: page.select_option("[name=verdict]", "refuted")),
        )
        line("filter by a word", lambda: wait(lambda: page.fill("[name=text]", "number 99")))
        line("show all again", lambda: wait(lambda: page.get_by_label("Text").fill("")))
        sort = page.get_by_role("button", name="Measured")
        line("sort", lambda: wait(sort.click))
        link = page.locator("#table tbody tr:visible a").first
        line("open a claim", lambda: wait(link.click))
        browser.close()


def made_up(number: int) -> JudgedClaim:
    verdict = VERDICTS[number % 3]
    arms = [arm(number, kind) for kind in ("better", "usual")]
    samples = [
        SampleData(label=each.label, fixed=False, values=[0.5 + 0.01 * n for n in range(SEEDS)])
        for each in arms
    ]
    effect = EffectData(
        label=" - ".join(each.label for each in arms), kind="difference", unit="score",
        estimate=0.2 + number % 7, low=-0.1, high=0.5 + number % 7, relation=">", bound=0.0,
        state="open", needed=True, exact=False, p_for=0.01, p_against=0.9, seeds=SEEDS,
        sides=[0, 1], per_seed=[0.2 + 0.01 * n for n in range(SEEDS)],
    )  # fmt: skip
    finding = FindingData(
        statement="better > usual", outcome=verdict, scale="identity", documented=None, deciding=0,
        samples=samples, effects=[effect], lines=[],
    )  # fmt: skip
    record = ClaimRecord(
        claim=f"{number // 500:03}/better[{number}]",
        sentence=f"The better one of number {number} is better than the usual one",
        source=f"{number // 500:03}, Table {number}", about="Sources of nothing", kind="source",
        documented="0.389 → 0.617", profile="ci", data="cifar10-twin", verdict=verdict, p=0.001,
        accepted=None, change="new", change_kind=Change.NEW,
        measured=f"{effect.label} = 0.2 [-0.1, 0.5], 8 seeds",
        text="REPRODUCED  better > usual\n" * 8, findings=[finding],
        arms=[each.name for each in arms], metrics=["score"], file="test_made_up.py", line=17,
        command=f'pytest "test_made_up.py::test_better[{number}]" --profile ci', machine="",
        past=[], one_look=[], ledger="ledger/test_made.toml",
    )  # fmt: skip
    return JudgedClaim(record=record, arms={each.name: each for each in arms})


def arm(number: int, kind: str) -> ArmData:
    keys = [hashlib.sha256(f"{number} {kind} {n}".encode()).hexdigest() for n in range(SEEDS)]
    settings = {
        "number": number,
        "kind": kind,
        "width": 64,
        "optimiser": {"lr": 1e-3, "batch": 128},
    }
    label = f"{kind} {number}"
    return ArmData(
        label=label, study="made_up", settings=settings, seeds=list(range(SEEDS)), keys=keys
    )


if __name__ == "__main__":
    main()
