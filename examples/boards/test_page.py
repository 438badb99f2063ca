"""The printed means that are not those of their logs, in our reading; docs/boards.md has both."""

import page
import pytest

APART = {
    *(("track 3", number) for number in ("6", "8", "17")),
    *(("golf", number) for number in ("2", "10", "17", "18", "19", "42")),
}


@pytest.mark.skipif(
    not all((page.HERE / f"{name}.csv").exists() for name in ("speedrun", "golf")),
    reason="needs speedrun.csv and golf.csv, as README.md says",
)
def test_all_other_prints_are_the_means_of_their_logs():
    apart = {(board, number) for board, number, *both in page.printed() if not page.agrees(*both)}
    assert apart == APART
