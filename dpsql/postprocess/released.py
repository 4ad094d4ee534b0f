"""Released tables: a block's answers as an Arrow table that the outer statement runs on. All public.

HAVING, ORDER BY, windows and joins need no rules of ours once the block's answers are a table: DuckDB runs them. This
is where numbers become that table.
"""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from dpsql.dialect.types import type_name
from dpsql.domain import Value
from dpsql.errors import DataError
from dpsql.result import Answer, CrosstabAnswers, Shown


def released_array(values: Sequence[Shown], kind: pa.DataType) -> Any:
    """The values as an Arrow array of ``kind`` (``released_type`` of their DuckDB type).

    Raises DataError for a released sum beyond its type.

    >>> released_array([1, None], pa.int64()).null_count
    1
    """
    try:
        return pa.array(values, kind)
    except (OverflowError, pa.ArrowInvalid):
        pass
    raise DataError(
        f"a released number does not fit into {type_name(kind)}", hint="sum smaller numbers, or CAST them to DOUBLE"
    )


def shown_values(answers: Sequence[Answer]) -> Sequence[Shown]:
    """What stands in the table for each of the answers."""
    return answers.numbers.tolist() if isinstance(answers, CrosstabAnswers) else [a.shown for a in answers]


def released_table(
    schema: pa.Schema,
    groups: Sequence[Sequence[Value]],
    aggregates: Sequence[Sequence[Answer]],
    *,
    intervals: bool,
) -> Any:
    """An Arrow table of ``schema`` (``Block.schema``): the row's number, its group, its answers.

    ``groups``: one tuple of values per row. ``aggregates``: one sequence of answers per aggregate, each as long as
    ``groups``. With ``intervals`` both ends follow each value, NULL where the error is unknown.
    """
    columns: list[Sequence[Shown]] = [range(len(groups))]
    group_columns = len(schema) - 1 - len(aggregates) * (3 if intervals else 1)
    columns += [[group[i] for group in groups] for i in range(group_columns)]
    for answers in aggregates:
        columns.append(shown_values(answers))
        if intervals:
            columns += [[None if a.interval is None else a.interval[end] for a in answers] for end in (0, 1)]
    return pa.table([released_array(c, t) for c, t in zip(columns, schema.types, strict=True)], schema=schema)
