"""Codes computed by DuckDB agree with Python's own bisection, dates and dictionaries on every value."""

import itertools
import math
from collections.abc import Iterator
from datetime import date, timedelta

import duckdb
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dpsql.domain import CategoryDomain, DateDomain, DateUnit, FiniteDomain, IntegerDomain, NumberDomain, code_of
from dpsql.engine.duckdb import codes
from dpsql.engine.duckdb.codes import coded, last_day, regular_scale

FEW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
finite = st.floats(allow_nan=False, allow_infinity=False, width=64)
edges = st.one_of(
    st.lists(finite, min_size=2, max_size=90, unique=True).map(lambda e: tuple(sorted(e))),
    st.builds(
        lambda low, step, bins: tuple(low + i * step for i in range(bins + 1)),
        st.floats(-1e6, 1e6),
        st.floats(1e-3, 1e3),
        st.integers(1, 200),
    ).filter(lambda e: all(a < b for a, b in itertools.pairwise(e))),
)


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as con:
        yield con


def by_duckdb(
    con: duckdb.DuckDBPyConnection, domain: FiniteDomain, values: list[object], kind: str
) -> list[int | None]:
    con.execute("DROP TABLE IF EXISTS lookup").fetchall()
    found = coded(domain, "r.x", kind, "lookup")
    if found.setup is not None:
        con.execute(*found.setup).fetchall()
    source = f"(SELECT unnest(?::{kind}[]) AS x, unnest(range({len(values)})) AS i) AS r"
    sql = f"SELECT {found.expression} FROM {source} {found.join} ORDER BY i"
    return [row[0] for row in con.execute(sql, [values]).fetchall()]


def around(points: list[float]) -> list[object]:
    """Each point and its neighbours among the floats."""
    return [y for x in points for y in (math.nextafter(x, -math.inf), x, math.nextafter(x, math.inf))]


@FEW
@pytest.mark.parametrize(("tree", "listed"), [(64, 4096), (0, 0)])
@given(edges=edges, extra=st.lists(st.floats(), max_size=10))
@example(edges=(0.0, 0.1, 0.2, 0.30000000000000004, 0.4), extra=[0.3])
@example(edges=(-1e308, 0.0, 1e308), extra=[])
@example(edges=(0.0, 5e-324), extra=[])
def test_bins(
    con: duckdb.DuckDBPyConnection,
    monkeypatch: pytest.MonkeyPatch,
    tree: int,
    listed: int,
    edges: tuple[float, ...],
    extra: list[float],
) -> None:
    monkeypatch.setattr(codes, "TREE_BINS", tree)
    monkeypatch.setattr(codes, "LISTED_BINS", listed)
    domain = NumberDomain("x", edges)
    values = [*around(list(edges)), *extra, math.nan, math.inf, -math.inf]
    assert by_duckdb(con, domain, values, "DOUBLE") == [code_of(domain, v) for v in values]


@given(edges=edges)
def test_a_regular_scale_misses_by_one_at_most(edges: tuple[float, ...]) -> None:
    scale = regular_scale(edges)
    if scale is not None:
        domain = NumberDomain("x", edges, outside="null")
        for x in around(list(edges)):
            bin_ = code_of(domain, x)
            if bin_ is not None:
                guess = min(len(edges) - 2, math.floor((float(str(x)) - edges[0]) * scale))
                assert abs(guess - bin_) <= 1


@FEW
@given(
    low=st.dates(date(1800, 1, 1), date(2300, 1, 1)),
    days=st.integers(0, 5000),
    unit=st.sampled_from(["day", "week", "month", "quarter", "year"]),
    extra=st.lists(st.dates(), max_size=10),
)
@example(low=date(9999, 11, 1), days=60, unit="month", extra=[date.max])
@example(low=date.min, days=10, unit="week", extra=[date.max])
def test_dates(con: duckdb.DuckDBPyConnection, low: date, days: int, unit: DateUnit, extra: list[date]) -> None:
    high = date.fromordinal(min(low.toordinal() + days, date.max.toordinal()))
    domain = DateDomain("x", low, high, unit)
    near = [d + timedelta(days=n) for d in (low, high) for n in (-1, 0, 1) if date.min < d < date.max]
    values: list[object] = [*near, *extra, date.min, date.max, *list(domain.values)[:40]]
    assert by_duckdb(con, domain, values, "DATE") == [code_of(domain, v) for v in values]


@given(start=st.dates(max_value=date(9990, 1, 1)), unit=st.sampled_from(["day", "week", "month", "quarter", "year"]))
def test_the_next_day_begins_another_unit(start: date, unit: DateUnit) -> None:
    domain = DateDomain("x", start, start, unit)
    (first,) = domain.values
    assert isinstance(first, date)
    last = last_day(first, unit)
    assert code_of(domain, last) == 0 and code_of(domain, last + timedelta(days=1)) is None


@FEW
@given(
    listed=st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), min_size=1, max_size=9, unique=True),
    others=st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), max_size=5),
)
@example(listed=["a\0b", "a", ""], others=["a\0", "\0", "A", " a"])
def test_categories(con: duckdb.DuckDBPyConnection, listed: list[str], others: list[str]) -> None:
    domain = CategoryDomain("x", tuple(listed))
    values: list[object] = [*listed, *others]
    assert by_duckdb(con, domain, values, "VARCHAR") == [code_of(domain, v) for v in values]


@FEW
@given(low=st.integers(-100, 100), span=st.integers(0, 50), extra=st.lists(st.floats(), max_size=20))
def test_integers_stored_as_floats(con: duckdb.DuckDBPyConnection, low: int, span: int, extra: list[float]) -> None:
    domain = IntegerDomain("x", low, low + span)
    values: list[object] = [*around([float(low), float(low + span)]), low + 0.5, *extra]
    expected = [code_of(domain, v) if math.isfinite(float(str(v))) else None for v in values]
    assert by_duckdb(con, domain, values, "DOUBLE") == expected
