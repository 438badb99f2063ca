"""Statements about one or two arms, as claim authors write them in an assert."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from repro.judge.contrast import UNSHIFTED, Bound, Contrast, Documented, Side, Statement, fixed
from repro.judge.judge import Judge
from repro.judge.mistakes import (
    NoArithmetic,
    require_another,
    require_number,
    require_outcomes,
    require_positive,
    require_runs,
    require_same_data,
    require_share,
    require_width,
)
from repro.judge.printed import printed_terms
from repro.judge.terms import DocumentedRun, InHalfOfRuns, OddsOfSuccess, runs_of
from repro.judge.verdict import Verdict


@dataclass(frozen=True, eq=False, kw_only=True)
class Measured(NoArithmetic, Side):
    """A metric of one arm over seeds.

    `values(n)` returns the values of the first `n` seeds, in the same order for every arm. More
    seeds are asked for only while the statement is undecided; an exception of `values` is not
    caught. A verdict gives the ratio of two arms on the log scale, and else their difference. It
    says `on log-odds` or `on log` if the means themselves give another number.

    >>> deep, shallow = trials(DEEP, SHALLOW)
    >>> assert deep.accuracy > shallow.accuracy
    >>> assert shallow.accuracy < 0.75
    """

    judge: Judge
    stands_in: bool = False
    """True where generated data stands in for the source's: then its numbers say nothing."""

    def __post_init__(self) -> None:
        if self.by_example is not None and self.scale.name != "identity":
            raise ValueError(
                f"{self.metric} of {self.label} is a mean over examples: compare it on the identity"
                f" scale, not on {self.scale.name}"
            )

    def __gt__(self, other: Measured | float) -> Verdict:
        return self.exceeds(other)

    def __lt__(self, other: Measured | float) -> Verdict:
        return self.falls_below(other)

    def __eq__(self, other: object) -> bool:
        raise TypeError(
            f"No number of seeds shows that {self.label} equals something, or does not: claim "
            "a.is_within(margin, of=b), a.matches(value, tolerance=...), a > b or a < b"
        )

    __hash__ = object.__hash__

    def __sub__(self, other: Measured) -> Gain:
        """The gain of this arm over another, to compare with another gain."""
        if not isinstance(other, Measured):
            self._no_arithmetic(other)
        require_another(self.label, self.origin, other.origin)
        require_outcomes(self.scale.name != "share", self)
        return Gain(high=self, low=_same_metric(self, other))

    def documented_as(self, number: float, *, runs: int = 1, paired: bool = True) -> Measured:
        """Return this metric with what the source prints of it: one run, or the mean of `runs`.

        Where all compared arms have one, the verdict has a second word: whether the effect is
        `as documented`, `smaller` or `larger`, or whether its size is open. `paired=False` says
        that the source trained its arms with different seeds.

        >>> deep, shallow = trials(DEEP, SHALLOW)
        >>> assert deep.accuracy.documented_as(0.82) > shallow.accuracy.documented_as(0.70)
        """
        require_runs(runs)
        documented = Documented(require_number(number, self), runs, paired)
        return self if self.stands_in else replace(self, documented=documented)

    def exceeds(
        self,
        other: Measured | float,
        *,
        by_at_least: float | None = None,
        by_ratio: float | None = None,
        in_at_least: float | None = None,
    ) -> Verdict:
        """Judge whether this is larger, by an amount in natural units or by a ratio if given.

        The claim is about means. `in_at_least=0.5` claims instead that it holds in half of the
        runs, as a median does: a few collapsed seeds do not change that.

        >>> fragile, deep = trials(FRAGILE, DEEP)  # one run of FRAGILE ends at chance
        >>> print(fragile.accuracy.exceeds(deep.accuracy).outcome)
        inconclusive
        >>> assert fragile.accuracy.exceeds(deep.accuracy, in_at_least=0.5)
        >>> deep, shallow = trials(DEEP, SHALLOW)
        >>> assert deep.accuracy.exceeds(shallow.accuracy, by_at_least=0.05)
        >>> assert shallow.perplexity.exceeds(deep.perplexity, by_ratio=1.1)
        """
        term = above(self, other, by_at_least=by_at_least, by_ratio=by_ratio)
        text = f"exceeds {term.sides[1].label}{amount(by_at_least, by_ratio)}"
        return self._in_runs(text, term, in_at_least)

    def falls_below(
        self,
        other: Measured | float,
        *,
        by_at_least: float | None = None,
        by_ratio: float | None = None,
        in_at_least: float | None = None,
    ) -> Verdict:
        """Judge whether this is smaller: `a.falls_below(b)` is judged exactly as `b.exceeds(a)`.

        `by_ratio=1.1` says that the other is at least 1.1 times this.

        >>> deep, shallow = trials(DEEP, SHALLOW)
        >>> assert deep.perplexity.falls_below(shallow.perplexity, by_ratio=1.1)
        """
        term = above(other, self, by_at_least=by_at_least, by_ratio=by_ratio)
        text = f"falls below {term.sides[0].label}{amount(by_at_least, by_ratio)}"
        return self._in_runs(text, term, in_at_least)

    def is_within(self, margin: float, *, of: Measured) -> Verdict:
        """Judge whether this lies within a margin of the other: two one-sided tests.

        >>> deep, medium = trials(DEEP, MEDIUM)
        >>> assert deep.accuracy.is_within(0.1, of=medium.accuracy)
        >>> print(deep.accuracy.is_within(0.01, of=medium.accuracy).outcome)
        refuted
        """
        _same_metric(self, of)
        return self._decide(f"is within {margin:g} of {of.label}", *_within(self, of, margin))

    def matches(self, documented: float, *, tolerance: float | None = None) -> Verdict:
        """Judge whether this lies within a tolerance of a documented value: two one-sided tests.

        A metric that no seed can change (`exact=True`) needs no tolerance: it must be the number.

        >>> shallow = trials(SHALLOW)
        >>> assert shallow.accuracy.matches(0.70, tolerance=0.02)
        >>> assert shallow.parameters.matches(10_450)
        >>> print(shallow.parameters.matches(10_451).outcome)
        refuted
        """
        documented = require_number(documented, self)
        if tolerance is None:
            if not self.is_exact:
                raise ValueError(
                    f"{self.metric} of {self.label} differs between seeds, so that it matches no"
                    f" number exactly: write matches({documented:g}, tolerance=...), or declare the"
                    " metric with exact=True if no seed can change it"
                )
            tolerance = _EXACTLY * max(1.0, abs(documented))
            text = f"matches {documented:.12g}"
        else:
            text = f"matches {documented:g} within {tolerance:g}"
        require_share(documented, self)
        terms = _within(self._on_its_examples(), fixed(documented, self), tolerance)
        return self._decide(text, *terms, documented=documented)

    def is_at_most(self, margin: float, *, below: Measured) -> Verdict:
        """Judge whether this is worse by no more than a margin, where larger is better.

        >>> medium, deep = trials(MEDIUM, DEEP)
        >>> assert medium.accuracy.is_at_most(0.06, below=deep.accuracy)
        """
        _same_metric(self, below)
        text = f"is at most {margin:g} below {below.label}"
        return self._decide(text, _not_below(self, below, margin))

    def is_times(self, documented: float, other: Measured, *, within_ratio: float) -> Verdict:
        """Judge whether the ratio to the other is the documented ratio, up to `within_ratio`.

        `within_ratio=1.1` allows 10 % more, and as much less. Two one-sided tests; of paired ratios
        if the metric is compared on the log scale (time, perplexity).

        >>> deep, shallow = trials(DEEP, SHALLOW)
        >>> print(deep.parameters.is_times(4, shallow.parameters, within_ratio=1.01))
        REPRODUCED: deep is 4 times shallow within a ratio of 1.01 in parameters
          means: deep 4.18e+04, shallow 1.045e+04
          holds: deep / shallow = 4 times, claimed > 3.96; the same on every seed
          holds: deep / shallow = 4 times, claimed < 4.04; the same on every seed
          exact: declared not to depend on the seed; identity scale
        """
        compared = self._times(other, documented)
        require_width("within_ratio", within_ratio, above=1)
        least, most = (Bound(times=documented * by) for by in (1 / within_ratio, within_ratio))
        text = f"is {documented:g} times {other.label} within a ratio of {within_ratio:g}"
        return self._decide(text, *_between(compared, least, most), documented=documented)

    def is_at_most_times(self, ratio: float, of: Measured) -> Verdict:
        """Judge whether this is at most `ratio` times the other, for a metric that should be small.

        For perplexities and times, say: `1.05` allows 5 % more, and any smaller value.

        >>> medium, deep = trials(MEDIUM, DEEP)
        >>> assert medium.perplexity.is_at_most_times(1.2, of=deep.perplexity)
        >>> print(medium.perplexity.is_at_most_times(1.02, of=deep.perplexity).outcome)
        refuted
        """
        term = replace(self._times(of, ratio), below=True)
        return self._decide(f"is at most {ratio:g} times {of.label}", term)

    def agrees_with(
        self,
        documented: float,
        *,
        runs: int,
        within: float | None = None,
        within_ratio: float | None = None,
        times: Measured | None = None,
        plus: Measured | None = None,
        paired: bool = True,
    ) -> Verdict:
        """Judge whether a documented number could be one run here, or the mean of `runs` of them.

        Refuted if the number lies outside the range of so many runs here. Reproduced if, besides,
        the mean behind the documented runs is shown to lie near the mean here: `within` an amount,
        or `within_ratio`. The number may be `times` another arm, or an amount `plus` another arm;
        `paired=False` says that the source trained the two arms with different seeds.

        >>> deep, shallow = trials(DEEP, SHALLOW)
        >>> assert deep.perplexity.agrees_with(22.3, runs=1, within_ratio=1.25)
        >>> print(deep.perplexity.agrees_with(22.3, runs=1, within_ratio=1.02).outcome)
        inconclusive
        >>> print(deep.perplexity.agrees_with(30.0, runs=1, within_ratio=1.25).outcome)
        refuted
        >>> ratio = 1.18  # printed of SHALLOW and DEEP, trained with the same three seeds
        >>> assert shallow.perplexity.agrees_with(
        ...     ratio, runs=3, within_ratio=1.25, times=deep.perplexity
        ... )
        """
        require_runs(runs)
        if times is not None and plus is not None:
            raise ValueError("the number is a multiple of an arm or an amount above it, not both")
        if (within is None) == (within_ratio is None):
            raise ValueError("say how near is near enough: give within, or within_ratio")
        require_width("within", within, above=0)
        require_width("within_ratio", within_ratio, above=1)
        documented = require_number(documented, self)
        require_share(documented if times is None else 0.0, self)
        of, bound, side = f"{documented:g}", UNSHIFTED, fixed(documented, self)
        if times is not None:
            side, bound = _same_metric(self, times), Bound(times=documented)
            of += f" times {times.label}"
        elif plus is not None:
            side, bound = _same_metric(self, plus), Bound(plus=documented)
            of += f" plus {plus.label}"
        require_outcomes(self.scale.name != "share", self)
        term = DocumentedRun(
            _compared(self._on_its_examples(), side).sides,
            bound,
            documented=documented,
            runs=runs,
            within=within,
            within_ratio=within_ratio,
            source_paired=paired,
        )
        text = f"agrees with {of}, documented of {runs_of(runs)}, {term.width}"
        return self._decide(text, term, documented=documented)

    def prints(self, text: str) -> Verdict:
        """Judge whether a printed mean, or mean and spread, is that of these recorded runs.

        Exact, without a level: the runs give these numbers, rounded to their digits. A spread is
        the standard deviation, over n - 1 or n.

        >>> from repro.recorded import judge
        >>> runs = {"plain": [0.714, 0.721, 0.731]}
        >>> judge(runs, lambda plain: plain.prints("72.2 ± 0.9 %"))
        <reproduced: mean of plain = 0.722, printed 72.2 %, 3 runs, exact>
        """
        if self.judge.design.declared:
            raise ValueError(
                f"prints(…) reads off runs that are recorded, in one look at all, which those of"
                f" {self.label} are not: claim {self.metric} with agrees_with(…) or matches(…)"
            )
        return self._decide(f"prints {text}", *printed_terms(text, self))

    def _in_runs(self, text: str, term: Contrast, share: float | None) -> Verdict:
        """Judge a comparison in the mean, or in half of the runs if that is given."""
        if share is None:
            return self._decide(text, term)
        require_outcomes(self.scale.name != "share", self)
        if share != 0.5:
            raise ValueError(
                f"in_at_least={share!r} is no claim about the median: give 0.5, or claim the mean"
            )
        term = InHalfOfRuns(term.sides, term.bound)
        return self._decide(f"{text} in at least 0.5 of the runs", term)

    def _times(self, other: Measured, ratio: float) -> Contrast:
        """The term that this exceeds `ratio` times another arm."""
        _same_metric(self, other)
        require_positive(ratio, "a ratio")
        return _compared(self, other, Bound(times=ratio))

    def _on_its_examples(self) -> Measured:
        """This metric without the error of examples, as the source measured on the same ones."""
        return replace(self, by_example=None)

    def _decide(self, text: str, *terms: Contrast, documented: float | None = None) -> Verdict:
        text = f"{self.label} {text} in {self.metric}"
        return self.judge.decide(Statement(text, terms, documented=documented))


