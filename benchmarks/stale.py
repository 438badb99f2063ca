"""Edits one token at a random place, and sees whether a stored result would still be used.

    python benchmarks/stale.py                  # 1,000 edits on one core
    python benchmarks/stale.py --edits 100
    python benchmarks/stale.py --seed 7

The places are in the code that results depend on (`repro/core`, `studies`, `data`, `own`, `arm.py`,
`recipe.py`) and in examples. Each arm of a list is trained once with the code as it is. After each
edit its trace says whether the result still counts. Where it does although the edited code ran, the
arm is trained again, and must have the same bits. Of the others some are trained again: where the
trace has changed, to see how often that was needless; where the code did not run, as a check. What
ran is known from Python's own profiler, too, which must name no function without a mark. An edit in
the body of a function that did not run must train nothing again.
"""

from __future__ import annotations

import argparse
import inspect
import io
import json
import os
import random
import re
import resource
import shutil
import sys
import tempfile
import threading
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

import numpy  # noqa: F401  # loaded once, before processes fork
import torch._dynamo  # as the first optimiser does

ROOT = Path(__file__).parents[1]
FOLDERS = ("repro/core", "repro/studies", "repro/data", "repro/own")
EXAMPLES = ("examples/own_module", "examples/black_box", "examples/waves", "examples/letters")
MOST_SECONDS = 60
"""A training that takes more of a core has been edited into one that never ends: an error."""

KILLED = "killed"

SHARE, SHARE_NOT_RUN = 0.1, 0.01
"""The shares that are trained again: where the trace has changed, and where code did not run."""

NEEDLESS = "of a tenth of these, trained again needlessly, to the same bits"
NEEDED = "of a tenth of these, trained again to other bits, or to an error"
NOT_IMPORTED, BODY = "module was not imported", "function did not run"

SWAPPED = {
    "+": "-",
    "-": "+",
    "*": "+",
    "/": "*",
    "//": "/",
    "**": "*",
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "==": "!=",
    "!=": "==",
    "True": "False",
    "False": "True",
    "and": "or",
    "or": "and",
    "min": "max",
    "max": "min",
    "sum": "len",
    "None": "0",
}


def arms() -> dict[str, Callable[[], Any]]:
    """Return the arms that are trained, each small, by name; they are imported in the process."""

    def ladder(**more: Any) -> Any:
        from repro.studies.depth_ladder.arms import D512_L2

        arm = D512_L2.at("ci").located()
        return arm.but(images=512, recipe=arm.recipe.but(epochs=2), **more)

    def early_exit(**more: Any) -> Any:
        from repro.studies.early_exit.arms import STANDARD

        arm = STANDARD.but(data="wikitext-2-twin").at("ci")
        return arm.but(recipe=arm.recipe.but(epochs=1), characters=2_000, **more)

    def context() -> Any:
        from repro.studies.context_vector.arms import BASELINE

        arm = BASELINE.at("ci").located()
        return arm.but(recipe=arm.recipe.but(epochs=1), sequences=64)

    def sharing() -> Any:
        from repro.studies.parameter_sharing.arms import BASELINE

        arm = BASELINE.at("ci").located()
        return arm.but(recipe=arm.recipe.but(epochs=1), pairs_a_paradigm=2, last_words=10)

    def spirals() -> Any:
        from spirals import Spirals  # type: ignore[import-not-found]

        return Spirals(examples=100, recipe=Spirals().recipe.but(epochs=2))

    def own(module: str, name: str, **more: Any) -> Any:
        kind = getattr(__import__(module), name)
        return kind(**more)

    return {
        "ladder": ladder,
        "ladder, direct feedback": lambda: ladder(rule="dfa"),
        "early exit": early_exit,
        "context": context,
        "sharing": sharing,
        "spirals": spirals,
        "perceptron": lambda: own("perceptron", "Perceptron"),
        "waves": lambda: own("waves", "Wave", epochs=1),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--edits", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--arms", nargs="*", help="names of arms (default: all)")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    names = chosen.arms or list(arms())
    with tempfile.TemporaryDirectory() as folder:
        copy = _copy(Path(folder) / "copy")
        sys.path[:0] = _places(copy)  # of repro this process imports only `repro.code`
        before = {name: _trained(copy, name) for name in names}
        for name, found in before.items():
            if found["error"]:
                raise SystemExit(f"{name} cannot be trained: {found['error']}")
            if unmarked := _unmarked(copy, name, found["trace"]):
                raise SystemExit(f"{name} has run without a mark: {sorted(unmarked)}")
        unchanged = (copy / "repro/arm.py").read_text()
        for name, (_, changed) in _compared(copy, "repro/arm.py", unchanged, before).items():
            if changed:
                raise SystemExit(f"{name} is trained again although nothing was edited: {changed}")
        edits = list(_edits(copy, random.Random(chosen.seed), chosen.edits))
        counts = _try_all(copy, edits, before, chosen.seed)
    for what, count in sorted(counts.items()):
        print(f"{count:>7}  {what}")
    if again := counts[NEEDLESS] + counts[NEEDED]:
        print(f"needless training: {100 * counts[NEEDLESS] / again:.0f} % of what is trained again")
    wrong = counts["USED WITH OTHER BITS"] + counts["TRAINED AGAIN FOR A BODY THAT DID NOT RUN"]
    return 1 if wrong else 0


