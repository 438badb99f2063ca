"""How long does a merge sort in plain Python take beside others? Timed next to each other."""

import heapq
import itertools
import random
from dataclasses import dataclass
from typing import ClassVar

from repro import Metric, OutsideArm, TimingStudy

MERGE, HEAP, CHECKED = range(3)


@dataclass(frozen=True, kw_only=True)
class Sorting(OutsideArm):
    study: ClassVar[str] = "sorting"
    metrics: ClassVar[dict[str, Metric]] = {"seconds": Metric("log", listed=True)}
    size: int = 500
    data: str = "shuffled numbers"


def merge_sort(numbers):
    if len(numbers) < 2:
        return numbers
    half = len(numbers) // 2
    return list(heapq.merge(merge_sort(numbers[:half]), merge_sort(numbers[half:])))


def heap_sort(numbers):
    heap = list(numbers)
    heapq.heapify(heap)
    return [heapq.heappop(heap) for _ in numbers]


def checked_merge_sort(numbers):
    found = merge_sort(numbers)
    assert all(a <= b for a, b in itertools.pairwise(found))
    return found


def pieces(arm, seed):
    numbers = random.Random(seed).sample(range(10 * arm.size), arm.size)
    return [lambda sort=sort: sort(numbers) for sort in (merge_sort, heap_sort, checked_merge_sort)]


STUDY = TimingStudy(pieces, rounds=50)
