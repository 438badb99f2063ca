"""The claims among pytest's tests: their marks, their names, and the call of their tests."""

from __future__ import annotations

import io
import itertools
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from _pytest.skipping import evaluate_skip_marks, evaluate_xfail_marks

from repro.arm import Arm
from repro.ledger import KINDS, Kind, short_source
from repro.marks import Looks
from repro.runs.profiles import MOST_SEEDS, PROFILES, Profile
from repro.text import shown

_EXAMPLE = '@claim("BP beats DFA", source="004, Results", documented="0.617 against 0.41")'


class BadClaim(Exception):
    """The decorator of a claim is wrong; the message says what to write instead."""


@dataclass(frozen=True)
class ClaimMark:
    """The arguments of a claim's decorator."""

    sentence: str
    source: str
    documented: str = ""
    kind: Kind = "source"
    only_at: str | None = None
    looks: Looks | None = None
    after: int = 0
    level: float | None = None
    hides: int = 0
    """The line of another claim of the test's name, above it in its file; 0 without one."""

    def looks_at(self, profile: Profile) -> tuple[int, ...]:
        """Return the looks of the claim at a profile."""
        own = self.looks
        if isinstance(own, Mapping):
            own = own.get(profile.name)
        return own or profile.looks


_READ = pytest.StashKey[tuple[pytest.Mark, ClaimMark]]()
"""A claim's decorator, and what was read of it."""


def mark_of(item: pytest.Item) -> ClaimMark:
    """Return the arguments of a claim's decorator; raises BadClaim."""
    given = item.get_closest_marker("claim")
    assert given is not None
    known, mark = item.stash.get(_READ, (None, None))
    if mark is None or known is not given:
        mark = _read(given, item)
        item.stash[_READ] = given, mark
    return mark


def _read(given: pytest.Mark, item: pytest.Item) -> ClaimMark:
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
    if mark.kind not in KINDS:
        raise BadClaim(
            f"The claim's kind is {mark.kind!r}; write kind= one of {', '.join(map(repr, KINDS))}:"
            " what the source claims, or its repository alone, a question or a control of ours."
        )
    if mark.only_at is not None and mark.only_at not in PROFILES:
        raise BadClaim(
            f"The claim's only_at is {mark.only_at!r}, which is no profile; choose one of"
            f" {', '.join(PROFILES)}."
        )
    _require_looks(mark.looks)
    if not (type(mark.after) is int and 0 <= mark.after <= MOST_SEEDS):
        raise BadClaim(f"The claim has after={mark.after!r}; write a number of seeds: after=20.")
    if mark.level is not None:
        from repro.judge import require_level  # here: sessions without claims do without SciPy

        try:
            require_level(mark.level)
        except ValueError as error:
            raise BadClaim(f"The claim has {error}.") from None
    return replace(mark, documented=_filled_in(mark.documented, item))


def _require_looks(looks: object) -> None:
    """Raise BadClaim where a claim's looks are not growing numbers of seeds."""
    by_profile = looks if isinstance(looks, Mapping) else {} if looks is None else {"ci": looks}
    for profile, own in by_profile.items():
        if profile not in PROFILES:
            raise BadClaim(f"The claim has looks for {profile!r}, which is no profile.")
        seeds = own if isinstance(own, tuple) and all(type(n) is int for n in own) else ()
        if not seeds or list(seeds) != sorted(set(seeds)) or seeds[0] < 2 or seeds[-1] > MOST_SEEDS:
            raise BadClaim(
                f"The claim's looks are {own!r}; write growing numbers of seeds: (5, 12, 40)."
            )


def _filled_in(documented: str, item: pytest.Item) -> str:
    """Fill the parameters of a claim's case into `documented`; raises BadClaim."""
    params = parameters_of(item)
    try:
        return documented.format_map(params)
    except (LookupError, ValueError, AttributeError, TypeError) as error:
        known = f"one of its parameters ({', '.join(params)})" if params else "no parameter"
        raise BadClaim(
            f"The claim's documented is {documented!r}, which cannot be filled in ({error}); in"
            f" braces write {known}, and a brace itself twice."
        ) from None


def claim_id(item: pytest.Item) -> str:
    """Return a claim's name in the ledger: its source, its test and its parameters.

    It is not the node id, which other plugins rewrite.
    """
    assert isinstance(item, pytest.Function)
    callspec = getattr(item, "callspec", None)
    name = item.originalname.removeprefix("test_")
    source = short_source(mark_of(item).source)
    return f"{source}/{name}" + (f"[{callspec.id}]" if callspec else "")


def mark_or_none(item: pytest.Item) -> ClaimMark | None:
    """Return the arguments of a claim's decorator; None for another test, or if it is bad."""
    if item.get_closest_marker("claim") is None:
        return None
    try:
        return mark_of(item)
    except BadClaim:
        return None


def name_or_none(item: pytest.Item) -> str | None:
    """Return the name of a claim; None for another test, or for a claim with a bad decorator."""
    return None if mark_or_none(item) is None else claim_id(item)


def about(item: pytest.Item) -> str:
    """Return the first paragraph of the docstring of a claim's file."""
    assert isinstance(item, pytest.Function)
    docstring = item.module.__doc__ or ""
    return " ".join(docstring.strip().split("\n\n")[0].split())


def select_by_name(config: pytest.Config, items: list[pytest.Item]) -> None:
    """If `-k` is the full name of a claim, deselect all other tests.

    A full name may contain characters that have another meaning in `-k`.
    """
    keyword = config.option.keyword
    wanted = [item for item in items if name_or_none(item) == keyword] if keyword else []
    if wanted:
        config.option.keyword = ""
        config.hook.pytest_deselected(items=[item for item in items if item not in wanted])
        items[:] = wanted