@dataclass(frozen=True)
class Gain:
    """The difference of two arms, `high - low`, to compare with another difference.

    >>> deep, medium, shallow = trials(DEEP, MEDIUM, SHALLOW)
    >>> assert (medium.accuracy - shallow.accuracy) > (deep.accuracy - medium.accuracy)
    """

    high: Measured
    low: Measured

    @property
    def label(self) -> str:
        return f"({self.high.label} - {self.low.label})"

    def __gt__(self, other: Gain) -> Verdict:
        """Judge whether this gain is larger than the other, on the scale of the metric."""
        term = self.larger_than(other)
        text = f"{self.label} exceeds {other.label} in {self.high.metric}"
        return self.high.judge.decide(Statement(text, (term,)))

    def __lt__(self, other: Gain) -> Verdict:
        self.larger_than(other)  # raises where the other is no gain
        return other > self

    def larger_than(self, other: Gain) -> Contrast:
        """The term that this gain is larger than another."""
        if not isinstance(other, Gain):
            raise TypeError(
                f"the gain {self.label} can only be compared with another gain: for an amount "
                "write a.exceeds(b, by_at_least=...)"
            )
        _same_metric(self.high, other.high)
        ends = [(each.high.origin, each.low.origin) for each in (self, other)]
        if None not in ends[0]:
            require_another(f"the gain {self.label}", *ends)
        return Contrast((self.high, self.low, other.high, other.low))


