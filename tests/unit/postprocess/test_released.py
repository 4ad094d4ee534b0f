"""Released tables: the schema that the dry run sees is the one that answers come in."""

from datetime import date

import pyarrow as pa
import pytest

from dpsql.dialect.types import released_type
from dpsql.errors import DataError
from dpsql.postprocess import released_array, released_table
from dpsql.result import Answer
from dpsql.sql.statement import Aggregate, Block


def answer(value: float | None, interval: tuple[float, float] | None = None) -> Answer:
    return Answer(value, None, interval, "exact", "measurement", certified=False)


def block(*types: str, intervals: bool = False) -> Block:
    names = tuple(f"g{i}" for i in range(len(types)))
    aggregates = (Aggregate("a0", "BIGINT", ()), Aggregate("a1", "DOUBLE", ()))
    return Block("b", "t", names, types, (), aggregates, intervals)


def test_rows_groups_and_answers() -> None:
    made = block("DATE", "DECIMAL(10,2)", "ENUM('a', 'b')")
    groups = [(date(2020, 1, 2), 1.25, "a"), (None, None, None)]
    table = released_table(made.schema, groups, [[answer(3), answer(4)], [answer(0.5), answer(None)]], intervals=False)
    assert table.schema == made.schema
    assert table.to_pydict() == {
        "_row": [0, 1],
        "g0": [date(2020, 1, 2), None],
        "g1": [1.25, None],
        "g2": ["a", None],
        "a0": [3, 4],
        "a1": [0.5, None],
    }


def test_intervals_stand_behind_their_number() -> None:
    made = block("BIGINT", intervals=True)
    columns = [[answer(3, (1.0, 5.0)), answer(4)], [answer(0.5, (0.25, 0.75)), answer(None)]]
    table = released_table(made.schema, [(7,), (8,)], columns, intervals=True)
    assert table.schema == made.schema
    assert table.column_names == ["_row", "g0", "a0", "a0_low", "a0_high", "a1", "a1_low", "a1_high"]
    assert table.to_pylist()[0] == {
        "_row": 0,
        "g0": 7,
        "a0": 3,
        "a0_low": 1.0,
        "a0_high": 5.0,
        "a1": 0.5,
        "a1_low": 0.25,
        "a1_high": 0.75,
    }
    assert [table[name][1].as_py() for name in ("a0_low", "a0_high", "a1_low")] == [None, None, None]


@pytest.mark.parametrize("intervals", [False, True])
def test_without_rows_it_is_what_the_dry_run_saw(intervals: bool) -> None:
    made = block("VARCHAR", "NULL", "HUGEINT", intervals=intervals)
    assert released_table(made.schema, [], [[], []], intervals=intervals) == made.schema.empty_table()


@pytest.mark.parametrize(("value", "sql_type"), [(2**63, "BIGINT"), (2**63, "HUGEINT"), (128, "TINYINT")])
def test_a_number_beyond_its_type_is_refused(value: int, sql_type: str) -> None:
    with pytest.raises(DataError, match=r"does not fit into (BIGINT|TINYINT)") as refused:
        released_array([value], released_type(sql_type))
    assert "CAST" in refused.value.hint


def test_the_largest_numbers_fit() -> None:
    assert released_array([2**63 - 1, -(2**63)], pa.int64()).to_pylist() == [2**63 - 1, -(2**63)]