def _copy(folder: Path) -> Path:
    for name in ("repro", "fixtures", "examples"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def _edits(copy: Path, draw: random.Random, count: int) -> Iterator[tuple[str, str, str]]:
    """Yield edits of one token each: the file, its new text, and the name of what was edited."""
    files = [path for part in FOLDERS for path in sorted((copy / part).rglob("*.py"))]
    files += [copy / "repro/arm.py", copy / "repro/recipe.py"]
    files += [path for part in EXAMPLES for path in sorted((copy / part).glob("[!t]*.py"))]
    places = []
    for path in files:
        text = path.read_text()
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            is_number = token.type == tokenize.NUMBER and token.string.isdigit()
            if is_number or token.string in SWAPPED:
                places.append((path, token))
    found = 0
    for path, token in draw.sample(places, len(places)):
        if found == count:
            return
        lines = path.read_text().splitlines(keepends=True)
        (row, start), (_, end) = token.start, token.end
        old = token.string
        new = SWAPPED.get(old) or str(int(old) + 1)
        line = lines[row - 1]
        lines[row - 1] = line[:start] + new + line[end:]
        where, text = path.relative_to(copy).as_posix(), "".join(lines)
        with suppress(SyntaxError):
            compile(text, where, "exec")
            found += 1
            yield where, text, f"{where}:{row} {old} -> {new}"


def _try_all(
    copy: Path, edits: list[tuple[str, str, str]], before: dict[str, Any], seed: int
) -> Counter[str]:
    counts, draw = Counter[str](), random.Random(seed)
    for number, (where, text, name) in enumerate(edits):
        if number % 100 == 0:
            print(f"{number} of {len(edits)} edits", file=sys.stderr, flush=True)
        path = copy / where
        usual = path.read_text()
        counts["edits"] += 1
        path.write_text(text)
        for arm, (relation, changed) in _compared(copy, where, usual, before).items():
            counts[f"results whose {relation}"] += 1
            if relation == BODY and changed:
                counts["TRAINED AGAIN FOR A BODY THAT DID NOT RUN"] += 1
                print(f"{name}: {arm} is trained again: {changed}", flush=True)
            counts["results trained again"] += bool(changed)
            is_idle = relation in (NOT_IMPORTED, BODY)
            if (changed or is_idle) and draw.random() > (SHARE if changed else SHARE_NOT_RUN):
                continue
            now = _trained(copy, arm)
            is_killed = now["error"] == KILLED
            if not changed and not is_killed and now["settings"] != before[arm]["settings"]:
                counts["results whose settings are others, which count by value"] += 1
                continue
            is_same = now["error"] is None and now["values"] == before[arm]["values"]
            if changed:
                counts[NEEDLESS if is_same else NEEDED] += 1
            else:
                counts["results used, and trained again to see"] += 1
            if not changed and not is_same:
                counts["USED WITH OTHER BITS"] += 1
                print(f"{name}: {arm} is used and has other bits: {now['error']}", flush=True)
        path.write_text(usual)
    return counts


def _compared(
    copy: Path, where: str, usual: str, before: dict[str, Any]
) -> dict[str, tuple[str, list[str]]]:
    """Return for each arm how an edit relates to its trace, and what the trace says of it."""
    from repro.code.trace import Today
    from repro.code.units import package_of, parse

    path, found = copy / where, {}
    package = package_of(str(path))
    then = parse(usual, package).digests()
    now = parse(path.read_text(), package).digests()
    edited = {unit for unit in then.keys() | now.keys() if then.get(unit) != now.get(unit)}
    today = Today(copy)
    for arm, result in before.items():
        modules = result["trace"]["modules"]
        key = next((each for each in modules if today.file_of(each) == str(path)), None)
        is_body = all(unit.endswith("()") for unit in edited)
        if key is None:
            relation = NOT_IMPORTED
        elif is_body and edited.isdisjoint(modules[key]):
            relation = BODY
        else:
            relation = "code ran, or stands at the top of a module"
        found[arm] = relation, today.changes(result["trace"], digest=arm)
    return found


def _places(copy: Path) -> list[str]:
    return [str(copy), *(str(copy / each) for each in EXAMPLES)]


def _unmarked(copy: Path, name: str, trace: dict[str, Any]) -> set[str]:
    """Return functions that Python's profiler sees while an arm trains, and its trace has not."""

    def train() -> dict[str, Any]:
        found = set()

        def see(frame: FrameType, event: str, argument: object) -> None:
            code = frame.f_code
            if event == "call" and code.co_flags & inspect.CO_OPTIMIZED:
                found.add((code.co_filename, code.co_qualname))

        threading.setprofile(see)
        sys.setprofile(see)
        _train(name)
        sys.setprofile(None)
        return {"values": sorted(found), "trace": None, "error": None}

    from repro.code.record import is_project
    from repro.code.trace import Today

    ran = _in_fork(copy, train)
    if ran["error"]:
        raise SystemExit(f"{name}, profiled: {ran['error']}")
    today, unmarked = Today(copy), set()
    keys = {today.file_of(key): key for key in trace["modules"]}
    for file, called in ran["values"]:
        # a lambda or a comprehension is a part of the function, or the statement, that has it
        function = re.sub(r"\.<locals>\.<(?!locals).*", "", called)
        is_function = "<" not in function.replace("<locals>", "")
        is_ours = is_function and file.startswith(f"{copy}{os.sep}") and is_project(file)
        if is_ours and f"{function}()" not in trace["modules"].get(keys.get(file), {}):
            unmarked.add(f"{file} {function}")
    return unmarked


def _trained(copy: Path, name: str) -> dict[str, Any]:
    """Train an arm in a process of its own; return its values, its trace, or its error."""

    def train() -> dict[str, Any]:
        settings = None
        try:
            from repro.code.trace import TRACER
            from repro.runs.identity import arms_of, settings_of

            arm = arms()[name]()
            settings = settings_of(arm)
            _, values = _train(name)
            trace, error = TRACER.trace(arms=arms_of(arm)), None
        except BaseException as raised:  # whatever an edit leads to
            values, trace, error = None, {}, f"{type(raised).__name__}: {raised}"
        return {"values": values, "trace": trace, "error": error, "settings": settings}

    return _in_fork(copy, train, is_recorded=True)


def _train(name: str) -> tuple[Any, Any]:
    arm = arms()[name]()
    from repro.arm import Run
    from repro.evidence.audit import Again

    return arm, Again({}, device="cpu").values(Run(arm, 3))


def _in_fork(
    copy: Path, function: Callable[[], dict[str, Any]], *, is_recorded: bool = False
) -> dict[str, Any]:
    """Call a function in a fork that finds the project in a copy; return what it returns."""
    reading, writing = os.pipe()
    number = os.fork()
    if number == 0:
        os.close(reading)
        found: dict[str, Any] = {"values": None, "trace": None, "error": "ended", "settings": None}
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
            os.chdir(copy)
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)
            if is_recorded:
                from repro.code.record import start

                folder = tempfile.mkdtemp(dir=copy.parent)
                start(project=str(copy), store=folder, folder=folder)
            found = function()
        except BaseException as error:  # whatever an edit leads to
            found["error"] = f"{type(error).__name__}: {error}"
        finally:
            with os.fdopen(writing, "w") as file:
                json.dump(found, file)
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as file:
        text = file.read()
    os.waitpid(number, 0)
    return json.loads(text) if text else {"values": None, "trace": None, "error": KILLED}


if __name__ == "__main__":
    sys.exit(main())
