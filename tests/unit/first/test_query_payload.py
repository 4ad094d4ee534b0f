"""Queries in a ledger's payloads: back exactly, whatever they ask; refused where they are none."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpsql.errors import LedgerError
from dpsql.first.payload import UPDATE, decode_release, encode_measurement
from dpsql.first.query_payload import decode_query, encode_query
from dpsql.hypothesis import Measurement
from dpsql.query import Factor, KeyedFactor, LinearQuery

FINITE = LinearQuery("t", (Factor(("a", "c"), np.array([[0, 1], [1, 1]])), Factor(("b",), np.array([0, 3, 7]), 7)))
KEYED = LinearQuery(
    "t",
    (Factor(("b",), np.array([1, 0, 1])),),
    KeyedFactor(("name", "place"), (("x", None), ("é\0", "y")), ("a",), np.array([[1, 0], [0, 2]]), 2),
)
QUERIES = [
    FINITE,
    KEYED,
    LinearQuery("t", ()),
    LinearQuery("t", (), KeyedFactor(("n",), ((None,),), (), np.array([1]))),
]


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_comes_back_exactly(query: LinearQuery) -> None:
    found = decode_query("t", json.loads(json.dumps(encode_query(query))))
    assert found.digest == query.digest and found.outline == query.outline and found.unit == query.unit


@pytest.mark.parametrize("query", QUERIES)
def test_an_update_comes_back_with_its_query(query: LinearQuery) -> None:
    given = Measurement("t", (), np.array(-7), 3.25, query=query)
    ((kind, found),) = decode_release(json.loads(json.dumps(encode_measurement(UPDATE, given))))
    assert kind == UPDATE and found.query is not None
    assert (found.query.digest, int(found.values), found.sigma) == (query.digest, -7, 3.25)
    assert found.answer(query) is None  # kept with the answers; it determines no query of a scope


def wrong_weights(fields: dict[str, Any]) -> None:
    fields["factors"][0]["unit"] = 0


def column_twice(fields: dict[str, Any]) -> None:
    fields["factors"].append(fields["factors"][1])


def no_shape(fields: dict[str, Any]) -> None:
    fields["factors"][0]["shape"] = [3]


def no_columns(fields: dict[str, Any]) -> None:
    del fields["factors"][0]["columns"]


def torn(fields: dict[str, Any]) -> None:
    fields["factors"][0]["weights"] = "eJw="


@pytest.mark.parametrize("breaks", [wrong_weights, column_twice, no_shape, no_columns, torn])
def test_what_is_no_query_is_refused(breaks: Callable[[dict[str, Any]], None]) -> None:
    payload = encode_measurement(UPDATE, Measurement("t", (), np.array(5), 3.0, query=FINITE))
    breaks(payload["query"])
    with pytest.raises(LedgerError):
        decode_release(payload)