_EXACTLY = 1e-9
"""The relative difference between two numbers that are equal but for rounding."""

Other: TypeAlias = Measured | float
"""The other side of an arm's comparison: another arm, or a number."""


def above(
    high: Other,
    low: Other,
    *,
    by_at_least: float | None = None,
    by_ratio: float | None = None,
) -> Contrast:
    """The term that one side lies above the other; at least one side is an arm."""
    if by_at_least is not None and by_ratio is not None:
        raise ValueError("say how much with by_at_least or with by_ratio, not with both")
    if by_at_least is not None and not 0 <= by_at_least < float("inf"):
        raise ValueError(f"by_at_least={by_at_least!r} must not be negative: turn the claim around")
    if by_ratio is not None and not 1 <= by_ratio < float("inf"):
        raise ValueError(f"by_ratio={by_ratio!r} must be at least 1, for example 1.1 for 10 % more")
    arm = high if isinstance(high, Measured) else low
    assert isinstance(arm, Measured)  # one side is always an arm
    require_share(by_at_least or 0.0, arm)
    bound = Bound(times=by_ratio, plus=by_at_least or 0.0)
    return _compared(_side(arm, high), _side(arm, low), bound)


def _compared(high: Side, low: Side, bound: Bound = UNSHIFTED) -> Contrast:
    """Compare two sides; raises ValueError where they are the same, or have different data."""
    require_same_data(high, low)
    require_another((low if high.is_fixed else high).label, high.origin, low.origin)
    if high.scale.name == "share":
        require_outcomes(bound == UNSHIFTED, high if not high.is_fixed else low)
        return OddsOfSuccess((high, low))
    return Contrast((high, low), bound)


