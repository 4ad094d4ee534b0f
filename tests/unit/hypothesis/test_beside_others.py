"""Cut bins beside other conditions as whole questions: several cut columns, and sums of another column."""

from collections.abc import Sequence
from math import inf

import numpy as np
import pytest

from dpsql.domain import BooleanDomain, NumberDomain, TableDomain
from dpsql.hypothesis.values.by_value import ByValue, Cells
from dpsql.hypothesis.values.positions import Positions
from dpsql.query import Estimates, Factor, Interval, LinearQuery

EDGES = tuple(float(10 * i) for i in range(11))
COLUMNS = ("x", "y", "z")
TABLE = TableDomain(
    "t", (*(NumberDomain(c, EDGES, nullable=False) for c in COLUMNS), BooleanDomain("late", nullable=False))
)
ALIKE = np.zeros((10, 10, 10, 2))
"""Rows whose x, y and z are in the same bin; who is in the sixth bin or beyond is late, and half of the fifth are."""
for _bin in range(10):
    ALIKE[_bin, _bin, _bin] = 6000.0 * np.array([1.0, 0.0] if _bin < 4 else [0.5, 0.5] if _bin == 4 else [0.0, 1.0])
NOISE = 15.0


def estimate(query: LinearQuery) -> float:
    names = (*COLUMNS, "late")
    out = ALIKE
    for f in query.factors:
        shape = [n if c in f.columns else 1 for c, n in zip(names, ALIKE.shape, strict=True)]
        out = out * f.weights.reshape(shape) / f.unit
    return float(out.sum())


def rows(column: str) -> Estimates:
    return np.full(10, 6000.0)


def positions(column: str) -> Positions:
    domain = TABLE.finite_domain(column)
    assert isinstance(domain, NumberDomain)
    return Positions.of(domain, rows(column))


def noise(column: str, others: Sequence[Factor]) -> float:
    return NOISE if others else inf


MODEL = Cells(estimate, estimate, rows, 60_000.0, noise)


def touched(low: float, high: float) -> np.ndarray:
    return np.array([int(EDGES[i] <= high and EDGES[i + 1] > low) for i in range(10)])


def asked(
    low: float, high: float, columns: Sequence[str], value: str | None = None, late: bool | None = None
) -> ByValue:
    factors = [Factor((c,), touched(low, high)) for c in columns]
    if late is not None:
        factors.append(Factor(("late",), np.array([int(not late), int(late)])))
    intervals = tuple(Interval(c, low, high) for c in columns)
    return ByValue(TABLE, LinearQuery("t", tuple(factors), value=value, intervals=intervals), positions, cells=MODEL)


@pytest.mark.parametrize(("low", "high"), [(0.0, 3.0), (0.0, 33.0), (32.0, 36.0)])
def test_two_conditions_have_no_more_rows_than_one(low: float, high: float) -> None:
    """Each column is followed beside those before it: the rows of x, and of these the share of y."""
    alone, two, three = (estimate(asked(low, high, COLUMNS[:n]).by_cells()) for n in (1, 2, 3))
    assert three <= two * 1.001 <= alone * 1.002


def test_what_is_and_is_not_late_are_all() -> None:
    both = sum(estimate(asked(0.0, 47.0, ("x",), late=late).by_cells()) for late in (False, True))
    assert both == pytest.approx(estimate(asked(0.0, 47.0, ("x",)).by_cells()), rel=1e-6)


def test_a_sum_of_another_column_is_unsure_by_rows_times_what_they_count() -> None:
    """Of the rows that x leaves open each counts by its y, which is a thousandth of the range here."""
    x = np.zeros((10, 2))
    x[:, 1] = [0.0, 0.0, 0.0, 0.0, 3000.0, 6000.0, 6000.0, 6000.0, 6000.0, 6000.0]
    x[:, 0] = 6000.0 - x[:, 1]
    edges = (0.0, 0.1, 100.0)
    table = TableDomain(
        "t", (NumberDomain("x", EDGES, nullable=False), NumberDomain("y", edges, nullable=False), TABLE.finite[3])
    )

    def small(query: LinearQuery) -> float:
        out = np.stack([x, np.zeros_like(x)], axis=1)
        for f in query.factors:
            shape = [n if c in f.columns else 1 for c, n in zip(("x", "y", "late"), out.shape, strict=True)]
            out = out * f.weights.reshape(shape) / f.unit
        return float(out.sum())

    def of(column: str) -> Positions:
        domain = table.finite_domain(column)
        assert isinstance(domain, NumberDomain)
        return Positions.of(domain, per(column))

    def per(column: str) -> Estimates:
        return np.full(10, 6000.0) if column == "x" else np.array([60_000.0, 0.0])

    cells = Cells(small, small, per, 60_000.0, noise)
    factors = Factor(("x",), touched(0.0, 47.0)), Factor(("late",), np.array([0, 1]))
    counted, summed = (
        ByValue(table, LinearQuery("t", factors, value=v, intervals=(Interval("x", 0.0, 47.0),)), of, cells=cells)
        for v in (None, "y")
    )
    assert counted.unknown(cells)[0] > 100.0
    assert summed.unknown(cells)[0] < 0.01 * counted.unknown(cells)[0]


def test_a_constant_beside_a_cut_is_no_condition() -> None:
    half = Factor((), np.array(1), 2)
    query = LinearQuery("t", (half, Factor(("x",), touched(0.0, 47.0))), intervals=(Interval("x", 0.0, 47.0),))
    assert ByValue(TABLE, query, positions, cells=MODEL).by_cells().unit >= 2
