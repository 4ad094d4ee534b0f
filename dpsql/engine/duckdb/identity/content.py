"""The texts and digests of :mod:`dpsql.engine.values` as SQL: the same in every version of DuckDB and every session.

Python is too slow for ten million rows; the contract tests hold this to what is defined there.
"""

import re
from collections.abc import Sequence

from dpsql.dialect.types import FLOATS, INTEGERS

_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")
_TIMES = ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE")
_TEXTS = ("VARCHAR", "UUID", "BLOB", "TIME", "TIME_NS", "TIME WITH TIME ZONE", *_TIMES)


def has_text(kind: str) -> bool:
    """Whether values of a DuckDB type have a text; nested types, intervals and the like have none."""
    if kind in INTEGERS or kind in FLOATS or kind in ("BOOLEAN", "DATE", *_TEXTS):
        return True
    return kind.startswith(("DECIMAL", "ENUM")) and not kind.endswith("]")


def row_text(columns: Sequence[tuple[str, str]]) -> str:
    """SQL for the text of a row of (quoted column, DuckDB type) pairs."""
    return "concat('', " + ", ".join(_field(column, kind) for column, kind in columns) + ")" if columns else "''"


def row_digest(columns: Sequence[tuple[str, str]]) -> str:
    """SQL for the MD5 of the row's text, in lower-case hexadecimal digits."""
    return f"md5({row_text(columns)})"


def same_unit(column: str, kind: str) -> str:
    """SQL that is equal for two values exactly where their texts are: no collation, and every bit of a float.

    Strings inside of a nested value compare by the collation of the column that they come from, or the session's, so
    its text stands beside it; what has no text else is told apart as DuckDB does.
    """
    if kind == "VARCHAR":
        return f"encode({column})"
    if not has_text(kind) and ("VARCHAR" in kind or "JSON" in kind):
        return f"CASE WHEN {column} IS NOT NULL THEN row({column}, encode(CAST({column} AS VARCHAR))) END"
    return _number(column, kind) or column if kind in FLOATS else column


def _field(column: str, kind: str) -> str:
    text = _number(column, kind)
    if text is not None:
        return f"coalesce({text}, ''), ','"
    string = f"hex({column})" if kind == "BLOB" else f"CAST({column} AS VARCHAR)"
    return f"coalesce(strlen({string}) || ':' || {string}, ',')"


def _number(column: str, kind: str) -> str | None:
    """The text before the comma, NULL for NULL; ``None`` for types whose text has a length."""
    text = f"CAST({column} AS VARCHAR)"
    if kind in FLOATS:
        x = f"CAST({column} AS DOUBLE)"
        return f"CASE WHEN isnan({x}) THEN 'nan' ELSE CAST(CAST(CAST({x} AS BIT) AS UBIGINT) AS VARCHAR) END"
    if kind in INTEGERS or kind in ("BOOLEAN", "DATE"):
        return text
    if found := _DECIMAL.match(kind):
        return _decimal(text, *map(int, found.groups()))
    if kind == "TIME":
        return f"CAST(epoch_us({column}) AS VARCHAR)"
    if kind == "TIMESTAMP_NS":  # what is below a microsecond is kept
        below = f"CASE WHEN epoch_ns({column}) % 1000 <> 0 THEN '.' || abs(epoch_ns({column}) % 1000) ELSE '' END"
        return f"coalesce(CAST(epoch_us(TRY_CAST({column} AS TIMESTAMP)) AS VARCHAR) || {below}, {text})"
    if kind in _TIMES:  # infinite ones have no epoch
        zone = column if kind == "TIMESTAMP WITH TIME ZONE" else f"TRY_CAST({column} AS TIMESTAMP)"
        return f"coalesce(CAST(epoch_us({zone}) AS VARCHAR), {text})"
    return None


def _decimal(text: str, width: int, scale: int) -> str:
    if scale == 0:
        return text
    if width == scale:  # '.50'
        text = f"regexp_replace({text}, '^(-?)0?[.]', '\\10.')"
    # the test first: trimming costs as much as all the rest, and is rarely needed
    return f"CASE WHEN suffix({text}, '0') THEN rtrim(rtrim({text}, '0'), '.') ELSE {text} END"
