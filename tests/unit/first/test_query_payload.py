"""Queries in a ledger's payloads: back exactly, whatever they ask; refused where they are none."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpsql.errors import LedgerError
from dpsql.first.payload import ANSWER, UPDATE, VALUES, decode_release, encode_measurement
from dpsql.first.query_payload import decode_query, encode_query
from dpsql.hypothesis import Axis, Measurement
from dpsql.query import Factor, Interval, KeyedFactor, LinearQuery

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


def test_what_was_measured_in_intervals_comes_back_exactly() -> None:
    told = (Interval("x", 0.1, float(np.nextafter(0.3, 0.0))), Interval("y", -np.inf, 5e-324))
    axis = Axis(("b",), np.array([0, 1, 1]), 2)
    given = Measurement("t", (axis,), np.array([7, -2]), 3.25, intervals=told)
    ((kind, found),) = decode_release(json.loads(json.dumps(encode_measurement(ANSWER, given))))
    assert kind == ANSWER and found.intervals == told and found.is_by_value and found.values.tolist() == [7, -2]
    asked = LinearQuery("t", (Factor(("b",), np.array([0, 1, 1])),), intervals=told)
    assert found.answer(asked) == (-2, 3.25)
    assert found.answer(LinearQuery("t", asked.factors)) is None  # rows outside of the intervals were not counted
    assert found.answer(LinearQuery("t", asked.factors, intervals=told[:1])) is None


@pytest.mark.parametrize("broken", [[["x", "zero", "0x1p0"]], [["x", "0x1p0"]], 3])
def test_intervals_that_are_none_are_refused(broken: Any) -> None:
    payload = encode_measurement(ANSWER, Measurement("t", (), np.array(7), 3.25, intervals=(Interval("x", 0.0, 1.0),)))
    with pytest.raises(LedgerError):
        decode_release(payload | {"intervals": broken})


def test_counts_at_and_between_marks_come_back_exactly() -> None:
    given = Measurement("t", (Axis.cells(("x",), (6,)),), np.array([3, -1, 0, 9, 2, 0]), 3.25, value="x")
    ((kind, found),) = decode_release(json.loads(json.dumps(encode_measurement(VALUES, given))))
    assert kind == VALUES and found.values.tolist() == given.values.tolist() and found.scope == ("x",)
