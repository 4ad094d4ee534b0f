"""A canonical text of a row, the same in every version of DuckDB: for fingerprints and the choice of a unit's rows.

A ledger outlives versions of DuckDB, whose rendering of floats and timestamps is not promised to stay the same; so what
is digested is fixed here.
"""

from collections.abc import Sequence

from dpsql.dialect.types import FLOATS, INTEGERS


def row_text(columns: Sequence[tuple[str, str]]) -> str:
    """A SQL expression that is injective in the values of (quoted column, DuckDB type) pairs; NULL differs from ''."""
    return "concat('', " + ", ".join(_field(column, kind) for column, kind in columns) + ")" if columns else "''"


def row_digest(columns: Sequence[tuple[str, str]]) -> str:
    """The MD5 of the row's text, as UHUGEINT."""
    return f"md5_number({row_text(columns)})"


def _field(column: str, kind: str) -> str:
    if kind in FLOATS:  # the bits: the decimal rendering of a float is not promised to stay the same
        bits = f"CAST(CAST(CAST({column} AS DOUBLE) AS BIT) AS UBIGINT)"
        return f"coalesce(CAST({bits} AS VARCHAR), ''), ','"
    if kind in INTEGERS or kind == "BOOLEAN" or kind == "DATE" or kind.startswith("DECIMAL"):
        return f"coalesce(CAST({column} AS VARCHAR), ''), ','"
    text = f"CAST({column} AS VARCHAR)"
    if kind == "TIMESTAMP WITH TIME ZONE":  # as VARCHAR it would depend on the session's zone; infinite: no epoch
        text = f"coalesce(CAST(epoch_us({column}) AS VARCHAR), {text})"
    elif kind == "BLOB":
        text = f"hex({column})"
    # a string that may hold anything: its length in bytes first
    return f"coalesce(strlen({text}) || ':', '-'), coalesce({text}, '')"
