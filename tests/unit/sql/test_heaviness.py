"""How much room lowered statements take in the cache."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dpsql.query import Crosstab, Factor, LinearQuery
from dpsql.sql.frontend import HEAVY_CELLS, STATEMENTS, heaviness

CELLS = HEAVY_CELLS // 4


def weight(queries: Any) -> int:
    """Of a statement, of which the cache looks at nothing else."""
    return heaviness(SimpleNamespace(queries=queries))  # type: ignore[arg-type]


@pytest.mark.parametrize("made", [tuple, Crosstab.of])
def test_one_group_of_a_large_column_holds_what_all_groups_share(made: Any) -> None:
    (point,) = Factor.points("a", CELLS, [3])
    queries = made([LinearQuery("t", (point,))])
    assert weight(queries) >= 2 * CELLS * STATEMENTS // HEAVY_CELLS - 1


def test_groups_that_share_an_array_hold_it_once() -> None:
    points = Factor.points("a", CELLS, range(100))
    alone = [Factor(("a",), np.array(p.weights)) for p in points]
    shared, apart = (weight(tuple(LinearQuery("t", (f,)) for f in here)) for here in (points, alone))
    assert weight((LinearQuery("t", (points[0],)),)) <= shared < apart / 20
