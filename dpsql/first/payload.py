"""Measurements as ledger payloads and back, exactly. Partitions are stored as packed labels: they are public.

State is a fold of the ledger, so what is written here is all that a restarted session knows; to change it would take a
version of the format.
"""

from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any
from zlib import compress, decompress
from zlib import error as ZlibError  # noqa: N812 - a class named as a module's function

import numpy as np

from dpsql.errors import InternalError, LedgerError
from dpsql.first.query_payload import decode_intervals, decode_query, encode_intervals, encode_query
from dpsql.hypothesis import Axis, Measurement
from dpsql.ledger.event import Payload
from dpsql.query import Key

ROW_COUNT = "total"
CONTINGENCY = "contingency"
ANSWER = "answer"
"""A measurement that answers what it determines, and that no model is fitted to."""
ONE_COUNT = "one count"
"""What answers a hard round's question as one number, or a spare release's questions: it is kept with the answers."""
RESIDUAL = "residual"
"""Weighted counts of a spare release that measures only what estimates leave open: it is kept with the answers."""
UPDATE = "update"
"""The answer to one query, with the query itself: what an iterative construction is updated with."""
KEYS = "keys"
"""Counts of the selected keys of a text column."""
COMPARED = "compared"
"""What the selection of a text column compared: of the keys that it showed, and of NULL; or of keys that are listed."""
LISTED = "listed"
"""Counts of keys that were listed and not selected, as exact as those of selected ones."""
POSITIONS = "positions"
"""Sums of the positions of a number column's rows inside their bins."""
VALUES = "values"
"""Counts of a number column's rows at and between round numbers."""
DISTINCT = "distinct"
"""The number of strings in a text column."""
SEVERAL = "several"
"""Several measurements under one reservation."""
KEPT_LISTS = 4
"""Lists of keys that are kept to be compared with the next."""
KINDS = frozenset(
    {ROW_COUNT, CONTINGENCY, ANSWER, ONE_COUNT, RESIDUAL, UPDATE, KEYS, COMPARED, POSITIONS, VALUES, DISTINCT, LISTED}
)
"""What a measurement in a ledger can be."""


def encode_measurements(measurements: Sequence[tuple[str, Measurement]]) -> dict[str, Any]:
    """The payload of a release of several (kind, measurement), in their order."""
    return {"kind": SEVERAL, "measurements": [encode_measurement(kind, m) for kind, m in measurements]}


class KeyLists:
    """Lists of keys that were decoded before: each portion of a text column names the same ones."""

    def __init__(self) -> None:
        self._known: list[tuple[list[Any], tuple[Key, ...]]] = []

    def decode(self, listed: Sequence[Sequence[str | None]]) -> tuple[Key, ...]:
        """``listed`` as keys, the same object for the same list while few others came between."""
        if not listed or set(map(len, listed)) != {1}:
            return tuple(map(tuple, listed))
        strings = list(chain.from_iterable(listed))
        found = next((keys for known, keys in self._known if known == strings), None)
        if found is None:
            found = tuple(map(tuple, listed))
            self._known = [(strings, found), *self._known[: KEPT_LISTS - 1]]
        return found


def decode_release(payload: Payload, lists: KeyLists | None = None) -> list[tuple[str, Measurement]]:
    """What a release holds, as (kind, measurement) in order; LedgerError when it cannot be read.

    ``lists``: of the releases that were read before.
    """
    parts = payload.get("measurements") if payload.get("kind") == SEVERAL else [payload]
    if not isinstance(parts, list) or not all(isinstance(p, Mapping) for p in parts):
        raise LedgerError("a release in the ledger cannot be read")
    unknown = sorted({str(p.get("kind")) for p in parts} - KINDS)
    if unknown:
        raise LedgerError(
            f"the ledger holds a release of a kind that this dpsql does not know: {unknown[0]}",
            hint="open it with the dpsql version that wrote it",
        )
    known = KeyLists() if lists is None else lists
    return [(str(p.get("kind")), decode_measurement(p, known)) for p in parts]


def encode_measurement(kind: str, measurement: Measurement) -> dict[str, Any]:
    """A JSON-able dict: ``kind``, table, axes, values, sigma, text columns and keys."""
    return {
        "kind": kind,
        "table": measurement.table,
        "axes": [_encode_axis(a) for a in measurement.axes],
        "shape": list(measurement.values.shape),
        "values": measurement.values.reshape(-1).tolist(),
        "sigma": measurement.sigma.hex(),
        "text": list(measurement.text_columns),
        "keys": measurement.keys,
        **({} if measurement.value is None else {"value": measurement.value}),
        **({} if not measurement.intervals else {"intervals": encode_intervals(measurement.intervals)}),
        **({} if measurement.query is None else {"query": encode_query(measurement.query)}),
    }


def decode_measurement(payload: Payload, lists: KeyLists | None = None) -> Measurement:
    """Inverse of ``encode_measurement``; LedgerError when the payload is not one."""
    known = KeyLists() if lists is None else lists
    try:
        values = np.array(payload["values"], dtype=np.int64).reshape(payload["shape"])
        return Measurement(
            str(payload["table"]),
            tuple(_decode_axis(a) for a in payload["axes"]),
            values,
            float.fromhex(payload["sigma"]),
            tuple(payload["text"]),
            known.decode(payload["keys"]),
            str(payload["value"]) if "value" in payload else None,
            decode_query(str(payload["table"]), payload["query"]) if "query" in payload else None,
            decode_intervals(payload.get("intervals", ())),
        )
    except (KeyError, TypeError, ValueError, OverflowError, InternalError, ZlibError):
        pass
    raise LedgerError("a release in the ledger cannot be read")


def _encode_axis(axis: Axis) -> dict[str, Any]:
    out: dict[str, Any] = {"columns": list(axis.columns), "shape": list(axis.labels.shape), "size": axis.size}
    if axis.difference:
        return out | {"difference": True}
    if not (axis.labels.reshape(-1) == np.arange(axis.labels.size)).all():
        out["labels"] = b64encode(compress(axis.labels.astype("<i4").tobytes())).decode("ascii")
    return out


def _decode_axis(fields: dict[str, Any]) -> Axis:
    columns, shape = tuple(fields["columns"]), tuple(fields["shape"])
    if fields.get("difference", False):
        (column,) = columns
        return Axis.difference_of(column)
    if "labels" not in fields:
        return Axis.cells(columns, shape)
    labels = np.frombuffer(decompress(b64decode(fields["labels"])), dtype="<i4").astype(np.int64)
    return Axis(columns, labels.reshape(shape), int(fields["size"]))
