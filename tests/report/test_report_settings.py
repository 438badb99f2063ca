"""Settings in the report are shown by type and value."""

import pytest

from repro.report.page.arms import written


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1, "1"),
        (0, "0"),
        (True, "yes"),
        (False, "no"),
        (None, "none"),
        (1.0, "1"),
        ((1, True), "1, yes"),
    ],
)
def test_a_number_is_no_answer_to_a_question(value, shown):
    assert written(value) == shown