def _not_below(arm: Measured, other: Side, margin: float) -> Contrast:
    """The term that an arm lies above another side minus a margin."""
    require_share(margin, arm)
    if not 0 < margin < float("inf"):
        raise ValueError(
            f"a margin of {margin!r} leaves nothing to show: give a positive amount, in the "
            "natural unit of the metric"
        )
    return _compared(arm, other, Bound(plus=-margin))


def _within(arm: Measured, other: Side, margin: float) -> tuple[Contrast, Contrast]:
    """The two terms that an arm lies within a margin of another side."""
    compared = _not_below(arm, other, margin)
    return _between(compared, compared.bound, Bound(plus=margin))


def _between(compared: Contrast, low: Bound, high: Bound) -> tuple[Contrast, Contrast]:
    """The two terms that a comparison lies above one bound and below another."""
    lower = replace(compared, bound=low, other_bound=high)
    return lower, replace(lower, bound=high, below=True, other_bound=low)


def _side(arm: Measured, other: Other) -> Side:
    if isinstance(other, Measured):
        return _same_metric(arm, other)
    number = require_number(other, arm)
    require_share(number, arm)
    require_outcomes(arm.scale.name != "share" or 0 < number < 1, arm)
    return fixed(number, arm)


def _same_metric(arm: Measured, other: Measured) -> Measured:
    """Return the other arm, or raise an error where the two cannot be compared."""
    if not isinstance(other, Measured):
        raise TypeError(
            f"this word compares {arm.label} with another arm, and got {other!r}: write a > b, or"
            f" a.matches({other!r}, tolerance=...) for a number"
        )
    scales = arm.scale, other.scale
    is_rounded = scales[0].name == scales[1].name == "identity"  # in one source, and not in another
    if arm.metric != other.metric or not (is_rounded or scales[0] == scales[1]):
        raise ValueError(
            f"{arm.label} is measured in {arm.metric} ({arm.scale.name}) and {other.label} in "
            f"{other.metric} ({other.scale.name}): compare the same metric on the same scale"
        )
    return other


def amount(by_at_least: float | None, by_ratio: float | None = None) -> str:
    """The words of a statement for an amount or a ratio; empty without one."""
    if by_ratio is not None:
        return f" by a ratio of at least {by_ratio:g}"
    return f" by at least {by_at_least:g}" if by_at_least else ""
