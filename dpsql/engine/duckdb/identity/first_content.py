"""The first rules: texts and digests of rows as ledgers of earlier versions know them. Frozen, nothing new here.

Their fingerprints and the rows of a unit that they keep must stay what they were, so none of this is shared with the
rules of :mod:`dpsql.engine.values`, however alike they look.
"""

from collections.abc import Sequence

from dpsql.dialect.types import FLOATS, INTEGERS

_TEXTS = ("VARCHAR", "ENUM", "UUID", "BLOB", "TIMESTAMP", "TIME", "DECIMAL")


def has_text(kind: str) -> bool:
    """Whether columns of a DuckDB type counted by more than their names."""
    plain = kind in INTEGERS or kind in FLOATS or kind in ("BOOLEAN", "DATE") or kind.startswith(_TEXTS)
    return plain and not kind.endswith("]")


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