def is_about_a_document(item: pytest.Item) -> bool:
    """Return whether a claim is about the numbers that a document prints; it trains nothing."""
    return "document" in getattr(item, "fixturenames", ())


def is_skipped(item: pytest.Item) -> bool:
    """Return whether a mark says that pytest will not run a test."""
    try:  # pytest has no public function for this
        skipped, xfailed = evaluate_skip_marks(item), evaluate_xfail_marks(item)
    except BaseException:  # a bad condition, which pytest reports when it runs the test
        return True
    return skipped is not None or (xfailed is not None and not xfailed.run)


def show_sentences(items: Iterable[pytest.Item]) -> None:
    """Put each claim's sentence and source into its docstring, for `--collect-only -v`."""
    for item in items:
        mark = item.get_closest_marker("claim")
        with suppress(BadClaim):
            if mark is not None and isinstance(item, pytest.Function):
                said = mark_of(item)
                own = item.function.__doc__ or ""
                line = f"{said.sentence} ({said.source})"
                if not own.startswith(line):  # another case of the test has put it there already
                    item.function.__doc__ = f"{line}\n{own}".rstrip()


def cases_alike(items: Iterable[pytest.Item]) -> dict[pytest.Item, str]:
    """Return the cases of a claim whose arms differ but have one label, each with an error message.

    pytest would number such cases in their order. Names from `ids=` are left alone.
    """
    by_label: dict[tuple[Path, str, str, str], dict[Arm, list[pytest.Item]]] = {}
    for item in items:
        for name, value in parameters_of(item).items():
            case = item.name.partition("[")[2]
            if isinstance(value, Arm) and re.search(rf"{re.escape(shown(value.label))}\d", case):
                test = getattr(item, "originalname", item.name)
                alike = by_label.setdefault((item.path, test, name, value.label), {})
                alike.setdefault(value, []).append(item)
    return {
        item: f"Two arms of {test} are called {label!r}: let the label of {type(arm).__name__} say"
        " what tells them apart, or name the cases with ids=."
        for (_, test, _, label), alike in by_label.items()
        if len(alike) > 1
        for arm, cases in alike.items()
        for item in cases
    }


def namesakes(items: Iterable[pytest.Item]) -> dict[pytest.Item, str]:
    """Return the claims that share their name with another claim, each with an error message."""
    by_name: dict[str, list[pytest.Item]] = {}
    for item in items:
        by_name.setdefault(claim_id(item), []).append(item)
    hiding = {
        item: f"Two claims of {item.path.name} are called {getattr(item, 'originalname', '')}, and"
        f" this one hides that of line {line}: rename one of them."
        for item in itertools.chain.from_iterable(by_name.values())
        if (line := mark_of(item).hides)
    }
    return hiding | {
        item: f"Two claims are called {name}: {same[0].nodeid} and {same[1].nodeid}; a claim is"
        " known by its source and its test's name, so rename one of the tests."
        for name, same in by_name.items()
        if len(same) > 1
        for item in same
    }


FIXTURES = {"trials", "document"}


def with_other_fixtures(items: Iterable[pytest.Item]) -> dict[pytest.Item, str]:
    """Return the claims that get a fixture of the project in place of ours, each with an error."""
    refused: dict[pytest.Item, str] = {}
    for item in items:
        assert isinstance(item, pytest.Function)
        for name in FIXTURES.intersection(item.fixturenames):
            defined = item._fixtureinfo.name2fixturedefs.get(name, ())
            modules = [getattr(each.func, "__module__", "") for each in defined]
            is_ours = modules[-1:] == ["repro.plugin.plugin"] and name not in parameters_of(item)
            if not is_ours:
                refused[item] = (
                    f"{item.originalname} is a claim, and its `{name}` is not the fixture of repro"
                    " but one of its own project: give that another name."
                )
    return refused


def parameters_of(item: pytest.Item) -> dict[str, Any]:
    """Return the values that a test is parametrized with."""
    callspec = getattr(item, "callspec", None)
    return dict(callspec.params) if callspec else {}


def fixtures_of_pytest(item: pytest.Item) -> list[str]:
    """Return the fixtures and set-up methods of a claim that only exist while pytest runs it."""
    assert isinstance(item, pytest.Function)
    arguments = [name for name in item._fixtureinfo.argnames if name not in FIXTURES]
    given = parameters_of(item).keys()
    set_up = [name for name in ("setup_method", "setup_class") if hasattr(item.cls, name)]
    return [name for name in arguments if name not in given] + set_up


def can_call_directly(item: pytest.Item) -> bool:
    """Return whether `call` does the same as pytest: no other fixture or mark affects the test."""
    others = set(getattr(item, "fixturenames", ())) - FIXTURES - parameters_of(item).keys()
    return not others - {"request"} and evaluate_xfail_marks(item) is None


def call(item: pytest.Item, **fixtures: Any) -> None:
    """Call a claim's test with its parameters, and with the given fixtures that it takes."""
    assert isinstance(item, pytest.Function)
    taken = {name: x for name, x in fixtures.items() if name in item.fixturenames}
    item.obj(**parameters_of(item), **taken)


@contextmanager
def quiet() -> Iterator[Callable[[], bool]]:
    """Suppress output and warnings within the block; yields whether there were any.

    >>> with quiet() as said_anything:
    ...     print("hello")
    >>> said_anything()
    True
    """
    nowhere = io.StringIO()
    with (
        warnings.catch_warnings(record=True) as warned,
        redirect_stdout(nowhere),
        redirect_stderr(nowhere),
    ):
        warnings.simplefilter("always")
        yield lambda: bool(warned or nowhere.tell())
