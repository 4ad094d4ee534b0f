"""Trying the outer statement out before anything is asked: what cannot be answered whatever the counts are is refused.

An error of the outer statement costs the analyst what its counts have cost. Its groups are public and their number is
known, so it runs on them with made-up counts first: what fails on all of these, takes too long or yields a value that
Python has no form for is refused at no charge.
"""

from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa

from dpsql.dialect.types import check_python_forms, is_number
from dpsql.errors import DataError
from dpsql.sql.public_sql import PublicSql
from dpsql.sql.statement import HIGH, LOW, Block

MADE_UP: tuple[Callable[[int, int], int], ...] = (
    lambda row, place: 1_000 + 10 * place + row,
    lambda row, place: 1_000_000 // 3**place + row,
    lambda row, place: 10 * 3**place + row,
    lambda row, place: 0,
    lambda row, place: 1,
)
"""Counts by row and column: growing, shrinking and equal ones, so that differences have either sign."""
_PLACES = 12  # columns with powers of their own


def try_out(public: PublicSql, outer: str, blocks: Sequence[Block], public_tables: Sequence[str]) -> pa.Table:
    """The outer statement's rows on the first made-up counts with which it does not fail.

    Raises what it raises on all of them, and at once what no other counts would change: DataError for values,
    UnsupportedQuery for time and memory, ProgrammingError for names and types.
    """
    failed = DataError("the outer statement fails")
    for number, counts in enumerate(MADE_UP):
        try:
            found = public.run(outer, _tables(blocks, counts), public_tables, trial=True)
            check_python_forms(found)
        except DataError as error:
            failed = error if number == 0 else failed
        else:
            return found
        if not any(block.aggregates for block in blocks):
            break
    raise failed


def _tables(blocks: Sequence[Block], counts: Callable[[int, int], int]) -> Mapping[str, pa.Table]:
    return {block.name: _table(block, counts) for block in blocks}


def _table(block: Block, counts: Callable[[int, int], int]) -> pa.Table:
    """The block's released table with its own groups and made-up numbers."""
    rows, names = range(len(block.groups)), block.schema.names
    columns: list[pa.Array] = [pa.array(rows, block.schema.types[0])]
    for i, kind in enumerate(block.schema.types[1 : 1 + len(block.group_columns)]):
        columns.append(pa.array([group[i] for group in block.groups], kind))
    of = {a.column: (place % _PLACES, a) for place, a in enumerate(block.aggregates)}
    for name, kind in zip(names[len(columns) :], block.schema.types[len(columns) :], strict=True):
        shift = 5 * (name.endswith(HIGH) - name.endswith(LOW))
        place, aggregate = of[name.removesuffix(HIGH).removesuffix(LOW)]
        made_up = [counts(row, place) + shift for row in rows]
        if is_number(kind):
            columns.append(pa.array(made_up, kind))
        else:
            columns.append(pa.array([aggregate.label(row, n) for row, n in zip(rows, made_up, strict=True)], kind))
    return pa.table(columns, schema=block.schema)
