from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from repro.store import Store

Start = Callable[..., subprocess.Popen[str]]

PUT_FOREVER = """if True:
    import itertools, sys
    from repro.store import Store
    store = Store(sys.argv[1], report=print)
    for seed in itertools.count(int(sys.argv[2])):
        store.put({"seed": seed}, {"seed": seed, "history": [seed / 7] * 200}, {"by": "test"})
        print(seed, flush=True)
"""

PUT_AND_GET = """if True:
    import sys
    from repro.store import Store
    store = Store(sys.argv[1], report=print)
    input()
    for seed in range(60):
        store.put({"seed": seed}, {"seed": seed}, {"by": sys.argv[2]})
        assert store.get({"seed": seed}).values == {"seed": seed}
"""


def test_a_killed_writer_leaves_nothing_or_a_good_entry(
    store: Store, reports: list[str], python: Start
) -> None:
    moments = random.Random(0)
    told: list[int] = []
    for _ in range(30):
        first = told[-1] + 1 if told else 0  # the one that the last writer was killed at
        writer = python(PUT_FOREVER, store.root, first)
        assert writer.stdout is not None
        told.append(int(writer.stdout.readline()))  # it is at work
        time.sleep(moments.uniform(0, 0.02))
        writer.kill()
        told += map(int, writer.stdout.read().splitlines())
        writer.wait()
    assert told == list(range(len(told)))
    for seed in range(len(told) + 1):
        result = store.get({"seed": seed})
        # Put was done where it was told of; only the very last may be there or not.
        assert result is not None or seed == len(told)
        assert result is None or result.values == {"seed": seed, "history": [seed / 7] * 200}
    assert reports == []
    Store(store.root)
    assert list((store.root / "tmp").iterdir()) == []


def test_putters_at_the_same_time_all_get_the_same(
    store: Store, reports: list[str], python: Start
) -> None:
    putters = [python(PUT_AND_GET, store.root, name) for name in ("one", "other", "third")]
    for putter in putters:
        assert putter.stdin is not None
        putter.stdin.write("go\n")
        putter.stdin.flush()
    assert [putter.communicate()[0] for putter in putters] == [""] * 3
    assert [putter.returncode for putter in putters] == [0] * 3
    assert len(list(store.entries())) == 60
    assert reports == []
    for name in ("tmp", "locks"):
        assert list(Path(store.root, name).iterdir()) == []
