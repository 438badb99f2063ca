"""The tables of docs/boards.md: `pytest --report=FOLDER`, then `python page.py FOLDER PAGE.md`.

A claim that is open has a row of its own, those that are reproduced have one together.
"""

import csv
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import test_golf

from repro.judge import Measured, Verdict
from repro.recorded import decide, judge

HERE = Path(__file__).parent
SAID = {
    "attains": "attains 3.28",
    "attains_on_track_3": "attains 3.28",
    "attains_before_seeds_were_added": "attains 3.28 with the seeds before two were added",
    "better_than_the_one_before": "is better than the record before it, with 0.0045 for 100 steps",
    "faster": "is faster than the record before it, on one machine (times)",
    "same_loss": "has the loss of the record before it, within 0.001",
    "lower": "needs fewer bits per byte than the record below it",
    "by_the_margin": "is 0.005 nats better than the record below it",
    "mi325x": "MI325X is 1.2 times as fast as MI300X at LoRA (times)",
    "twice_the_accelerators": "twice the accelerators are 1.5 times as fast (times)",
}
TABLES = {
    "speedrun": ("Speedrun, track 1", "Speedrun, track 3"),
    "golf": ("Parameter golf, leaderboard", "Parameter golf, submission process"),
    "mlperf": ("MLPerf Training 5.0, results",),
}
BOARDS = {
    "speedrun": ("modded-nanogpt, tracks 1 and 3", "f411b3d", "MIT"),
    "golf": ("parameter-golf, track of ten minutes", "4908dc4", "MIT"),
    "mlperf": ("MLPerf Training 5.0", "0fdc28f", "Apache 2.0"),
}
"""The commits that the ledger is of, and their licences."""

SIGMA_OVER = 0.004
"""What the rule of track 3 asks of a mean times the square root of its runs: 3.09 sigma."""

Claim = Mapping[str, Any]


def parts(claim: Claim) -> tuple[str, str]:
    """Return the sentence of a claim and the number of its record."""
    test, _, case = claim["claim"].rpartition("/")[2].partition("[")
    return test, case.rstrip("]").rpartition("-")[2]


def past(claim: Claim) -> tuple[float, float, float]:
    """Return how far a measurement is past what is claimed, and its interval; 1 if both agree.

    Of a claim with two comparisons this is the one that is less clear.
    """
    effects: list[Mapping[str, Any]] = claim["findings"][0]["effects"]
    one = max(effects, key=lambda each: float(each["p_for"]))
    ends = [float(one[name]) for name in ("estimate", "low", "high")]
    if " / " in one["label"]:
        ends = [end / one["bound"] for end in ends]
    else:
        sign = 1 if one["relation"] == ">" else -1
        ends = [sign * (end - one["bound"]) for end in ends]
    return ends[0], min(ends[1:]), max(ends[1:])


def counts(claim: Claim) -> list[int]:
    return [level[4] for level in claim["levels"]]


def more(claim: Claim) -> str:
    """Return how many runs would settle a claim that is open, as its verdict says."""
    text = " ".join(claim["text"].split())
    if found := re.search(r"(\d+) more of each arm", text):
        return found[1]
    return "> 200" if "more than 200" in text else "not said"


def beside(claim: Claim) -> str:
    """Return what the board's own rule says of the logs, where it is another test than ours.

    Beside it, or alone, stands the word of `decide` on a record and the one before it: whether the
    record is kept, or how many runs it still needs, if one may look after each.
    """
    test, number = parts(claim)
    if test == "by_the_margin":
        return decided(claim, f"record {number}", margin=0.005, level=0.01)
    if test == "faster":
        return decided(claim, f"record {number}", level=0.005)
    if claim["source"] == "Speedrun, track 3":
        error = sum(1 / count for count in counts(claim)) ** 0.5
        word = "met" if past(claim)[0] / error >= SIGMA_OVER else "not met"
        if test == "better_than_the_one_before":
            saved = abs(claim["findings"][0]["effects"][0]["bound"])
            return f"{word}; {decided(claim, f'#{number}', worth=saved, level=0.001)}"
        return word
    return ""


def decided(claim: Claim, record: str, *, worth: float = 0, margin: float = 0, level: float) -> str:
    """Return the word of `decide`, where the record's numbers may be higher by what it is worth."""
    samples = {each["label"]: each["values"] for each in claim["findings"][0]["samples"]}
    new = [value - worth for value in samples.pop(record)]
    (old,) = samples.values()
    decision = decide(old, new, lower=True, margin=margin, level=level)
    if decision.choice == "run more":
        return f"run {max(decision.candidate, decision.baseline)} more"
    return f"{decision.choice}"


def shown(number: float) -> str:
    return f"{number:.4f}".replace("-", "−") if abs(number) < 0.5 else f"{number:.3f}"


