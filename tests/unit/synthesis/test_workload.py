"""Workloads by a word: which queries, how many, and what is held out."""

from itertools import product

import numpy as np
import pytest

from dpsql import DataError
from dpsql.domain import BooleanDomain, CategoryDomain, IntegerDomain, TableDomain
from dpsql.query import LinearQuery
from dpsql.synthesis.workload import MOST_QUERIES, generated, is_word, split

TABLE = TableDomain(
    "t",
    (IntegerDomain("a", 0, 3, nullable=False), CategoryDomain("c", ("x", "y"), nullable=False), BooleanDomain("b")),
)
EDGES = TableDomain("edges", tuple(IntegerDomain(n, 1, 6, nullable=False) for n in ("src", "dst")))


def rows_counted(query: LinearQuery, table: TableDomain) -> set[tuple[int, ...]]:
    """The cells of the whole table that a query counts, cell by cell."""
    names = [c.name for c in table.finite]
    found = set()
    for cell in product(*(range(c.size) for c in table.finite)):
        at = dict(zip(names, cell, strict=True))
        if all(f.weights[tuple(at[c] for c in f.columns)] for f in query.factors):
            found.add(cell)
    return found


def test_marginals_are_all_cells_of_all_pairs() -> None:
    queries, notes = generated(TABLE, "marginals:2", 1)
    assert not notes
    expected = {
        frozenset(c for c in product(range(4), range(2), range(3)) if all(c[i] == v for i, v in fixed.items()))
        for i, j in ((0, 1), (0, 2), (1, 2))
        for fixed in ({i: a, j: b} for a in range((4, 2, 3)[i]) for b in range((4, 2, 3)[j]))
    }
    assert {frozenset(rows_counted(q, TABLE)) for q in queries} == expected


def test_many_marginals_are_drawn_evenly_and_it_is_said() -> None:
    wide = TableDomain("w", tuple(IntegerDomain(f"c{i}", 0, 99, nullable=False) for i in range(6)))
    queries, (note,) = generated(wide, "marginals:3", 1)
    each = {}
    for q in queries:
        each[q.scope] = each.get(q.scope, 0) + 1
    assert len(each) == 20 and max(each.values()) - min(each.values()) <= 1
    assert MOST_QUERIES - 20 <= len(queries) <= MOST_QUERIES + 20
    assert "20,000,000 cells" in note
    again, _ = generated(wide, "marginals:3", 1)
    other, _ = generated(wide, "marginals:3", 2)
    assert [q.digest for q in again] == [q.digest for q in queries] != [q.digest for q in other]


def test_prefixes_are_all_ranges_from_the_start() -> None:
    queries, _ = generated(TABLE, "prefixes:A", 1)
    assert [f.weights.tolist() for q in queries for f in q.factors] == [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0]]


def test_cuts_are_random_sets_of_both_columns() -> None:
    queries, _ = generated(EDGES, "cuts:random:400", 3)
    shares = np.mean([[f.weights.mean() for f in q.factors] for q in queries if len(q.factors) == 2], axis=0)
    assert len(queries) > 370 and np.all(np.abs(shares - 0.5) < 0.05)
    assert all(set(q.scope) <= {"src", "dst"} for q in queries)


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("marginals:0", "no workload"),
        ("marginals:4", "3 columns"),
        ("marginals:two", "no workload"),
        ("prefixes:c", "no order"),
        ("prefixes:z", "no finite column"),
        ("cuts:random:10", "no pairs of columns"),
        ("cuts:10", "no workload"),
    ],
)
def test_words_that_mean_nothing_are_refused(word: str, said: str) -> None:
    assert is_word(word)
    with pytest.raises(DataError, match=said) as refused:
        generated(TABLE, word, 1)
    assert refused.value.hint


def test_a_fifth_is_held_out_and_never_told() -> None:
    queries, _ = generated(TABLE, "marginals:2", 1)
    workload = split([*queries, *queries[:3]], seed=5)
    told, held = ({q.digest for q in part} for part in (workload.told, workload.held_out))
    assert not told & held and told | held == {q.digest for q in queries}
    assert len(held) == round(0.2 * len(queries))
    assert split(queries, 5).digest == workload.digest != split(queries, 6).digest


def test_a_small_workload_is_told_whole() -> None:
    workload = split(generated(TABLE, "marginals:1", 1)[0][:9], seed=5)
    assert len(workload.told) == 9 and not workload.held_out and "none is held out" in workload.notes[0]
