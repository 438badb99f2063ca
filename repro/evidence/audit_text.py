"""An audit in sentences: what was drawn, what was found, and what follows for the other runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from repro.evidence.audit import Checked, Finding, Plan, Trained
from repro.evidence.rounding import BLIND, HARMLESS, MARGIN
from repro.evidence.sampling import CONFIDENCE
from repro.runs.identity import name_of

SHARES = (0.05, 0.1, 0.3)


def trained_line(trained: Trained, number: int, plan: Plan) -> str:
    """Return the line that shows a run while an audit goes on."""
    same = "the same bits" if trained.is_same else trained.why or "other bits"
    of = min(plan.draws, len(plan.frame.drawable))
    return f"{number:>4}/{of} {trained.seconds:6.1f} s  {name_of(trained.drawn.run)}: {same}"


def audit_lines(plan: Plan, checked: Sequence[Checked]) -> Iterator[str]:
    """Yield the outcome of an audit."""
    total, draws = len(plan.frame.drawable), len(checked)
    chance = "each with the same chance" if plan.sampling.is_even else "costly ones more rarely"
    yield f"{draws} of {total:,} runs were drawn by seed {plan.seed}, {chance}, and trained again:"
    counts = Counter(each.finding for each in checked)
    yield "  " + ", ".join(f"{counts[each]} {each}" for each in Finding if counts[each])
    yield from map(_wrong_line, (each for each in checked if not each.is_clean))
    yield from _rounding_lines(checked)
    yield from _inference(plan, checked)
    left_out = [f"{count:,} {why}" for why, count in plan.frame.left_out.items()]
    if left_out:
        yield f"nothing is said about the other runs: {'; '.join(left_out)}"


def _wrong_line(checked: Checked) -> str:
    name = name_of(checked.trained.drawn.run)
    if checked.finding is Finding.NOT_TRAINED:
        return f"  NOT TRAINED  {checked.trained.why}"
    if checked.difference is None:
        return f"  WRONG  {name}: one diverged, or has no number in common with the other"
    difference = checked.difference
    how = (
        f"its {difference.where} differs by {_number(difference.found)} of the spread between"
        f" seeds, where rounding gives {_number(difference.measured)}"
    )
    if checked.must_be_same:
        how += "; the same kind of machine and versions trained it, so the bits should be the same"
    return f"  WRONG  {name}: {how}"


def _rounding_lines(checked: Sequence[Checked]) -> Iterator[str]:
    """Yield how runs were compared whose bits need not be the same."""
    rounded = [each for each in checked if each.finding is Finding.ROUNDED]
    if not rounded:
        return
    largest = max(each.difference.found for each in rounded if each.difference)
    yield (
        f"{len(rounded)} runs of another kind of machine, or of other versions, differ by"
        f" {_number(largest)} of the spread between seeds at most; each may by"
        f" {HARMLESS:g}, or by {MARGIN:g} times what another processor's rounding gives, which was"
        " measured on it"
    )
    if blind := sum(each.is_blind for each in rounded):
        yield (
            f"in {blind} of them rounding alone may move what they end with by {BLIND:g} of the"
            " spread and more, so that early epochs alone tell"
        )


def _inference(plan: Plan, checked: Sequence[Checked]) -> Iterator[str]:
    """Yield what the sample says of all runs that could have been drawn."""
    sampling, draws, total = plan.sampling, len(checked), len(plan.frame.drawable)
    wrong = sum(not each.is_clean for each in checked)
    worst = "" if sampling.is_even else ", also if they are those that are drawn most rarely"
    if not wrong:
        fewest = sampling.fewest_found(draws)
        if fewest is not None:
            yield (
                f"so fewer than {fewest:,} of the {total:,} runs ({fewest / total:.1%}) are wrong,"
                f" with {CONFIDENCE:.0%} confidence{worst}"
            )
        else:
            yield "so few runs say nothing about the others"
    chances = [
        f"{sampling.finds(round(share * total), draws):.0%} if {share:.0%} are" for share in SHARES
    ]
    yield f"the chance that an audit like this finds wrong runs: {', '.join(chances)}{worst}"


def _number(value: float) -> str:
    return f"{value:.2g}"
