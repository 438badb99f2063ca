"""Sentences as text: Python's comparisons and the words of a claim, parsed and never evaluated."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
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

    @property
    def subject(self) -> Named | None:
        """The metric that it begins with, whose sign its answer has."""
        return next(iter(self.named), None)

    def judged(self, measure: Measure) -> Verdict:
        """Return the verdict; `measure` returns the values of a metric that it names."""
        try:
            return self._statement(self.tree, measure)
        except TypeError as error:  # of the words of a claim, which say what to write instead
            raise self.wrong(str(error).removeprefix("Measured.")) from None

    def _named(self, tree: ast.AST) -> Iterator[Named]:
        if (found := self._metric(tree)) is not None:
            yield found
            return
        parts: list[ast.AST] = [*ast.iter_child_nodes(tree)]
        if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Attribute):
            others = [*tree.args, *(pair.value for pair in tree.keywords)]
            parts = [tree.func.value, *others * (tree.func.attr != "prints")]
        for each in parts:
            yield from self._named(each)

    def _statement(self, tree: ast.expr, measure: Measure) -> Verdict:
        """Judge a comparison, a word, or several joined by `and`."""
        if isinstance(tree, ast.BoolOp | ast.BinOp) and isinstance(tree.op, ast.And | ast.BitAnd):
            parts = tree.values if isinstance(tree, ast.BoolOp) else [tree.left, tree.right]
            return self._all([self._statement(each, measure) for each in parts])
        if isinstance(tree, ast.Compare):
            sides = [self._value(each, measure) for each in (tree.left, *tree.comparators)]
            pairs = zip(sides, tree.ops, sides[1:], strict=False)
            return self._all([self._compared(a, op, b) for a, op, b in pairs])
        if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Attribute):
            if tree.func.attr not in WORDS:
                raise self.wrong(f"{tree.func.attr} is none of its words: {', '.join(WORDS)}")
            word = getattr(self._value(tree.func.value, measure), tree.func.attr, None)
            if word is None:
                raise self.wrong(f"{ast.unparse(tree.func.value)} is no metric of an arm")
            if tree.func.attr == "prints":  # its text is no name
                return self._found(word(*map(ast.literal_eval, tree.args)))
            values = [self._value(each, measure) for each in tree.args]
            options = {x.arg: self._value(x.value, measure) for x in tree.keywords if x.arg}
            return self._found(word(*values, **options))
        raise self.wrong(f"{ast.unparse(tree)} claims nothing")

    def _compared(self, left: Any, op: ast.cmpop, right: Any) -> Verdict:
        if not isinstance(op, ast.Lt | ast.Gt):
            raise self.wrong("it compares with neither < nor >, and no test shows equality")
        if isinstance(left, int | float) and isinstance(right, int | float):
            raise self.wrong("it compares two numbers")
        return self._found(left < right if isinstance(op, ast.Lt) else left > right)

    def _found(self, verdict: object) -> Verdict:
        if not isinstance(verdict, Verdict):
            raise self.wrong("it is no finding")
        return verdict

    def _all(self, verdicts: list[Verdict]) -> Verdict:
        joined = verdicts[0]
        for each in verdicts[1:]:
            joined = joined & each
        return joined

    def _value(self, tree: ast.expr, measure: Measure) -> Any:
        """Return a metric, a gain, or a plain number or truth value."""
        found = self._metric(tree)
        if found is not None:
            return measure(found)
        if isinstance(tree, ast.Constant) and isinstance(tree.value, int | float | bool):
            return tree.value
        if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
            value = self._value(tree.operand, measure)
            if isinstance(value, int | float):
                return -value
        if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Sub):
            return self._value(tree.left, measure) - self._value(tree.right, measure)
        raise self.wrong(f"{ast.unparse(tree)} is neither a metric nor a number")

    def _metric(self, tree: ast.AST) -> Named | None:
        """Return the metric that is named: `arm.metric`, `arm["metric"]`, or a metric alone."""
        if isinstance(tree, ast.Name):
            return Named(None, tree.id)
        if isinstance(tree, ast.Constant) and isinstance(tree.value, str):
            return Named(None, tree.value)
        if isinstance(tree, ast.Attribute):
            arm, metric = _text(tree.value), tree.attr
        elif isinstance(tree, ast.Subscript) and isinstance(tree.slice, ast.Constant):
            arm, metric = _text(tree.value), str(tree.slice.value)
        else:
            return None
        if arm is None:
            raise self.wrong(
                f'{ast.unparse(tree)} is no metric of an arm: write arm.loss, or arm["eval/loss"]'
            )
        return Named(arm, metric)

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


def _text(tree: ast.expr) -> str | None:
    if isinstance(tree, ast.Name):
        return tree.id
    if isinstance(tree, ast.Constant) and isinstance(tree.value, str | int | float):
        return str(tree.value)
    return None
