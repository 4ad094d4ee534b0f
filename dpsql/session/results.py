"""From released numbers to the statement's result: aggregates, released tables, the outer statement. Public.

Everything after the answers is post-processing, and free; that is why it is a function of them and holds no session.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from dpsql.dialect.types import released_type, type_name
from dpsql.domain import Value
from dpsql.postprocess import combine, divide, released_array, released_table
from dpsql.query import LinearQuery
from dpsql.result import Answer, Note, Result
from dpsql.sql.public_sql import PublicSql
from dpsql.sql.statement import Block, DirectColumn, Statement

Columns = list[tuple[Answer, ...]]
"""A block's answers: for each aggregate one per group."""


def result(
    statement: Statement, answers: Mapping[str, Answer], public: PublicSql, notes: tuple[Note, ...] = ()
) -> Result:
    """What the analyst sees: ``answers`` by query key, combined and taken through the outer statement."""
    unshown = dict(answers)
    if statement.direct is not None:
        (block,) = statement.blocks
        return _direct(statement.direct, block, _answered(block, unshown), notes)
    return _through_outer(statement, [_answered(block, unshown) for block in statement.blocks], public, notes)


def queries_of(statement: Statement) -> list[LinearQuery]:
    """The distinct linear queries of a statement in asking order: block, group, aggregate, term."""
    out: dict[str, LinearQuery] = {}
    for block in statement.blocks:
        for group in range(len(block.groups)):
            for aggregate in block.aggregates:
                for forms in (aggregate.numerator, aggregate.denominator):
                    if forms is not None:
                        for term in forms[group].terms:
                            out.setdefault(term.query.digest, term.query)
    return list(out.values())


def _answered(block: Block, unshown: dict[str, Answer]) -> Columns:
    """One answer per group for each aggregate of the block; in ``unshown`` the charges that it shows become 0."""

    def lookup(query: LinearQuery) -> Answer:
        answer = unshown[query.digest]
        if answer.charged:  # a charge is shown once, where its number is first used
            unshown[query.digest] = replace(answer, charged=0.0)
        return answer

    out: Columns = []
    for aggregate in block.aggregates:
        column = []
        integer = aggregate.sql_type == "BIGINT" and aggregate.denominator is None
        for group, numerator in enumerate(aggregate.numerator):
            answer = combine(numerator, lookup, integer=integer)
            if aggregate.denominator is not None:
                bottom = combine(aggregate.denominator[group], lookup, integer=False)
                answer = divide(answer, bottom, aggregate.low, aggregate.high)
            column.append(answer)
        out.append(tuple(column))
    return out


def _through_outer(
    statement: Statement, blocks: Sequence[Columns], public: PublicSql, notes: tuple[Note, ...]
) -> Result:
    """The outer statement over the released tables; answers are lined up with its rows where they can be."""
    tables = {
        b.name: released_table(b.schema, b.groups, columns, intervals=b.needs_intervals)
        for b, columns in zip(statement.blocks, blocks, strict=True)
    }
    table = public.run(statement.outer_sql or "", tables, statement.public_tables)
    released = tuple(a for columns in blocks for row in zip(*columns, strict=True) for a in row)
    if statement.row_column is None:
        return Result(table, _types(table), {}, released, notes)
    rows = table.column(0).to_pylist()
    table = table.drop_columns([table.column_names[0]])
    by_name = {a.column: list(values) for a, values in zip(statement.blocks[0].aggregates, blocks[0], strict=True)}
    columns = {
        i: tuple([_once(by_name[source], r) for r in rows])
        for i, source in enumerate(statement.outer_columns)
        if source in by_name
    }
    return Result(table, _types(table), columns, () if columns else released, notes)


def _once(answers: list[Answer], row: int) -> Answer:
    """The answer of a row, which shows its charge the first time only."""
    answer = answers[row]
    if answer.charged:
        answers[row] = replace(answer, charged=0.0)
    return answer


def _direct(direct: Sequence[DirectColumn], block: Block, columns: Columns, notes: tuple[Note, ...]) -> Result:
    """The fast path: the block's rows are the result."""
    released: dict[str, tuple[Answer, ...]] = {}
    kinds: dict[str, str] = dict(zip(block.group_columns, block.group_types, strict=True))
    for aggregate, found in zip(block.aggregates, columns, strict=True):
        released[aggregate.column], kinds[aggregate.column] = found, aggregate.sql_type
    arrays, names, types, answers = [], [], [], {}
    for position, column in enumerate(direct):
        kind = kinds[column.source]
        if column.source in released:
            found = released[column.source]
            values: list[Value] = [a.value for a in found]
            answers[position] = found
            released[column.source] = tuple([replace(a, charged=0.0) if a.charged else a for a in found])
        else:
            at = block.group_columns.index(column.source)
            values = [group[at] for group in block.groups]
        arrays.append(released_array(values, released_type(kind)))
        names.append(column.name)
        types.append(kind)
    return Result(pa.table(arrays, names=names), tuple(types), answers, notes=notes)


def _types(table: pa.Table) -> tuple[str, ...]:
    return tuple([type_name(t) for t in table.schema.types])
