"""The sentences that a README and a report show first."""

import pytest

from repro.judge import EffectSize, Outcome
from repro.ledger import Entry, Ledger, LedgerError
from repro.report.headlines import judged
from tests.report.records import record

ROW = """
[[row]]
sentence = "It rises"
setting = "{setting}"
says = "1 → 2"
compared = "after - before"
claim = "900/rises"
profile = "{profile}"
data = "points"
"""


@pytest.fixture
def folder(tmp_path):
    """A folder of claims: one row is judged now, one in its ledger, and one nowhere."""
    profiles = ("ci", "paper", "any")
    rows = (ROW.format(setting=f"at {each}", profile=each) for each in profiles)
    (tmp_path / "headlines.toml").write_text("".join(rows))
    measured = "b - a = 3 [2, 4], 5 seeds; smaller (documented: 9)"
    entries = [
        Entry("900/rises", each, "points", "reproduced", "It rises", "", measured, **given)
        for each, given in (
            ("ci", {}),
            ("paper", {"effect_size": "smaller", "over_stored": [2.5, 20]}),
        )
    ]
    Ledger(tmp_path / "ledger" / "test_it.toml", []).accept(entries)
    return tmp_path


def test_a_row_has_the_verdict_of_the_session_or_else_that_of_the_ledger(folder):
    measured = "b - a = -1 [-2, -0.5], 8 seeds; as documented (-1)"
    now = record(
        "900/rises",
        Outcome.REFUTED,
        data="points",
        measured=measured,
        effect_size=EffectSize.AS_DOCUMENTED,
    )
    here, there, nowhere = judged([folder], [now])
    assert (here.verdict, here.measured) == ("refuted", "-1 [-2, -0.5], 8 seeds")
    assert (here.effect_size, here.documented, here.is_judged) == ("as documented", "-1", True)
    assert (there.verdict, there.effect_size) == ("reproduced", "smaller")
    assert there.measured == "3 [2, 4], 5 seeds; 2.5 over all 20"
    assert (there.documented, there.is_judged) == ("9", False)
    assert (nowhere.verdict, nowhere.measured) == ("not judged", "")
    not_run = record("900/rises", Outcome.NOT_RUN, data="points")
    assert judged([folder], [not_run])[0].verdict == "reproduced"


def test_a_folder_may_list_none_and_a_list_that_is_wrong_is_refused(folder, tmp_path):
    assert judged([tmp_path / "elsewhere"]) == []
    (folder / "headlines.toml").write_text('[[row]]\nsentence = "It rises"\n')
    with pytest.raises(LedgerError, match="cannot be read"):
        judged([folder])
