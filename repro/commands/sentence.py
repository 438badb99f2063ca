"""Sentences as text: Python's comparisons and the words of a claim, parsed and never evaluated."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import Any

from repro.judge import Measured, Verdict
from repro.recorded.rows import RecordedError

WORDS = (
    "agrees_with",
    "exceeds",
    "falls_below",
    "is_at_most",
    "is_at_most_times",
    "is_times",
    "is_within",
    "matches",
    "prints",
)
"""The words of a claim that a sentence may have."""

_EXAMPLE = "write 'new.loss < old.loss', or new.loss.is_within(0.01, of=old.loss)"

Measure = Callable[["Named"], Measured]


@dataclass(frozen=True)
class Named:
    """The metric of an arm; without an arm, of all runs."""

    arm: str | None
    metric: str


@dataclass(frozen=True)
class Sentence:
    """A sentence that can be judged."""

    text: str
    tree: ast.expr

    @property
    def named(self) -> list[Named]:
        """The metrics that it compares, in their order; raises `RecordedError`.

        >>> [each.arm for each in parsed("new.loss < old.loss < 3").named]
        ['new', 'old']
        """
        return list(dict.fromkeys(self._named(self.tree)))

    @property
    def is_metric(self) -> bool:
        """True where it is the name of a metric alone, which claims nothing."""
        return isinstance(self.tree, ast.Name) or (
            isinstance(self.tree, ast.Constant) and isinstance(self.tree.value, str)
        )

    def judged(self, measure: Measure) -> Verdict:
        """Return the verdict; `measure` returns the values of a metric that it names."""
        try:
            return self._finding(self.tree, measure)
        except TypeError as error:  # of the words of a claim, which say what to write instead
            raise self.wrong(str(error).removeprefix("Measured.")) from None

    def _named(self, tree: ast.AST) -> Iterator[Named]:
        if (found := self._metric(tree)) is not None:
            yield found
            return
        parts = [*ast.iter_child_nodes(tree)]
        if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Attribute):
            parts[0] = tree.func.value
            parts = parts[:1] if tree.func.attr == "prints" else parts  # its text is no name
        for each in parts:
            yield from self._named(each)

    def _finding(self, tree: ast.expr, measure: Measure) -> Verdict:
        """Judge a comparison, a word, or several joined by `and`."""
        found: object = None
        match tree:
            case ast.BoolOp(op=ast.And(), values=parts):
                found = reduce(and_, [self._finding(each, measure) for each in parts])
            case ast.BinOp(left=left, op=ast.BitAnd(), right=right):
                found = self._finding(left, measure) & self._finding(right, measure)
            case ast.Compare(left=left, ops=signs, comparators=others):
                sides = [self._value(each, measure) for each in (left, *others)]
                found = reduce(and_, map(self._compared, sides, signs, sides[1:]))
            case ast.Call(func=ast.Attribute(value=of, attr=name), args=given, keywords=pairs):
                if name not in WORDS:
                    raise self.wrong(f"{name} is none of its words: {', '.join(WORDS)}")
                word = getattr(self._value(of, measure), name, None)
                if word is None:
                    raise self.wrong(f"{ast.unparse(of)} is no metric of an arm")
                if name == "prints":
                    found = word(*map(ast.literal_eval, given))
                else:
                    options = {x.arg: self._value(x.value, measure) for x in pairs if x.arg}
                    found = word(*(self._value(each, measure) for each in given), **options)
            case _:
                raise self.wrong(f"{ast.unparse(tree)} claims nothing")
        if not isinstance(found, Verdict):
            raise self.wrong("it is no finding")
        return found

    def _compared(self, left: Any, sign: ast.cmpop, right: Any) -> Any:
        if not isinstance(sign, ast.Lt | ast.Gt):
            raise self.wrong("it compares with neither < nor >, and no test shows equality")
        if isinstance(left, int | float) and isinstance(right, int | float):
            raise self.wrong("it compares two numbers")
        return left < right if isinstance(sign, ast.Lt) else left > right

    def _value(self, tree: ast.expr, measure: Measure) -> Any:
        """Return a metric, a gain, or a plain number or truth value."""
        if (found := self._metric(tree)) is not None:
            return measure(found)
        match tree:
            case ast.Constant(value=int() | float() as number):
                return number
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
                return -number
            case ast.BinOp(left=left, op=ast.Sub(), right=right):
                return self._value(left, measure) - self._value(right, measure)
        raise self.wrong(f"{ast.unparse(tree)} is neither a metric nor a number")

    def _metric(self, tree: ast.AST) -> Named | None:
        """Return the metric that is named: `arm.metric`, `arm["metric"]`, or a metric alone."""
        match tree:
            case ast.Name(id=metric) | ast.Constant(value=str(metric)):
                return Named(None, metric)
            case ast.Attribute(value=of, attr=metric):
                pass
            case ast.Subscript(value=of, slice=ast.Constant(value=metric)):
                pass
            case _:
                return None
        match of:
            case ast.Name(id=arm) | ast.Constant(value=str() | int() | float() as arm):
                return Named(str(arm), str(metric))
        raise self.wrong(
            f'{ast.unparse(tree)} is no metric of an arm: write arm.loss, or arm["eval/loss"]'
        )

    def wrong(self, why: str) -> RecordedError:
        """Return the error that says why it cannot be judged."""
        return RecordedError(f"The sentence {self.text!r} cannot be judged: {why}; {_EXAMPLE}.")


def parsed(text: str) -> Sentence:
    """Return a sentence from its text; raises `RecordedError`.

    >>> parsed('"2024-10-10_Muon".val_loss < new["eval/loss"]').named[1]
    Named(arm='new', metric='eval/loss')
    """
    try:
        return Sentence(text, ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise RecordedError(
            f"The sentence {text!r} is no comparison: {_EXAMPLE}; put names that Python would not"
            ' read as names into quotes, as in "2024-10-10_Muon".loss.'
        ) from None
