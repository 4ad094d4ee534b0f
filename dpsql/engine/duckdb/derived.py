"""Derived columns as SQL of DuckDB that fails on no row.

DuckDB's TRY does not keep an error where it is: two expressions that share a part have it evaluated outside of both.
So there is no TRY here, and nothing that could fail: numbers are doubles, moments are timestamps, and each column is
read by a cast that gives NULL where it has to.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from dpsql.dialect.quoting import double, identifier
from dpsql.dialect.types import FLOATS, INTEGERS
from dpsql.domain import Derived, Expression
from dpsql.domain.derived import ALIKE, FIXED, Sort
from dpsql.engine.duckdb.codes import utc_moment
from dpsql.errors import PolicyError

TYPES: Mapping[Sort, str] = {"text": "VARCHAR", "number": "DOUBLE", "boolean": "BOOLEAN", "moment": "TIMESTAMP"}
Written = tuple[str, Sort | None]
"""SQL and what it gives; ``None``: NULL, which may stand for anything."""

_INFIX = frozenset(("+", "-", "*", "||"))
_OF_A_MOMENT = frozenset(name for name, (parts, _) in FIXED.items() if parts == ("moment",))
_CALLS = frozenset(name for name in FIXED if name.isidentifier()) - _OF_A_MOMENT - {"number", "length", "like", "ilike"}


def derived_sql(derived: Derived, types: Mapping[str, str], path: str) -> tuple[str, str]:
    """SQL for the column's value, and its DuckDB type. ``types``: of the table's own columns, by lower-cased name.

    PolicyError at ``path`` where the table has no such column, or an operation does not go with its type.
    """
    try:
        sql, sort = _written(derived.expression, types)
    except PolicyError as error:
        raise PolicyError(error.message, path=path, hint=error.hint) from None
    return sql, TYPES[sort or "boolean"]


def _written(e: Expression, types: Mapping[str, str]) -> Written:
    if e.operation == "column":
        return _column(str(e.value), types)
    if e.operation == "constant":
        return _constant(e)
    parts = [_written(part, types) for part in e.parts]
    if e.operation == "case":
        return _case(parts)
    if e.operation == "is null":
        return f"({parts[0][0]} IS NULL)", "boolean"
    if e.operation in ALIKE:
        return _alike(e.operation, parts)
    wanted, gives = FIXED[e.operation]
    given = [_as(part, sort, e.operation) for part, sort in zip(parts, wanted, strict=True)]
    return _fixed(e.operation, given), gives


def _column(name: str, types: Mapping[str, str]) -> Written:
    kind, column = types.get(name.lower()), identifier(name)
    if kind is None:
        raise PolicyError(
            f"the table has no column {name!r}", hint="name columns of the same table; text stands in '...'"
        )
    if kind in INTEGERS or kind in FLOATS or kind.startswith("DECIMAL"):
        return f"TRY_CAST({column} AS DOUBLE)", "number"
    if kind in ("VARCHAR", "UUID") or kind.startswith("ENUM"):
        return f"CAST({column} AS VARCHAR)", "text"
    if kind == "BOOLEAN":
        return column, "boolean"
    if kind == "DATE" or kind.startswith("TIMESTAMP"):
        return utc_moment(column, kind), "moment"
    raise PolicyError(f"{name} is of DuckDB type {kind}, of which nothing is derived", hint="derive it in a view")


def _constant(e: Expression) -> Written:
    match e.value:
        case None:
            return "NULL", None
        case bool():
            return ("true" if e.value else "false"), "boolean"
        case str():
            return "'" + e.value.replace("'", "''") + "'", "text"
        case datetime():
            return f"TIMESTAMP '{e.value}'", "moment"
        case _:
            return double(e.value), "number"


def _as(part: Written, sort: Sort, operation: str) -> str:
    if part[1] not in (sort, None):
        raise PolicyError(
            f"{operation} needs a {sort}, not a {part[1]}",
            hint="text becomes a number by TRY_CAST(x AS DOUBLE), a day in text by comparing the text",
        )
    return part[0] if part[1] is not None else f"CAST(NULL AS {TYPES[sort]})"


def _sort_of(parts: Sequence[Written], operation: str) -> Sort | None:
    sorts = {sort for _, sort in parts if sort is not None}
    if len(sorts) > 1:
        raise PolicyError(
            f"{operation} is about a {' and a '.join(sorted(sorts))}",
            hint="compare numbers with numbers and text with text; days are DATE '2020-01-31'",
        )
    return next(iter(sorts), None)


def _alike(operation: str, parts: Sequence[Written]) -> Written:
    sort = _sort_of(parts, operation)
    given = [_as(part, sort or "boolean", operation) for part in parts]
    if operation in ("coalesce", "nullif"):
        first, rest = given[0], ", ".join(given[1:])
        if operation == "coalesce":
            return f"coalesce({', '.join(given)})", sort
        return f"CASE WHEN {_bytes(first, sort)} = {_bytes(rest, sort)} THEN NULL ELSE {first} END", sort
    first, *others = (_bytes(sql, sort) for sql in given)
    if operation == "in":
        return f"({first} IN ({', '.join(others)}))", "boolean"
    return f"({first} {operation} {others[0]})", "boolean"


def _bytes(sql: str, sort: Sort | None) -> str:
    """Text is compared by its bytes, whatever the collation of a column."""
    return f"encode({sql})" if sort == "text" else sql


def _case(parts: Sequence[Written]) -> Written:
    conditions = [_as(part, "boolean", "CASE") for part in parts[0:-1:2]]
    values = list(parts[1::2]) + ([parts[-1]] if len(parts) % 2 else [])
    sort = _sort_of(values, "CASE")
    given = [_as(value, sort or "boolean", "CASE") for value in values]
    branches = " ".join(f"WHEN {c} THEN {v}" for c, v in zip(conditions, given, strict=False))
    otherwise = f" ELSE {given[-1]}" if len(parts) % 2 else ""
    return f"CASE {branches}{otherwise} END", sort


def _fixed(operation: str, given: Sequence[str]) -> str:
    if operation in _INFIX:
        return f"({given[0]} {operation} {given[1]})"
    if operation in ("/", "%"):
        return f"({given[0]} {operation} nullif({given[1]}, 0e0))"
    if operation in ("and", "or", "like", "ilike"):
        return f"({given[0]} {operation.upper()} {given[1]})"
    if operation == "not":
        return f"(NOT {given[0]})"
    if operation == "negative":
        return f"(- {given[0]})"
    if operation == "number":
        return f"TRY_CAST({given[0]} AS DOUBLE)"
    if operation == "length" or operation in _OF_A_MOMENT:
        return f"TRY_CAST({operation}({given[0]}) AS DOUBLE)"
    if operation in _CALLS:
        return f"{operation}({', '.join(given)})"
    raise PolicyError(f"{operation} cannot be part of a derived column", hint="derive it in a view")
