"""How a table's values are digested, whatever the database: the identity of data, and the choice of a unit's rows.

Defined here once, in Python; an engine may compute the same in its database's own language, and the contract tests hold
it to this. Were it left to each engine, a copy of the data in another database would be other data: a second budget.

A value is written as text, by what it is and not by the column's width:

- NULL: ``,``
- integers and decimals: digits without trailing zeros of a fraction, then ``,``
- floats: the 64 bits as an unsigned integer, ``nan`` for every NaN, then ``,``
- booleans ``true,`` and ``false,``; dates ``2020-01-31,``
- timestamps: microseconds since 1970 (in UTC where there is a zone), then ``,``; times: microseconds since midnight
- strings, UUIDs, values of enumerations: length in UTF-8 bytes, ``:``, the string
- blobs: the same of their upper-case hexadecimal digits

Each is the beginning of no other one of its column, so the texts of a row, put one after the other, tell rows apart.
"""

import math
import struct
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from hashlib import md5, sha256

MARK = "2:"
"""Before every fingerprint by these rules; those of the first rules have no mark."""
NO_TEXT = (list, tuple, dict, set, timedelta)
"""Columns that hold such values count by their names alone."""
_HALF = 1 << 64
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - a clock without a zone counts from here as it stands
_MICROSECOND = timedelta(microseconds=1)


def field(value: object) -> str:
    """The text of one value, as above.

    >>> [field(v) for v in (None, 7, Decimal("1.50"), 1.0, float("nan"), True, "Žába", b"\\x0a")]
    [',', '7,', '1.5,', '4607182418800017408,', 'nan,', 'true,', '6:Žába', '2:0A']
    >>> field(date(2020, 1, 31)), field(datetime(1970, 1, 1, 0, 0, 1)), field(time(0, 0, 2))
    ('2020-01-31,', '1000000,', '2000000,')
    """
    match value:
        case None:
            return ","
        case bool():
            return "true," if value else "false,"
        case int():
            return f"{value},"
        case float():
            return "nan," if math.isnan(value) else f"{struct.unpack('>Q', struct.pack('>d', value))[0]},"
        case Decimal():
            text = f"{value:f}"  # not normalize(), which rounds to the context's precision
            return f"{text.rstrip('0').rstrip('.') if '.' in text else text}," if value else "0,"
        case datetime():
            moment = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
            return f"{(moment - _EPOCH) // _MICROSECOND},"
        case date():
            return f"{value.isoformat()},"
        case time():
            return f"{(datetime.combine(_EPOCH, value) - _EPOCH) // _MICROSECOND},"
        case bytes():
            return _measured(value.hex().upper())
    return _measured(str(value))


def _measured(text: str) -> str:
    return f"{len(text.encode())}:{text}"


def row_text(values: Iterable[object]) -> str:
    """The texts of a row's values, one after the other.

    >>> row_text(["a", None, 3])
    '1:a,3,'
    """
    return "".join(map(field, values))


def row_digest(values: Iterable[object]) -> str:
    """The MD5 of a row's text in lower-case hexadecimal digits. Private.

    >>> row_digest([])
    'd41d8cd98f00b204e9800998ecf8427e'
    """
    return md5(row_text(values).encode(), usedforsecurity=False).hexdigest()


def content_of(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """The fingerprint of a table: ``columns`` in order of their lower-cased names, ``rows`` in any order. Private.

    >>> content_of(["a"], [[1], [2]]) == content_of(["a"], [[2], [1]]) != content_of(["a"], [[1], [1]])
    True
    """
    number, low, high = 0, 0, 0
    for row in rows:
        digest = bytes.fromhex(row_digest(row))
        number += 1
        low += int.from_bytes(digest[:8], "little")
        high += int.from_bytes(digest[8:], "little")
    return content(columns, number, low, high)


def content(columns: Sequence[str], number: int, low: int, high: int) -> str:
    """The same from the number of rows and the sums of their digests' halves, each half read as little-endian.

    Sums do not depend on the order of rows, and duplicates count. Columns whose values have no text above count by
    their names alone, which refuses too much, never too little.
    """
    told = ([name.lower() for name in columns], number, low % _HALF, high % _HALF)
    return MARK + sha256(repr(told).encode()).hexdigest()


def data(contents: Mapping[str, str]) -> str:
    """The fingerprint of all private tables together: by their names, each with its content. Private."""
    return sha256(repr(sorted((name.lower(), found) for name, found in contents.items())).encode()).hexdigest()
