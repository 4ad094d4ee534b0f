"""Where what is rounded passes a value: against what DuckDB says of the doubles about all places near it."""

import tempfile
from itertools import pairwise
from math import inf, nextafter
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from sqlglot import exp

import dpsql
from dpsql.domain import NumberDomain
from dpsql.sql.counting.bins.points import is_unknown, points_of
from dpsql.sql.expressions.changes.placed import Pieces, Rounded, moved, rounding
from dpsql.sql.expressions.changes.steps import Lattice
from dpsql.sql.expressions.changes.straight import Straight, arithmetic

X = Straight("x")
LINES = {
    "x": X,
    "x * 100": arithmetic(exp.Mul, X, 100.0),
    "x / 7": arithmetic(exp.Div, X, 7.0),
    "3 - x": arithmetic(exp.Sub, 3.0, X),
    "x * 0.3 + 2": arithmetic(exp.Add, arithmetic(exp.Mul, X, 0.3), 2.0),
}
WAYS = {
    "floor({})": ("floor", []),
    "ceil({})": ("ceil", []),
    "trunc({})": ("trunc", []),
    "round({})": ("round", []),
    "round({}, -1)": ("round", [-1.0]),
    "CAST({} AS BIGINT)": ("round", []),
}


def known(way: str, line: str) -> Rounded:
    name, digits = WAYS[way]
    of = LINES[line]
    assert of is not None
    found = rounding(name, [Pieces(frozenset([of])), *digits])
    assert found is not None
    return found


def places_of(rounded: Rounded, value: float) -> list[float]:
    (lattice,) = rounded.compared([value])["x"]
    assert isinstance(lattice, Lattice) and lattice.passed is not None
    return list(lattice.passed)


def about(line: Straight, value: float, unit: float) -> list[float]:
    """Doubles next to each place, and between them, some units around a value."""
    near: set[float] = set()
    for k in range(-9, 10):
        for part in (0.0, 0.5):
            x = line.solved((value // unit + k + part) * unit)
            near |= {x, *(x + i * np.spacing(x) for i in range(-4, 5))}
    return sorted(near)


@pytest.mark.parametrize("value", [0.0, 5.0, 5.5, -3.0, 12.0, 40.0, 1999.0])
@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("way", WAYS)
def test_every_double_is_on_the_side_that_its_place_says(way: str, line: str, value: float) -> None:
    rounded, of = known(way, line), LINES[line]
    assert of is not None
    near = {y for b in places_of(rounded, value) for y in (nextafter(b, -inf), b, nextafter(b, inf))}
    doubles = pa.table({"x": about(of, value, rounded.unit)})
    changes, text = 0, way.format(line.replace("100", "100::DOUBLE").replace("0.3", "0.3::DOUBLE"))
    with duckdb.connect() as con:
        con.register("doubles", doubles)
        for sign in ("<", "<=", ">", ">=", "=", "<>"):
            rows = con.execute(f"SELECT x, {text} {sign} {value!r}::DOUBLE FROM doubles ORDER BY x").fetchall()
            for (x, before), (y, after) in pairwise(rows):
                if before != after:
                    changes += 1
                    assert x in near or y in near, (sign, x, y)
    assert changes >= 4


def test_a_line_of_what_is_rounded_passes_where_that_passes_another_value() -> None:
    tens = moved(exp.Mul, known("floor({})", "x / 7"), 10.0)
    assert isinstance(tens, Rounded)
    assert {21.0, 28.0} <= set(places_of(tens, 30.0)) and 70.0 not in places_of(tens, 30.0)


def test_of_too_many_places_those_are_looked_at_where_a_constant_is_passed() -> None:
    wide, narrow = NumberDomain("x", (0.0, 100.0, 1e6)), NumberDomain("x", (0.0, 50.0, 100.0))
    plain, compared = rounding("round", [Pieces(frozenset([X]))]), known("round({})", "x").compared([5.0])["x"]
    assert plain is not None
    everywhere = plain.turns["x"]
    for domain, passed, unknown in ((wide, True, False), (wide, False, True), (narrow, False, False)):
        points = points_of(domain, compared, passed=passed)
        assert points is not None and is_unknown(points, compared) == unknown
    grouped = points_of(wide, compared | everywhere)
    assert is_unknown(grouped, everywhere) and not is_unknown(grouped, compared)
    first, second = points_of(narrow, compared), points_of(narrow, everywhere)
    assert first is not None and second is not None and first.key == second.key


def test_what_is_rounded_has_the_bar_of_the_stretch_that_it_is() -> None:
    """Not of all rows, as where each bin is guessed: with the answer of DuckDB itself inside."""
    rng = np.random.default_rng(5)
    values = np.round(rng.lognormal(3.0, 1.5, 20_000), 2)
    same = {
        "round(v) = 5": "v >= 4.5 AND v < 5.5",
        "CAST(v AS INTEGER) BETWEEN 3 AND 7": "v >= 2.5 AND v <= 7.5",
        "floor(v / 10) * 10 = 50": "v >= 50 AND v < 60",
        "round(v * 100) = 512": "v = 5.12",
        "CAST(floor(v) AS INTEGER) <> 12": "v < 12 OR v >= 13",
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.duckdb"
        with duckdb.connect(str(path)) as con:
            con.register("made", {"v": values})
            con.execute("CREATE TABLE t AS SELECT v, v > 9 AS high FROM made")
            true = {c: con.execute(f"SELECT COUNT(*) FROM t WHERE {c}").fetchall()[0][0] for c in same}
        columns = 'v = { type = "number", min = -1000, max = 1_000_000 }\nhigh = { type = "boolean" }\n'
        privacy = "version = 1\n[privacy]\nepsilon = 10\ndelta = 1e-6\n"
        path.with_suffix(".dpsql.toml").write_text(f"{privacy}[tables.t.columns]\n{columns}")
        with dpsql.connect(path, ledger=path.with_suffix(".ledger"), new_budget=True) as session:
            for condition, stretch in same.items():
                found = [session.execute(f"SELECT COUNT(*) FROM t WHERE {c}").answers[0] for c in (condition, stretch)]
                assert abs(found[0].error - found[1].error) <= 0.2 * found[1].error + 5, condition
                assert abs(found[0].value - true[condition]) <= 2 * found[0].error + 20, condition
                assert found[0].error < 6_000, condition
