r"""Tables and columns as ``\d`` lists them. All of it is public.

Analysts can only ask for what is declared; this shows them all of it.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import isclose

from dpsql.domain import CategoryDomain, ColumnDomain, NumberDomain, TableDomain, TextDomain, undeclared_become
from dpsql.interface.render.layout import broken, grid
from dpsql.interface.render.number import plain
from dpsql.interface.render.style import Style, escape, shorten, width
from dpsql.result import table_notes

LONGEST_DOMAIN = 60
_SHORTEST_DOMAIN = 16
_HEADER = ("column", "kind", "domain", "null", "other values")
_LISTED = 40


PublicColumns = Sequence[tuple[str, str]]
"""Names and DuckDB types of a public table's columns."""


def render_tables(tables: Sequence[TableDomain], public: Mapping[str, PublicColumns], style: Style) -> list[str]:
    """One line per private table, then one per public table."""
    rows = [(escape(t.name), f"{len(t.columns):,}", cells(t), unit(t)) for t in tables]
    rows += [(escape(name), f"{len(columns):,}", "", "none: public") for name, columns in public.items()]
    return grid(("table", "columns", "cells", "privacy unit"), rows, ("left", "right", "right", "left"), style)


def render_columns(table: TableDomain, style: Style) -> list[str]:
    """One line per column of ``table``, then what its numbers do not speak of."""
    longest = _left_for_domains(table, style)
    rows = [(escape(c.name), c.kind, shorten(domain_text(c), longest, style), *_rest(c)) for c in table.columns]
    count = len(table.columns)
    size = f"{count:,} column{'' if count == 1 else 's'}, {cells(table)} cells"
    head = f"{style.bold(escape(table.name))}: {size}; privacy unit: {unit(table)}"
    listed = grid(_HEADER, rows, ("left",) * 5, style)
    return [head, *listed, *broken((f"note: {escape(note.text)}" for note in table_notes(table)), style)]


def render_public(name: str, columns: PublicColumns, style: Style) -> list[str]:
    """One line per column of a public table."""
    count = len(columns)
    head = f"{style.bold(escape(name))}: {count:,} column{'' if count == 1 else 's'}; public: its rows are free to read"
    listed = grid(("column", "type"), [(escape(c), kind) for c, kind in columns], ("left", "left"), style)
    return [*broken([head], style), *listed]


def _rest(column: ColumnDomain) -> tuple[str, str]:
    return ("yes" if column.nullable else "no", _UNDECLARED[undeclared_become(column)])


def _left_for_domains(table: TableDomain, style: Style) -> int:
    """Columns of the terminal for the domains, which alone are cut: all where there is no terminal."""
    if not style.columns:
        return LONGEST_DOMAIN
    taken = [(escape(c.name), c.kind, *_rest(c)) for c in table.columns] + [(*_HEADER[:2], *_HEADER[3:])]
    others = sum(2 + max(width(row[i]) for row in taken) for i in range(4))
    return min(LONGEST_DOMAIN, max(style.columns - others, _SHORTEST_DOMAIN))


_UNDECLARED = {"clipped": "clipped", "NULL": "count as NULL", "left out": "not counted", "none": ""}


def cells(table: TableDomain) -> str:
    """Size of the universe of the finite columns, readable up to any size."""
    return f"{table.cells:,}" if table.cells < 10**12 else f"{float(table.cells):.1e}"


def unit(table: TableDomain) -> str:
    """What the guarantee protects."""
    if table.unit is None:
        return "one row"
    rows = table.max_rows_per_unit
    return f"one {escape(table.unit)}, at most {rows:,} row{'' if rows == 1 else 's'}"


def domain_text(column: ColumnDomain) -> str:
    """A column's domain in a few words.

    >>> domain_text(CategoryDomain("sex", ("Female", "Male"))), domain_text(NumberDomain("hours", (0.0, 50.0, 100.0)))
    ('2 values: Female, Male', '0 to 100 in 2 bins of 50')
    """
    match column:
        case NumberDomain():
            return _bins(column)
        case CategoryDomain():
            count = len(column.values)
            listed = ", ".join(escape(v) or "''" for v in column.values[:_LISTED])
            return f"{count:,} value{'' if count == 1 else 's'}: {listed}" + (", ..." if count > _LISTED else "")
        case TextDomain():
            if not column.prefixes:
                return f"{column.words}: ask with =, IN or a public list"
            return f"{column.words}; prefixes of {', '.join(str(p) for p in column.prefixes)}"
        case _:
            return column.words


def _bins(column: NumberDomain) -> str:
    count = len(column.edges) - 1
    bins = f"{count:,} bin{'' if count == 1 else 's'}"
    steps = [b - a for a, b in pairwise(column.edges)]
    if count == 1 or all(isclose(s, steps[0], rel_tol=1e-9) for s in steps):
        return f"{plain(column.edges[0])} to {plain(column.edges[-1])} in {bins} of {steps[0]:.6g}"
    return f"{bins} from " + ", ".join(plain(e) for e in column.edges[:-1]) + f"; up to {plain(column.edges[-1])}"
