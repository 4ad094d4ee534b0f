"""A first policy for the owner to correct, drafted from the database's schema.

An owner who starts from an empty file forgets columns. The draft lists all of them, marks what is guessed, and looks at
no row unless it is asked to.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from math import ceil, floor

from dpsql.domain import EXACT_BELOW
from dpsql.errors import PolicyError
from dpsql.policy_file.schema import ColumnSchema, TableSchema
from dpsql.policy_file.toml_table import quoted, quoted_key

_SMALL = {"TINYINT": (-128, 127), "UTINYINT": (0, 255)}
_INTEGERS = frozenset(["SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"])
_NUMBERS = frozenset(["FLOAT", "REAL", "DOUBLE", "DECIMAL", "NUMERIC"])
_BINS = 20  # that a draft proposes
_LONGEST_LIST = 1000
_LONGEST_RANGE = 100_000
_HEADER = """\
# A draft: it knows the schema, not the people. Go through every line marked CHECK, then delete the mark.
# What this file declares is public: ranges and lists must come from general knowledge, never from the rows.
# A value outside its declared range or list counts as NULL. A column without a line does not exist for the analyst.
"""
_LOOKED = """\
# WARNING: this draft was made by looking at the data. Ranges and lists below marked FROM THE DATA disclose values of
# single rows, outside the privacy guarantee. Replace each by what is publicly known.
"""
_PRIVACY = """\
version = 1

[privacy]
epsilon = 1.0                     # CHECK: the whole session's budget; less is more private
delta = 1e-6                      # CHECK: well below 1 / (number of people)
neighbors = "add-remove"          # or "replace-one": units are exchanged
"""
_PUBLIC = """\

