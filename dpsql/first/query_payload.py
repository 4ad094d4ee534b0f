"""A linear query as a part of a ledger's payload and back, exactly: its weights are public, and packed.

An iterative construction is updated with a query and its released answer; to replay it, both must be on record.
"""

from base64 import b64decode, b64encode
from collections.abc import Sequence
from typing import Any
from zlib import compress, decompress

import numpy as np

from dpsql.query import Factor, Interval, KeyedFactor, LinearQuery, Weights


def encode_query(query: LinearQuery) -> dict[str, Any]:
    """A JSON-able dict without the table's name, of a query without a ``value`` column."""
    out: dict[str, Any] = {
        "factors": [{"columns": list(f.columns), "unit": f.unit, **_packed(f.weights)} for f in query.factors]
    }
    if query.keyed is not None:
        keyed = query.keyed
        out["keyed"] = {
            "text": list(keyed.text_columns),
            "strings": [list(k) for k in keyed.strings],
            "columns": list(keyed.columns),
            "unit": keyed.unit,
            **_packed(keyed.weights),
        }
    return out


def decode_query(table: str, fields: dict[str, Any]) -> LinearQuery:
    """Inverse of ``encode_query``. KeyError, TypeError, ValueError, zlib's error or InternalError when it is none, or
    counts a row other than between 0 and 1.
    """
    factors = tuple(Factor(tuple(f["columns"]), _unpacked(f), int(f["unit"])) for f in fields["factors"])
    keyed = None
    if "keyed" in fields:
        k = fields["keyed"]
        strings = tuple(tuple(key) for key in k["strings"])
        keyed = KeyedFactor(tuple(k["text"]), strings, tuple(k["columns"]), _unpacked(k), int(k["unit"]))
    query = LinearQuery(table, factors, keyed)
    query.check_sensitivity()
    return query


def encode_intervals(intervals: Sequence[Interval]) -> list[list[str]]:
    """Column, and both ends exactly."""
    return [[i.column, i.low.hex(), i.high.hex()] for i in intervals]


def decode_intervals(fields: Sequence[Sequence[str]]) -> tuple[Interval, ...]:
    """Inverse of ``encode_intervals``. TypeError or ValueError when it is none."""
    return tuple(Interval(str(c), float.fromhex(low), float.fromhex(high)) for c, low, high in fields)


def _packed(weights: Weights) -> dict[str, Any]:
    packed = b64encode(compress(weights.astype("<i8").tobytes())).decode("ascii")
    return {"shape": list(weights.shape), "weights": packed}


def _unpacked(fields: dict[str, Any]) -> Weights:
    flat = np.frombuffer(decompress(b64decode(fields["weights"])), dtype="<i8").astype(np.int64)
    return flat.reshape(fields["shape"])
