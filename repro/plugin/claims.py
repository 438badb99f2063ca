"""The claims among pytest's tests: what their marks say, and how they are called."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pytest

from repro.runs.profiles import PROFILES

_EXAMPLE = '@claim("BP beats DFA", source="004, Results", documented="0.617 against 0.41")'


class BadClaim(Exception):
    """A claim cannot be judged because of how it is marked; says what to write instead."""


@dataclass(frozen=True)
class ClaimMark:
    """The arguments of a claim's decorator."""

    sentence: str
    source: str
    documented: str = ""
    only_at: str | None = None


def mark_of(item: pytest.Item) -> ClaimMark:
    """Return what a claim's decorator says; raises BadClaim."""
    given = item.get_closest_marker("claim")
    assert given is not None
    try:
        mark = ClaimMark(*given.args, **given.kwargs)
    except TypeError as error:
        raise BadClaim(
            f"The claim's decorator cannot be read ({error}); write {_EXAMPLE}."
        ) from None
    for name in ("sentence", "source", "documented"):
        value = getattr(mark, name)
        if not isinstance(value, str):
            raise BadClaim(f"The claim's {name} is {value!r}; write it as text: {_EXAMPLE}.")
        if any("\ud800" <= character <= "\udfff" for character in value):
            raise BadClaim(f"The claim's {name} is {value!a}, which is no Unicode text.")
    if not mark.sentence.strip() or not mark.source.strip():
        raise BadClaim(f"The claim has no sentence or no source; write {_EXAMPLE}.")
    if mark.only_at is not None and mark.only_at not in PROFILES:
        raise BadClaim(
            f"The claim is for the profile {mark.only_at!r}, which there is not; choose one of"
            f" {', '.join(PROFILES)}."
        )
    return mark


def claim_id(item: pytest.Item) -> str:
    """Return a claim's name in the ledger: its source, its test and its parameters.

    It is not the node id, which other plugins rewrite.
    """
    assert isinstance(item, pytest.Function)
    callspec = getattr(item, "callspec", None)
    source = mark_of(item).source.split(",")[0].strip()
    name = item.originalname.removeprefix("test_")
    return f"{source}/{name}" + (f"[{callspec.id}]" if callspec else "")


def namesakes(items: Iterable[pytest.Item]) -> dict[pytest.Item, str]:
    """Return the claims that share their name with another one, each with a sentence."""
    by_name: dict[str, list[pytest.Item]] = {}
    for item in items:
        by_name.setdefault(claim_id(item), []).append(item)
    return {
        item: f"Two claims are called {name}: {same[0].nodeid} and {same[1].nodeid}; a claim is"
        " known by its source and its test's name, so rename one of the tests."
        for name, same in by_name.items()
        if len(same) > 1
        for item in same
    }
