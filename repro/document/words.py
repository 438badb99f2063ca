"""The words of a document claim: what an author writes in an assert.

They mirror those of `trials`; what they find is kept, so that a test cannot pass without evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, overload

from repro.document.agreement import implied
from repro.document.check import Check
from repro.document.grim import grim
from repro.document.order import climbs, exceeds, falls_below, mostly_exceed, peaks
from repro.document.printed import Value

Record: TypeAlias = Callable[[Check], Check]

ANY_PROFILE = "any"
"""What the ledger keeps these verdicts under: nothing is trained, so no size is different."""


class Document:
    """The `document` fixture of one claim: what a source prints, held against itself.

    The ledger keeps its verdict once for all profiles, as that of profile `any`, since nothing is
    trained; the data that it is about is the document.

    >>> document = Document()
    >>> bool(document("46.9%").agrees_with(percent_drop("34.86", "18.52")))
    True
    >>> print(*document.findings)
    46.9% printed; (34.86 - 18.52) / 34.86 = 46.851% to 46.896%: agrees
      46.9% stands for 46.85% to 46.95%
      34.86 stands for 34.855 to 34.865
      18.52 stands for 18.515 to 18.525
    """

    profile_name = ANY_PROFILE
    data = ("the document",)
    remarks: tuple[str, ...] = ()
    p = None  # nothing here is random
    arms_used: tuple[Any, ...] = ()
    metrics_used: tuple[str, ...] = ()
    machine = ""  # nor was anything trained

    def __init__(self) -> None:
        self.findings: list[Check] = []

    @overload
    def __call__(self, said: Value, /) -> Said: ...
    @overload
    def __call__(self, said: list[Value] | list[str], /) -> Row: ...
    def __call__(self, said: Value | list[Value] | list[str], /) -> Said | Row:
        """What the document says: one number, or a list of them in the order of the document."""
        if isinstance(said, list):
            return Row(said, self._record)
        return Said(said, self._record)

    def _record(self, check: Check) -> Check:
        self.findings.append(check)
        return check


class Said:
    """One number of a document, as text, or what it says by a formula.

    >>> said = Document()("96.63%")
    >>> print(said.is_share_of(1040).measured)
    96.63% of 1040 printed; 1005 / 1040 = 96.635%: possible
    """

    def __init__(self, said: Value, record: Record) -> None:
        self._said, self._record = said, record

    def agrees_with(self, other: Value, *, within: Value = 0) -> Check:
        """It can be what a formula implies, or what is printed elsewhere."""
        return self._record(implied(self._said, other, within=within))

    def is_share_of(self, examples: int) -> Check:
        """It can be a count out of that many examples (the GRIM test)."""
        if not isinstance(self._said, str):
            raise TypeError(f"{self._said!r} was not printed: give the share as text.")
        return self._record(grim(self._said, of=examples))

    def __gt__(self, other: Value) -> Check:
        return self._record(exceeds(self._said, other))

    def __lt__(self, other: Value) -> Check:
        return self._record(falls_below(self._said, other))

    def __eq__(self, other: object) -> bool:
        raise TypeError(
            "printed numbers are rounded, so that none equals another: claim "
            "document(a).agrees_with(b), document(a) > b or document(a) < b"
        )

    __hash__ = object.__hash__


class Row:
    """Numbers of a document in the order of its rows or columns.

    >>> print(Document()(["0.244", "0.286", "0.301"]).climbs().measured)
    0.244 < 0.286 < 0.301: agrees
    """

    def __init__(self, said: Sequence[Value], record: Record) -> None:
        self._said, self._record = said, record

    def climbs(self) -> Check:
        """Each can be larger than all before it."""
        return self._record(climbs(self._said))

    def falls(self) -> Check:
        """Each can be smaller than all before it: it climbs when read backwards."""
        return self._record(climbs(self._said[::-1]))

    def peaks_at(self, place: int) -> Check:
        """The one at this place can be the largest."""
        return self._record(peaks(self._said, place))

    def mostly_exceeds(self, others: Sequence[Value]) -> Check:
        """More than half of these can be larger than their counterparts."""
        return self._record(mostly_exceed(self._said, others))
