"""A session without privacy: lowered statements answered exactly, to be compared with DuckDB's own answers."""

from fractions import Fraction
from typing import Any

import pyarrow as pa

from dpsql.dialect.types import python_column
from dpsql.domain import CategoryDomain, TableDomain, TextDomain
from dpsql.policy import Policy, Privacy
from dpsql.public import DuckDbPublicSql
from dpsql.query import DistinctCount, Form, LinearQuery, Term
from dpsql.result import Answer
from dpsql.session.results.summaries import summarise
from dpsql.sql import Aggregate, Block, FrontEnd, Statement
from tests.support.contingency import TABLE, TWIN, Counted

CITIES = pa.table(
    {
        "city": pa.array(["Rome", "Bonn", "O'Hare", None]),
        "country": pa.array(["Italy", "Germany", "USA", None]),
        "age": pa.array([18, 20, 22, 24], pa.int64()),
    }
)
PETS = TableDomain("pets", (CategoryDomain("species", ("Dog", "Cat")), TextDomain("animal_name", (1, 2))))
POLICY = Policy(Privacy(Fraction(1), Fraction(1, 10**6)), (TABLE, TWIN, PETS), public_tables=("cities",))


def public_sql() -> DuckDbPublicSql:
    return DuckDbPublicSql({"cities": CITIES}.__getitem__, seconds=20.0)


def front_end() -> FrontEnd:
    return FrontEnd(POLICY, public_sql())


def front_of(table: TableDomain, *, by_value: bool = True, curves: bool = True) -> FrontEnd:
    """Of this table alone. ``by_value``, ``curves``: as where plans ask about the values of numbers, and of curves."""
    policy = Policy(Privacy(Fraction(1), Fraction(1, 10**6)), (table,))
    return FrontEnd(
        policy, DuckDbPublicSql(dict[str, Any]().__getitem__), by_value=by_value, curves=by_value and curves
    )


def forms_of(front: FrontEnd, sql: str) -> dict[Any, Form]:
    """The sum of each group of a statement with one aggregate, by the value of its first group column."""
    (block,) = front.lower(sql).blocks
    (aggregate,) = block.aggregates
    return dict(zip([g[0] if g else None for g in block.groups], aggregate.numerator, strict=True))


def off_by(front: FrontEnd, counted: Counted, sql: str) -> list[tuple[float, float]]:
    """How far each group's sum is from DuckDB's, and how far it may be by what is said of it."""
    truth = {row[0]: row[1] or 0.0 for row in counted.connection.execute(sql).fetchall()}
    found = forms_of(front, sql)
    assert found.keys() >= {k for k, v in truth.items() if v}
    return [(abs(counted.exact(f) - truth.get(k, 0.0)), counted.doubt(f)) for k, f in found.items()]


def answer(statement: Statement, tables: dict[str, Counted]) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Column names and rows of the statement with exact counts in place of released ones."""
    released = {b.name: _released(b, tables[b.table]) for b in statement.blocks}
    if statement.direct is not None:
        table = next(iter(released.values()))
        columns = [python_column(table.column(c.source)) for c in statement.direct]
        return [c.name for c in statement.direct], list(zip(*columns, strict=True))
    out = public_sql().run(statement.outer_sql or "", released, statement.public_tables)
    if statement.row_column is not None:
        assert out.column_names[0] == statement.row_column
        positions = out.column(0).to_pylist()
        out = out.drop_columns([statement.row_column])
        block = released[statement.blocks[0].name]
        for i, source in enumerate(statement.outer_columns):
            if source is not None:  # the row numbers lead to the very values that are shown
                shown = block.column(source).to_pylist()
                assert [shown[p] for p in positions] == out.column(i).to_pylist()
    shown = [python_column(c) for c in out.columns]
    for late in statement.late:  # exact numbers are both ends of their intervals
        shown[late.column] = shown[late.of]
    return out.column_names, list(zip(*shown, strict=True))


def _released(block: Block, counted: Counted) -> pa.Table:
    columns: list[object] = [range(len(block.groups))]
    columns += [[group[i] for group in block.groups] for i in range(len(block.group_columns))]
    for a in block.aggregates:
        values: list[object] = [_value(a, g, counted) for g in range(len(block.groups))]
        if a.summary is not None:
            values = _summarised(a, len(block.groups), counted)
        columns += [values] * (3 if block.needs_intervals else 1)
    return pa.table([pa.array(c, t) for c, t in zip(columns, block.schema.types, strict=True)], schema=block.schema)


def _summarised(a: Aggregate, groups: int, counted: Counted) -> list[object]:
    """A median, a variance and their like, of exact counts and sums."""

    def lookup(query: LinearQuery | DistinctCount) -> Answer:
        if isinstance(query, DistinctCount):
            value = float(counted.distinct(query))
        else:
            value = float(counted.exact(Form(0.0, (Term(1.0, query),))))
        return Answer(value, 0.0, (value, value), "exact", "public", certified=True)

    assert a.summary is not None
    whole = a.sql_type == "BIGINT"
    found = summarise(a.summary, groups, lookup, whole=whole)
    return [n.shown for n in found.answers]


def _value(a: Aggregate, group: int, counted: Counted) -> float | int | None:
    top = counted.exact(a.numerator[group])
    if a.denominator is not None:
        below = counted.exact(a.denominator[group])
        center = a.centers[group] if a.centers else 0.0
        return None if below <= 0 else (top + center * below) / below
    return round(top) if a.sql_type == "BIGINT" else top
