"""A simulated table of four columns, its measurements with noise, the model of these and its learned error bars."""

from collections.abc import Sequence

import numpy as np

from dpsql.domain import TableDomain
from dpsql.hypothesis.bars.calibration import Calibration
from dpsql.hypothesis.bars.lesson import learn_calibration
from dpsql.hypothesis.local.wide import WideHypothesis
from dpsql.hypothesis.measurement import Measurement
from dpsql.policy import Mechanism
from dpsql.query import Factor, LinearQuery
from tests.support.simulated import all_of, marginal, pairwise_table, table_of

SHAPE = (8, 5, 4, 6)
NAMES = ("a", "b", "c", "d")
TABLE = table_of(SHAPE, (True,))
CELLS = np.rint(pairwise_table(SHAPE, 20_000, np.random.default_rng(0)))
TOTAL = float(CELLS.sum())
FACTOR = float(Mechanism().error_factor)


def wide(measurements: Sequence[Measurement]) -> WideHypothesis:
    out = WideHypothesis(TABLE, TOTAL)
    for m in measurements:
        out.absorb(m)
    return out


def noisy(sigma: float, seed: int) -> list[Measurement]:
    """All columns and all pairs."""
    rng = np.random.default_rng(seed)
    return [*all_of(CELLS, 1, sigma, rng), *all_of(CELLS, 2, sigma, rng)]


def calibrated(found: Sequence[Measurement], table: TableDomain = TABLE) -> Calibration:
    return learn_calibration(table, TOTAL, found, wide, simulations=4, queries=80)


def truth(query: LinearQuery) -> float:
    return query.estimate(marginal(CELLS, NAMES, query.scope))


def but(column: str, *out: int) -> Factor:
    """All values of a column but these."""
    weights = np.ones(SHAPE[NAMES.index(column)], dtype=np.int64)
    weights[list(out)] = 0
    return Factor((column,), weights)


def only(column: str, *kept: int) -> Factor:
    return Factor((column,), 1 - but(column, *kept).weights)
