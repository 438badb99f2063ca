"""The runs of modded-nanogpt's tracks 1 and 3: `python speedrun.py CLONE > speedrun.csv`.

A row is an evaluation: a line `step:N/M val_loss:X …` of a log, each metric of it in a column of
its own name; `steps` is the M of its line. Nothing but logs is read. Where the step falls, the next
run of a file begins. A run whose evaluations all stand in another log of its record is that run
again, and is left out. Logs begin with the program that ran: equal `code` is an equal program.
"""

import csv
import hashlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

FOLDERS = {"1": "records/track_1_short", "3": "records/track_3_optimization/results"}
LOGS = ".txt", ".log", ".stdout"
METRICS = "val_loss", "val_avg_loss", "val_ema_loss"
COLUMNS = "track", "record", "arm", "code", "run", "steps", "step", *METRICS, "train_s"

LINE = re.compile(r"^step:(\d+)/(\d+) ((?:val_\w+:\S+ )+)train_time:([\d.]+)(ms|s)\b", re.MULTILINE)
NAMES_A_RUN = re.compile(
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"  # a random name
    r"|(seed|run)[-_]?\d+"
    r"|^\d{4}-\d\d-\d\d_[\d-]+_time-\d+_secs"
    r"|(?<=[-_ ])[0-9a-f]{5,8}$"
    r"|\d+-\d+$|_\d+_\d+$"
)

Evaluation = dict[str, str]


def runs(text: str) -> Iterator[list[Evaluation]]:
    """Yield the runs of a log, each with its evaluations in their order.

    >>> [[each["val_loss"] for each in run] for run in runs('''
    ... step:125/250 val_loss:4.1 train_time:1000ms step_avg:8ms
    ... step:250/250 val_loss:3.9 train_time:2000ms step_avg:8ms
    ... step:125/250 val_loss:4.2 train_time:1000ms step_avg:8ms
    ... ''')]
    [['4.1', '3.9'], ['4.2']]
    """
    run: list[Evaluation] = []
    for step, steps, values, time, unit in LINE.findall(text):
        if run and int(step) <= int(run[-1]["step"]):
            yield run
            run = []
        seconds = float(time) / (1000 if unit == "ms" else 1)
        metrics = dict(pair.split(":", 1) for pair in values.split())
        run.append({"steps": steps, "step": step, **metrics, "train_s": f"{seconds:.3f}"})
    if run:
        yield run


def program(text: str) -> str:
    """Return a short hash of the program that a log begins with; empty without one.

    >>> separator = "\\n" + "=" * 100 + "\\n"
    >>> program(f"x = 1{separator}step:1/1") == program(f"{separator}x = 1{separator}step:2/2")
    True
    >>> program("step:1/1")
    ''
    """
    parts = [part.strip() for part in re.split(r"^={20,}$", text, maxsplit=2, flags=re.MULTILINE)]
    source = parts[0] or parts[1] if len(parts) > 1 else ""
    return hashlib.sha256(source.encode()).hexdigest()[:8] if source else ""


def arm(log: Path) -> str:
    """Return the arm of a log by its path in the record, without what only names or numbers runs.

    >>> arm(Path("baseline/0cf91274-eda8-49cd-9a97-9369f730f271.txt")), arm(Path("H100_seed3.txt"))
    ('baseline', 'H100')
    """
    parts = [*log.parts[:-1], log.name.removesuffix(log.suffix)]
    words = (NAMES_A_RUN.sub("", part).strip("-_ .") for part in parts)
    return "/".join(filter(None, words)) or "."


def rows(clone: Path) -> Iterator[Evaluation]:
    """Yield a row for each evaluation in the logs of a clone; say on stderr what was left out."""
    for track, folder in FOLDERS.items():
        top = clone / folder
        if not top.is_dir():
            sys.exit(f"{clone} has no {folder}: give the path of a clone of modded-nanogpt.")
        for record in sorted(top.iterdir()):
            if record.is_dir() or record.suffix in LOGS:
                yield from ({"track": track, **row} for row in rows_of(record))


def rows_of(record: Path) -> Iterator[Evaluation]:
    """Yield a row for each evaluation in the logs of a record: a folder, or a log alone."""
    found: list[tuple[int, int, int, str, str, list[Evaluation]]] = []
    for log in sorted(record.rglob("*")) if record.is_dir() else [record]:
        if log.suffix in LOGS:
            text = log.read_text(errors="replace")
            of_log = list(runs(text))
            name = log.relative_to(record.parent).as_posix()
            if not of_log:
                print(f"{name}: no line step:N/M val_loss:X train_time:Y", file=sys.stderr)
            for number, run in enumerate(of_log):
                # of equal runs the one with a log of its own counts, nearest to its settings
                order = -len(run), len(of_log), -len(log.parts)
                found.append((*order, f"{name}#{number}", program(text), run))
    known: dict[str, str] = {}
    for *_, name, code, run in sorted(found, key=lambda each: each[:-1]):
        lines = list(map(repr, run))
        if all(line in known for line in lines):
            print(f"{name}: the same run as {known[lines[-1]]}", file=sys.stderr)
            continue
        known |= {line: known.get(line, name) for line in lines}
        log = Path(name.rpartition("#")[0])
        inside = arm(log.relative_to(record.name)) if record.is_dir() else "."
        where = {"record": record.name, "arm": inside, "code": code, "run": name}
        yield from ({**where, **each} for each in run)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("Usage: python speedrun.py PATH_OF_A_CLONE > speedrun.csv")
    table = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n")
    table.writeheader()
    table.writerows(rows(Path(sys.argv[1])))
