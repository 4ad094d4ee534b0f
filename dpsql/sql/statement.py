"""What lowering produces: blocks of released numbers and the outer statement over them. All public.

The session answers blocks and runs the rest without knowing any syntax tree; these types are all that it sees of a
statement.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import pyarrow as pa

from dpsql.dialect.types import aggregate_type, released_type
from dpsql.domain import FiniteDomain, Value
from dpsql.query import CountForms, Crosstab, Form, LinearQuery, UnitTable
from dpsql.query.summary import LISTS, Cells, Distinct, Moments
from dpsql.result import Shown

ROW = "_row"
"""The first column of a released table: the row's number, from 0."""
DRAW, DRAWS = "_draw", "_released_draws"
"""The number of a draw: its column in a table of many draws, and the table that lists them."""
LOW, HIGH = "_low", "_high"
"""Behind an aggregate's column: the ends of its 95 % interval."""


@dataclass(frozen=True, eq=False)
class Aggregate:
    """One aggregate column of a block: for every group, ``numerator`` (divided by ``denominator`` for AVG).

    ``column`` is its name in the released table.
    BIGINT values are rounded integers, DOUBLE values are not. A denominator at or below 0 gives NULL. ``low`` and
    ``high`` (AVG) are the least and the greatest value that the averaged expression has on declared values: public, and
    ``None`` when it has none. ``centers`` (AVG), where there are any, are added to each group's quotient: only
    distances from them are averaged. ``spans`` (AVG): the same range among the rows of each group, where its conditions
    leave less of it.
    ``nonnegative``: no row adds less than 0; ``signs``: 1 for each group for which its conditions say so, -1 where no
    row of it adds more, else 0; of sums of one expression. ``summary``: what is computed in place of ``numerator``,
    whose forms are empty then. ``matched``: text columns of which something in it depends on the string, so that it is
    evaluated on those that were released alone; ``by_string``: whether what a row adds does, too. ``of_rows``: it is a
    number of rows, whatever its forms are made of.
    """

    column: str
    sql_type: str
    numerator: Sequence[Form]
    denominator: Sequence[Form] | None = None
    low: float | None = None
    high: float | None = None
    centers: tuple[float, ...] = ()
    nonnegative: bool = True
    summary: Moments | Cells | Distinct | None = None
    spans: tuple[tuple[float, float], ...] = ()
    signs: tuple[int, ...] = ()
    matched: tuple[str, ...] = ()
    by_string: bool = False
    of_rows: bool = False

    def sign(self, group: int, *, conditions: bool = True) -> int:
        """Which of ``signs`` a group has, those of all groups included; without ``conditions`` these alone."""
        return 1 if self.nonnegative else self.signs[group] if conditions and self.signs else 0

    def forms(self, group: int) -> tuple[Form, ...]:
        """All that is asked for a group."""
        if self.summary is not None:
            return self.summary.forms(group)
        below = () if self.denominator is None else (self.denominator[group],)
        return (self.numerator[group], *below)

    def label(self, group: int, number: int) -> Shown:
        """One of the values that a ``MAX`` of dates or strings may have, by number; NULL where there is none."""
        cells = self.summary.cells[group] if isinstance(self.summary, Cells) else ()
        if not cells:
            return None
        low = cells[number % len(cells)].low
        if not isinstance(self.summary, Cells) or self.summary.kind not in LISTS:
            return low
        return {low: number} if self.summary.kind == "histogram" else (low,)


