"""Errors beside public answers: counted another way, and only where something public is known."""

from dataclasses import replace

import numpy as np
import pytest

from dpsql.domain import BooleanDomain, IntegerDomain, TableDomain
from dpsql.query import LinearQuery
from dpsql.synthesis import Synthetic
from dpsql.synthesis.quality import (
    COMPARED,
    NOTHING,
    OWN_WORDS,
    WORDS,
    Quality,
    answers,
    contingency,
    errors,
    report,
)
from dpsql.synthesis.synthetic import Noisy
from dpsql.synthesis.workload import generated

TABLE = TableDomain("t", (IntegerDomain("a", 0, 4, nullable=False), BooleanDomain("b")))
CODES = np.array([[0, 0], [0, 1], [3, 2], [3, 2], [4, 0]], dtype=np.int64)
ROWS = Synthetic(TABLE, CODES, scale=2.0)


def test_answers_are_counts_of_rows() -> None:
    queries = [*generated(TABLE, "marginals:2", 1)[0], *generated(TABLE, "prefixes:a", 1)[0], LinearQuery("t", ())]
    assert answers(ROWS, queries).tolist() == [ROWS.count(q) for q in queries]
    assert contingency(ROWS, ("b", "a")).sum() == 10.0
    assert contingency(ROWS, ("b", "a"))[2, 3] == 4.0


def test_errors_are_distances_from_what_is_known() -> None:
    queries = generated(TABLE, "prefixes:a", 1)[0]
    known = dict(zip([q.digest for q in queries], [(4.0, 1.0), (5.0, 2.0), (10.0, 1.0), None], strict=True))
    found = errors("w", ROWS, queries, lambda q: known[q.digest])
    assert found is not None
    off = [0.0, 1.0, 6.0]  # 4, 4, 4 and 8 rows
    assert (found.queries, found.unknown) == (3, 1)
    assert found.mean == pytest.approx(np.mean(off))
    assert found.deciles[-1] == 6.0 and found.median == 1.0
    assert found.bar == pytest.approx(4 / 3) and found.within == pytest.approx(2 / 3)


def test_nothing_is_said_where_nothing_is_known() -> None:
    assert errors("w", ROWS, generated(TABLE, "prefixes:a", 1)[0], lambda q: None) is None


def test_many_queries_are_sampled() -> None:
    wide = TableDomain("w", (IntegerDomain("a", 0, 2999, nullable=False),))
    rows = Synthetic(wide, np.zeros((1, 1), dtype=np.int64))
    found = errors("w", rows, generated(wide, "prefixes:a", 1)[0], lambda q: (1.0, 0.0))
    assert found is not None and found.queries == COMPARED


def test_a_run_on_a_table_that_nobody_looked_at_is_compared_with_its_own_answers() -> None:
    first, second, *others = generated(TABLE, "prefixes:a", 1)[0]  # 4 rows each
    told = (Noisy(first, 9.0, 3.0), Noisy(first, 5.0, 4.0), Noisy(second, 4.0, 1.0))
    found = report(replace(ROWS, answers=told), {"workload": [first, second, *others]}, lambda q: None)
    assert found.compared == OWN_WORDS
    (part,) = found.parts
    assert (part.name, part.queries, part.unknown) == ("measured", 2, 0)
    assert part.mean == pytest.approx((abs(7.0 - 4.0) + 0.0) / 2)
    assert part.bar == pytest.approx((np.ceil(1.96 * 2.5) + np.ceil(1.96)) / 2)
    # what was known before goes first, and where nothing is known that is said
    known = report(replace(ROWS, answers=told), {"workload": [second]}, lambda q: (4.0, 1.0))
    assert known.compared == WORDS and [p.name for p in known.parts] == ["workload"]
    assert report(ROWS, {"workload": [second]}, lambda q: None) == Quality((), NOTHING)