# [public]                        # tables the analyst may read freely
# tables = ["zip_codes"]
"""


@dataclass(frozen=True)
class _Line:
    """``keys`` of a column, or ``None`` when its type cannot be declared; ``note`` is the comment behind it."""

    keys: str | None
    note: str = ""


def draft_policy(tables: Iterable[TableSchema | tuple[str, Sequence[ColumnSchema | tuple[object, ...]]]]) -> str:
    """A commented policy that loads as it is, with conservative guesses marked ``# CHECK``.

    ``tables`` come from the catalog alone, unless columns carry ``low``, ``high`` or ``values``: then the text warns.
    Raises PolicyError when no column of any table can be declared.

    >>> text = draft_policy([("people", [("age", "INTEGER"), ("member", "BOOLEAN", True), ("photo", "BLOB")])])
    >>> print(text[text.index("[tables.people.columns]"):text.index("# [public]")].rstrip())
    [tables.people.columns]
    age = { type = "integer", min = 0, max = 100 }  # CHECK: the range that is publicly known
    member = { type = "boolean", nullable = false }
    # photo: BLOB columns cannot be declared
    """
    schemas = [_schema(t) for t in tables]
    if not any(_line(c).keys is not None for t in schemas for c in t.columns):
        raise PolicyError("no table with a column that can be declared", hint="is this the right database?")
    looked = any(c.looked_at for t in schemas for c in t.columns)
    parts = [_HEADER, _LOOKED if looked else "", _PRIVACY, *(_table(t) for t in schemas), _PUBLIC]
    return "".join(parts)


def with_advice(draft: str, lines: Sequence[str]) -> str:
    """The draft with comment lines before its tables.

    >>> draft = draft_policy([("people", [("member", "BOOLEAN")])])
    >>> text = with_advice(draft, ["mind the gap"])
    >>> text[text.index("neighbors"):text.index("[tables.people]")].splitlines()[-2:]
    ['# mind the gap', '']
    """
    head, tables = draft[: draft.index(_PRIVACY) + len(_PRIVACY)], draft[draft.index(_PRIVACY) + len(_PRIVACY) :]
    return head + "".join(f"# {line}".rstrip() + "\n" for line in lines) + tables


def _schema(table: TableSchema | tuple[str, Sequence[ColumnSchema | tuple[object, ...]]]) -> TableSchema:
    name, columns = table
    return TableSchema(name, tuple(ColumnSchema(*c) for c in columns))


def _table(table: TableSchema) -> str:
    name = quoted_key(table.name)
    lines = {c.name: _line(c) for c in table.columns}
    mark = "" if any(line.keys is not None for line in lines.values()) else "# "
    candidates = [c.name for c in table.columns if c.name.lower().endswith("id")]
    unit = quoted(candidates[0] if candidates else "owner_id")
    out = [
        "",
        f"{mark}[tables.{name}]",
        "# CHECK: is this one row per person? If not, name the column that tells the person:",
        f"# unit = {unit}",
        "# max_rows_per_unit = 3",
        f"{mark}[tables.{name}.columns]",
    ]
    for column, line in lines.items():
        if line.keys is None:
            out.append(f"# {column!a}: {line.note}" if not column.isprintable() else f"# {column}: {line.note}")
        else:
            out.append(f"{quoted_key(column)} = {{ {line.keys} }}" + (f"  # {line.note}" if line.note else ""))
    return "\n".join(out) + "\n"


def _line(column: ColumnSchema) -> _Line:
    if not column.name or not column.name.isprintable():
        return _Line(None, "a column of this name cannot be declared")
    base = column.sql_type.upper().split("(")[0].strip()
    never_null = ", nullable = false" if column.not_null else ""
    if column.sql_type.rstrip().endswith("]"):
        return _Line(None, f"{_printable(column.sql_type)} columns cannot be declared")
    if base == "ENUM" and column.enum_values and not any("\0" in v for v in column.enum_values):
        return _Line(f'type = "category", values = [{", ".join(quoted(v) for v in column.enum_values)}]{never_null}')
    if base == "BOOLEAN":
        return _Line(f'type = "boolean"{never_null}')
    if base in _SMALL:
        low, high = _SMALL[base]
        return _Line(f'type = "integer", min = {low}, max = {high}{never_null}')
    if base in _INTEGERS:
        return _integer(column)
    if base in _NUMBERS:
        return _number(column)
    if base == "DATE" or base.startswith("TIMESTAMP"):
        return _date(column)
    if base in ("VARCHAR", "TEXT", "UUID"):
        return _text(column, never_null)
    return _Line(None, f"{_printable(column.sql_type)} columns cannot be declared")


_FROM_DATA = "FROM THE DATA, replace it by what is publicly known"


def _integer(column: ColumnSchema) -> _Line:
    low, high = column.low, column.high
    if isinstance(low, int) and isinstance(high, int) and -EXACT_BELOW < low <= high < EXACT_BELOW:
        if high - low < _LONGEST_RANGE:
            return _Line(f'type = "integer", min = {low}, max = {high}', f"CHECK: {_FROM_DATA}")
        return _Line(f'type = "number", min = {low}, max = {high}, bins = {_BINS}', f"CHECK: {_FROM_DATA}")
    return _Line('type = "integer", min = 0, max = 100', "CHECK: the range that is publicly known")


def _number(column: ColumnSchema) -> _Line:
    low, high = column.low, column.high
    if (
        isinstance(low, int | float | Decimal)
        and isinstance(high, int | float | Decimal)
        and -EXACT_BELOW < low < high < EXACT_BELOW  # false for NaN too
    ):
        return _Line(f'type = "number", min = {floor(low)}, max = {ceil(high)}, bins = {_BINS}', f"CHECK: {_FROM_DATA}")
    return _Line(f'type = "number", min = 0, max = 100, bins = {_BINS}', "CHECK: the range and the number of bins")


def _date(column: ColumnSchema) -> _Line:
    low, high = _day(column.low), _day(column.high)
    if low is not None and high is not None and low <= high:
        return _Line(f'type = "date", min = {low}, max = {high}, unit = "month"', f"CHECK: {_FROM_DATA}")
    return _Line('type = "date", min = 2000-01-01, max = 2030-12-31, unit = "month"', "CHECK: the range and the unit")


def _text(column: ColumnSchema, never_null: str) -> _Line:
    values = column.values
    if values and len(values) <= _LONGEST_LIST and not any("\0" in v for v in values):
        listed = ", ".join(quoted(v) for v in dict.fromkeys(values))
        return _Line(f'type = "category", values = [{listed}]', f"CHECK: {_FROM_DATA}")
    note = 'unbounded; better, when the values are known: type = "category", values = ["a", "b"]'
    return _Line(f'type = "text"{never_null}', note)


def _day(value: object) -> date | None:
    if isinstance(value, datetime):
        return value.date()
    return value if isinstance(value, date) else None


def _printable(sql_type: str) -> str:
    return sql_type if sql_type.isprintable() else "such"