@dataclass(frozen=True)
class Awaiting:
    """What a block asks at most once strings are released: about the finite ``columns``, in the table's order, queries
    of so many ``outlines``, and for each of its counts of different values the column of which they are.

    ``listed``: whether no string but a group's own is counted for it. ``together``: whether strings of several columns
    may be counted together, which no first touch does. ``texts``: the text columns of all of these, in order.
    """

    columns: tuple[str, ...]
    outlines: int
    distinct: tuple[str, ...] = ()
    listed: bool = False
    together: bool = False
    texts: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Block:
    """An innermost SELECT block that reads the private table ``table``; it becomes the released table ``name``.

    ``groups`` holds one tuple of public values per output row (one empty tuple without GROUP BY), in domain order.
    ``cut`` says which cells of which binned columns its conditions hold for a part of; ``matched``, of which text
    columns it counts rows with released strings alone. ``units``: the table, where its rows are units of another one.
    ``awaiting``: what it will ask, where it has no groups until strings are released.
    """

    name: str
    table: str
    group_columns: tuple[str, ...]
    group_types: tuple[str, ...]
    groups: tuple[tuple[Value, ...], ...]
    aggregates: tuple[Aggregate, ...]
    needs_intervals: bool = False
    cut: tuple[tuple[str, str], ...] = ()
    matched: tuple[str, ...] = ()
    units: UnitTable | None = None
    awaiting: Awaiting | None = None

    @cached_property
    def crosstab(self) -> Crosstab | None:
        """Its queries, where all that it asks is one count for each group: for one aggregate, or for equal ones."""
        forms = [a.numerator for a in self.aggregates if a.denominator is None and a.summary is None]
        found = [f.crosstab for f in forms if isinstance(f, CountForms)]
        alone = bool(found) and len(found) == len(self.aggregates) and len({c.name for c in found}) == 1
        return found[0] if alone and self.units is None else None

    @cached_property
    def queries(self) -> Sequence[LinearQuery]:
        """Its distinct linear queries in asking order: group, aggregate, term."""
        if self.crosstab is not None:
            return self.crosstab
        found: dict[str, LinearQuery] = {}
        for group in range(len(self.groups)):
            for aggregate in self.aggregates:
                for form in aggregate.forms(group):
                    for term in form.terms:
                        found.setdefault(term.query.digest, term.query)
        return tuple(found.values())

    @cached_property
    def schema(self) -> pa.Schema:
        """The released table's columns: row number, groups, aggregates, each with its interval where that is needed.

        >>> Block("b", "t", ("g0",), ("DATE",), (), (Aggregate("a0", "BIGINT", ()),), True).schema.names
        ['_row', 'g0', 'a0', 'a0_low', 'a0_high']
        """
        fields = [pa.field(ROW, pa.int64())]
        fields += [pa.field(n, released_type(t)) for n, t in zip(self.group_columns, self.group_types, strict=True)]
        for aggregate in self.aggregates:
            fields.append(pa.field(aggregate.column, aggregate_type(aggregate.sql_type)))
            if self.needs_intervals:
                fields += [pa.field(aggregate.column + end, pa.float64()) for end in (LOW, HIGH)]
        return pa.schema(fields)


@dataclass(frozen=True)
class DirectColumn:
    """An output column of a statement that is one block and nothing else: ``source`` names a column of the block."""

    name: str
    source: str


class Remark(NamedTuple):
    """What is asked beyond declared values: strings that are not declared, conditions beyond a range, as written.

    With nothing ``asked`` it is NULL, which stands for undeclared values too (``grouped``: where it is a group), the
    values of a column that is clipped, or ``moments`` that a date column is compared with and has nothing as fine as.
    ``fulfilled``: by which declared values what is ``asked`` is, where it is by none or by all of them, or where it
    tells an end of them from what is beyond. ``as_text``: that strings are compared, which are declared in another
    order.
    """

    table: str
    column: FiniteDomain
    asked: tuple[str, ...] = ()
    grouped: bool = False
    moments: tuple[str, ...] = ()
    fulfilled: Literal["", "none", "all", "end"] = ""
    as_text: bool = False