def rows(claims: list[Claim]) -> Iterator[str]:
    """Yield the rows of a table: of each sentence what is reproduced, and then what is not."""
    last = {"Speedrun": "the board's rule; `decide`", "Parameter golf": "`decide`"}
    name = last.get(claims[0]["source"].partition(",")[0], "")
    yield f"| record | verdict | past what is claimed | runs | more runs | {name} |"
    yield "|---|---|--:|--:|--:|---|"
    tests = {parts(claim)[0]: claim["source"] for claim in claims}
    for test, source in sorted(tests.items(), key=lambda pair: (pair[1], [*SAID].index(pair[0]))):
        mine = sorted(
            (claim for claim in claims if parts(claim)[0] == test),
            key=lambda claim: (len(parts(claim)[1]), parts(claim)[1]),
        )
        good = [claim for claim in mine if claim["verdict"] == "reproduced"]
        yield f"| **{source}: {SAID[test]}** | | | | | |"
        if good:
            sizes = sorted(past(claim)[0] for claim in good)
            numbers = sorted(count for claim in good for count in counts(claim))
            words = Counter(map(beside, good))
            cells = [
                ", ".join(filter(None, (parts(claim)[1] for claim in good))),
                f"{len(good)} reproduced",
                " to ".join(dict.fromkeys(map(shown, (sizes[0], sizes[-1])))),
                " to ".join(dict.fromkeys(map(str, (numbers[0], numbers[-1])))),
                "",
                ", ".join(f"{count} {word}" for word, count in words.items() if word),
            ]
            yield f"| {' | '.join(cells)} |"
        for claim in mine:
            if claim not in good:
                size, low, high = map(shown, past(claim))
                runs = " and ".join(dict.fromkeys(map(str, counts(claim))))
                size = f"{size} [{low}, {high}]"
                cells = [parts(claim)[1], claim["verdict"], size, runs, more(claim), beside(claim)]
                yield f"| {' | '.join(cells)} |"


def boards() -> Iterator[str]:
    yield "| board | commit | licence | runs read |"
    yield "|---|---|---|--:|"
    for name, about in BOARDS.items():
        with (HERE / f"{name}.csv").open(newline="") as file:
            keys = "submitter", "system", "benchmark", "run"
            runs = {tuple(map(row.get, keys)) for row in csv.DictReader(file)}
        yield f"| {' | '.join(about)} | {len(runs):,} |"


def by_the_margin(new: int, old: int, *arms: Measured) -> Verdict:
    return arms[new].falls_below(arms[old], by_at_least=0.005)


def one_spread() -> Iterator[str]:
    """Yield what golf's margin is with one spread for all records of a vocabulary."""
    losses: dict[int, list[float]] = {}
    for row in test_golf.read(HERE / "golf.csv"):
        losses.setdefault(int(str(row["record"])), []).append(float(str(row["val_loss"])))
    found: dict[str, list[int]] = {}
    for old, new in test_golf.COMPARABLE:
        first = max(each for each in test_golf.VOCABULARIES if each <= old)
        last = min((each for each in test_golf.VOCABULARIES if each > old), default=99)
        alike = [number for number in losses if first <= number < last]
        places = alike.index(new), alike.index(old)
        verdict = judge(
            {str(number): losses[number] for number in alike},
            partial(by_the_margin, *places),
            level=0.01,
            spread="same",
        )
        found.setdefault(verdict.outcome.value, []).append(new)
    for outcome, numbers in found.items():
        yield f"| {outcome} | {len(numbers)}: {', '.join(map(str, numbers))} |"


def readings(claims: list[Claim]) -> Iterator[str]:
    """Yield what the printed means are beside those of the logs."""
    boards = {"Speedrun, track 3": "track 3", "Parameter golf, leaderboard": "golf"}
    printed = [claim for claim in claims if parts(claim)[0] == "prints"]
    printed.sort(key=lambda claim: ([*boards].index(claim["source"]), int(parts(claim)[1])))
    good = Counter(claim["source"] for claim in printed if claim["verdict"] == "reproduced")
    for source, board in boards.items():
        yield f"On {board}, {good[source]} printed means are those of their logs."
    yield ""
    yield "| board | record | printed | our reading of the log gives | runs |"
    yield "|---|--:|--:|--:|--:|"
    for claim in printed:
        found = re.search(r"= (\S+), printed (\S+), (\d+) runs", claim["measured"])
        if claim["verdict"] != "reproduced" and found:
            mean, text, runs = found.groups()
            yield f"| {boards[claim['source']]} | {parts(claim)[1]} | {text} | {mean} | {runs} |"


def main(report: Path, page: Path) -> None:
    claims: list[Claim] = json.loads((report / "results.json").read_text())["claims"]
    compared = [claim for claim in claims if parts(claim)[0] != "prints"]
    made = {
        name: "\n".join(rows([each for each in compared if each["source"] in sources]))
        for name, sources in TABLES.items()
    }
    made["spread"] = "\n".join(["| 0.005 nats, one spread | records |", "|---|---|", *one_spread()])
    made["boards"] = "\n".join(boards())
    made["readings"] = "\n".join(readings(claims))
    text = page.read_text()
    for name, block in made.items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        if begin not in text:
            sys.exit(f"{page} has no line {begin}")
        before, _, rest = text.partition(begin)
        text = f"{before}{begin}\n{block}\n{end}{rest.partition(end)[2]}"
    page.write_text(text)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("Usage: python page.py FOLDER_OF_THE_REPORT PAGE.md")
    main(Path(sys.argv[1]), Path(sys.argv[2]))
