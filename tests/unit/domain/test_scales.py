"""Edges in equal steps of a logarithm: those about 0 hold 0, and what earlier versions made is kept beside them."""

from itertools import pairwise

import numpy as np
import pytest

from dpsql.domain import NumberDomain, log_edges
from dpsql.interface.dbapi.ledger_header import as_begun
from dpsql.policy_file import dump_policy, parse_policy

POLICY = """version = 1
[privacy]
epsilon = 1
delta = 1e-6
[tables.t.columns]
owed = { type = "number", min = %s, max = %s }
"""


@pytest.mark.parametrize("end", [1.0, 500.0, 1000.0, 1e6, 1e300, 1e-300])
@pytest.mark.parametrize("count", [2, 20, 50, 100])
def test_ranges_about_0_have_the_edge_0(end: float, count: int) -> None:
    edges, former = (log_edges(-end, end, count, through_zero=exact) for exact in (True, False))
    assert edges[count // 2] == 0.0 and len(edges) == len(former) == count + 1
    assert all(a < b for a, b in pairwise(edges))
    assert [a == b for a, b in zip(edges, former, strict=True)].count(False) <= 1


@pytest.mark.parametrize(("low", "high"), [(-500.0, 5000.0), (-43.0, 1301.0), (-1e-9, 1.0), (-1e6, 1.0), (-7.0, 8.0)])
@pytest.mark.parametrize("count", [2, 3, 20, 51])
def test_so_have_ranges_that_lie_unevenly_about_it(low: float, high: float, count: int) -> None:
    edges, former = (log_edges(low, high, count, through_zero=exact) for exact in (True, False))
    assert len(edges) == count + 1 and (edges[0], edges[-1]) == (low, high) == (former[0], former[-1])
    assert all(a < b for a, b in pairwise(edges))
    below = edges.index(0.0)
    assert 1 <= below <= count - 1
    cut = next(i for i, edge in enumerate(former) if edge > 0.0)  # the bin that 0 was in was the cut-th
    assert below in (cut - 1, cut) or below in (1, count - 1)
    scale = max(-low, high) / 1000
    for side in (edges[: below + 1], edges[below:]):  # equal steps of the inverse hyperbolic sine
        steps = np.diff(np.log([x / scale + np.sqrt((x / scale) ** 2 + 1) for x in side]))
        assert np.allclose(steps, steps.mean(), rtol=1e-2)


def test_a_single_bin_is_not_cut() -> None:
    assert log_edges(-5.0, 5.0, 1) == (-5.0, 5.0)


@pytest.mark.parametrize(("low", "high"), [(0.0, 808.0), (1.0, 1e9), (-3.0, -1.0), (-808.0, 0.0)])
def test_other_edges_are_as_they_were(low: float, high: float) -> None:
    assert log_edges(low, high, 50) == log_edges(low, high, 50, through_zero=False)


@pytest.mark.parametrize(("low", "high"), [(-1000, 999), (-50, 49), (-100_000, 99_999)])
def test_no_whole_number_is_between_0_and_what_rounding_left(low: int, high: int) -> None:
    whole = np.arange(low, high + 1, max(1, (high - low) // 5000))
    whole = np.union1d(whole, np.arange(-20, 20))
    both = [log_edges(float(low), float(high) + 1.0, 50, through_zero=exact) for exact in (True, False)]
    assert both[0] != both[1]
    assert (np.searchsorted(both[0], whole, side="right") == np.searchsorted(both[1], whole, side="right")).all()


def test_a_policy_knows_what_its_words_meant() -> None:
    policy = parse_policy(POLICY % (-1000, 1000))
    former = policy.with_former_edges
    assert former is not None and former.digest != policy.digest and former.with_former_edges is None
    (column,) = former.tables[0].columns
    assert isinstance(column, NumberDomain) and column.edges[25] == -8.88178e-16
    assert as_begun(policy, {"policy": former.digest}) is former
    assert as_begun(policy, {"policy": policy.digest}) is as_begun(policy, {}) is policy
    assert as_begun(policy, {"policy": "another"}) is policy
    dearer = parse_policy((POLICY % (-1000, 1000)).replace("epsilon = 1", "epsilon = 2"))
    begun = as_begun(dearer, {"policy": former.digest, "rules": dump_policy(former)})
    assert begun.tables == former.tables and begun.privacy == dearer.privacy  # the refusal names epsilon alone
    assert as_begun(dearer, {"policy": policy.digest, "rules": dump_policy(policy)}) is dearer
    uneven = parse_policy(POLICY % (-500, 5000))
    begun = uneven.with_former_edges
    assert begun is not None and as_begun(uneven, {"policy": begun.digest}) is begun
    written = parse_policy(dump_policy(policy))
    assert written.digest == policy.digest and written.tables == policy.tables
    assert parse_policy(POLICY % (0, 1000)).with_former_edges is None