@dataclass(frozen=True)
class Dependence:
    """What an output column is computed from: ``sources`` are (released table, aggregate column) pairs.

    Without sources the column depends on public values alone. ``local``: a row's value is a function of the released
    numbers of one row of each table, each table read once. ``rank``: it is a position among rows, as ``RANK()`` gives.
    ``ends``: whether some of what it reads are ends of intervals, or all; these say what was released, and are known.
    """

    sources: frozenset[tuple[str, str]] = frozenset()
    local: bool = True
    rank: bool = False
    ends: Literal["", "some", "all"] = ""


@dataclass(frozen=True)
class LateInterval:
    """An output column that is one end of another's interval: filled in when that is known.

    ``column`` and ``of`` are positions among the output columns; ``end`` is 0 for the lower, 1 for the upper end.
    """

    column: int
    of: int
    end: Literal[0, 1]


@dataclass(frozen=True)
class Redraw:
    """The outer statement once more, over many draws of its released tables at once, without what cuts its last rows.

    ``sql``: its released tables have the number of the draw in front, in a column ``DRAW``; the table ``DRAWS`` lists
    these numbers. The first output column is the number of the draw, the others are those of the outer statement.
    ``outputs``: what each of these is computed from, the row number left out.
    """

    sql: str
    outputs: tuple[Dependence, ...]


@dataclass(frozen=True)
class Definition:
    """``name`` stands for the query ``sql``, whose columns are called ``columns`` (none: by their own names).

    ``sql`` is ``None`` where the name is given up, and stands alone: it reads no other names of the session.
    """

    name: str
    sql: str | None
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Statement:
    """A lowered statement.

    Exactly one of ``direct`` and ``outer_sql`` is set. ``direct``: the rows of the only block, in order, are the
    result. ``outer_sql``: DuckDB SQL over the released tables (``blocks``' names) and ``public_tables``; when
    ``row_column`` is set, its first output column, of that name, is the row number in the first block's released
    table: the session strips it and uses it to line answers up with rows; ``outer_columns`` then names, for each
    further output column, the aggregate column of the first block that it shows unchanged (``None``: anything else).
    Without ``outer_columns`` the first column tells rows of several sources apart, and no more.
    A statement without blocks is public. ``awaited`` lists the (table, text column) pairs, declared or derived, whose
    keys are the groups of a block and are not released yet: such a block has no groups, and the statement is to be
    lowered again once they are. ``grouped`` lists all such pairs, released or not. ``remarks``: what it asks beyond the
    declared values of columns. ``redraw`` is set when an output column is computed from released numbers rather than
    one of them; ``counts_rows``: such a number, or one that is public, goes by how many groups there are, and no
    condition on released numbers chooses among them; ``late`` columns are NULL in the outer statement. ``notices``:
    sentences that belong beside its result. ``explained``: its plan is wanted, and no answer. ``first``: statements
    inside it whose answers it depends on; it is to be lowered again once they are known. ``defines``: the name that it
    gives to a query, from the next statement on.
    """

    text: str
    blocks: tuple[Block, ...]
    direct: tuple[DirectColumn, ...] | None
    outer_sql: str | None
    row_column: str | None = None
    outer_columns: tuple[str | None, ...] = ()
    public_tables: tuple[str, ...] = ()
    awaited: tuple[tuple[str, str], ...] = ()
    grouped: tuple[tuple[str, str], ...] = ()
    remarks: tuple[Remark, ...] = ()
    redraw: Redraw | None = None
    counts_rows: bool = False
    late: tuple[LateInterval, ...] = ()
    notices: tuple[str, ...] = ()
    explained: bool = False
    first: tuple[str, ...] = ()
    defines: Definition | None = None

    @cached_property
    def queries(self) -> Sequence[LinearQuery]:
        """The distinct linear queries on private tables in asking order: those of each block."""
        match self.blocks:
            case (Block(crosstab=Crosstab() as found),):
                return found
        out: dict[str, LinearQuery] = {}
        for block in self.blocks:
            if block.units is None:
                for query in block.queries:
                    out.setdefault(query.digest, query)
        return tuple(out.values())
