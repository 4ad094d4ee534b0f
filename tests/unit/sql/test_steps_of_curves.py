"""Where logarithms and roots pass a value: against what DuckDB says of every double about that place."""

from itertools import pairwise
from math import inf, nextafter

import duckdb
import pyarrow as pa
import pytest

from dpsql.sql.expressions.changes.placed import Curve, Pieces
from dpsql.sql.expressions.changes.straight import Straight

INVERSES = {
    "ln": lambda v: 2.718281828459045**v,
    "log": lambda v: 10.0**v,
    "log10": lambda v: 10.0**v,
    "log2": lambda v: 2.0**v,
    "sqrt": lambda v: v * v,
}
AROUND = 300
"""Doubles that are looked at on either side."""


def neighbours(x: float) -> list[float]:
    below, above = [x], [x]
    for _ in range(AROUND):
        below.append(nextafter(below[-1], -inf))
        above.append(nextafter(above[-1], inf))
    return [*reversed(below), *above[1:]]


@pytest.mark.parametrize("value", [0.5, 1.0, 2.0, 2.5, 3.7, 5.0, 7.25, 12.0, 20.5])
@pytest.mark.parametrize("name", INVERSES)
def test_every_double_is_on_the_side_that_its_place_says(name: str, value: float) -> None:
    """A comparison changes at the places that are named, or at a double next to one, and nowhere else."""
    steps = Curve(name, Pieces(frozenset([Straight("x")]))).compared([value])["x"]
    places = [b for b in steps if isinstance(b, float)]
    near = {y for b in places for y in (nextafter(b, -inf), b, nextafter(b, inf))}
    doubles = pa.table({"x": neighbours(INVERSES[name](value))})
    changes = 0
    with duckdb.connect() as con:
        con.register("doubles", doubles)
        for sign in ("<", "<=", ">", ">=", "="):
            rows = con.execute(f"SELECT x, {name}(x) {sign} {value!r}::DOUBLE FROM doubles ORDER BY x").fetchall()
            for (x, before), (y, after) in pairwise(rows):
                if before != after:
                    changes += 1
                    assert x in near or y in near, (name, sign, x, y)
    assert changes >= 4


def test_what_is_never_reached_has_no_place_of_its_own() -> None:
    x = Pieces(frozenset([Straight("x")]))
    for name, value in (("sqrt", -1.0), ("ln", 1e4), ("log10", 400.0)):
        assert Curve(name, x).compared([value])["x"] == {0.0}
    assert Curve("ln", x).compared([inf])["x"] == {0.0}
