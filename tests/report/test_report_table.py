"""The table of runs: a row for each number, and a column for each setting in which arms differ."""

import io

import pandas

from repro.report.runs import UsedRuns, columns_of, rows_of
from repro.report.write import write_table
from tests.report.records import arm


def table(claims, store):
    file = io.StringIO()
    write_table(file, columns_of(claims), rows_of(claims, store))
    return pandas.read_csv(io.StringIO(file.getvalue()))


def test_there_is_a_row_for_each_number_of_each_run(store):
    claims = [
        UsedRuns("004/climbs", [arm(0), arm(1)], ["accuracy", "loss"]),
        UsedRuns("004/value", [arm(1)], ["accuracy"]),
    ]
    rows = table(claims, store)
    assert [*rows.columns][:4] == ["claim", "study", "arm", "arm.trained"]  # all else is alike
    climbs = rows[(rows.claim == "004/climbs") & (rows["arm.trained"] == 1)]
    assert sorted(set(climbs.seed)) == list(range(1, 13))
    first = climbs[(climbs.seed == 1) & (climbs.metric == "accuracy")]
    assert first.epoch.fillna(0).tolist() == [1, 2, 3, 4, 5, 0]  # and what it ended with
    assert first.value.round(3).tolist() == [0.302, 0.352, 0.402, 0.452, 0.502, 0.5]
    assert set(rows[rows.claim == "004/value"].metric) == {"accuracy"}


def test_a_list_has_a_row_for_each_part_and_a_run_that_nobody_has_none(store):
    claim = UsedRuns("004/climbs", [arm(0)], ["accuracy"])
    assert [*rows_of([claim])] == []

    class Listed:
        def measured(self, key):
            result = store.measured(key)
            result.values["measures"] = {"accuracy": [0.5, None, 0.7]}
            result.values["history"] = {}
            return result

    rows = [*rows_of([claim], Listed())]
    assert {row["metric"] for row in rows} == {"accuracy[0]", "accuracy[2]"}
    assert len(rows) == 24
