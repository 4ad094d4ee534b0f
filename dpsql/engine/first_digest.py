"""The first rule for the rows of a unit, in Python: what earlier ledgers keep of a unit must never change. Frozen."""

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from hashlib import md5
from struct import pack, unpack
from typing import Any


def first_digest(units: Sequence[object], unit: object, row: Sequence[object]) -> int:
    """The MD5 of (unit, codes, strings) as DuckDB's number; the kind of ``units``, the column, decides about NULL."""
    return _md5(_field(unit, _null(units)) + "".join(map(_field, row)))


def _md5(text: str) -> int:
    return int.from_bytes(md5(text.encode(), usedforsecurity=False).digest(), "little")


def _null(values: Sequence[Any]) -> str:
    """NULL in a column of strings is '-', in one of numbers or dates ','."""
    first = next((v for v in values if v is not None), "")
    return "," if _field(first).endswith(",") and not isinstance(first, str) else "-"


def _field(value: Any, null: str = "-") -> str:
    """The text of a value as in :mod:`dpsql.engine.duckdb.identity.first_content`."""
    match value:
        case float():
            return f"{unpack('>Q', pack('>d', value))[0]},"
        case bool():
            return f"{str(value).lower()},"
        case int() | Decimal():
            return f"{value},"
        case date() if not isinstance(value, datetime):
            return f"{value},"
        case None:
            return null
    text = str(value)
    return f"{len(text.encode())}:{text}"
