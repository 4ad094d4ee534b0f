"""Regions: which rows a selection takes, whatever factors and strings it is written with."""

from itertools import product

import numpy as np
import pytest

from dpsql.errors import InternalError, UnsupportedQuery
from dpsql.query import DistinctCount, Factor, Form, KeyedFactor, LinearQuery, Regions, Term, regions_of

A, B = 3, 2
KEYS = KeyedFactor(("s",), (("x",), (None,)), (), np.array([1, 1]))


def query(*factors: Factor, keyed: KeyedFactor | None = None) -> LinearQuery:
    return LinearQuery("t", factors, keyed)


def form(*terms: tuple[float, LinearQuery]) -> Form:
    return Form(0.0, tuple(Term(c, q) for c, q in terms))


def factor(columns: tuple[str, ...], weights: list[object], unit: int = 1) -> Factor:
    return Factor(columns, np.array(weights), unit)


def region(found: Regions, a: int, b: int, string: str | None) -> int:
    """The region of a row, as an engine finds it."""
    cell = {"a": a, "b": b}
    at = [axis.labels[tuple(cell[c] for c in axis.columns)] for axis in found.axes]
    if found.text_columns:
        listed = {key: i for i, key in enumerate(found.keys)}
        at = [listed.get((string,), len(listed)), *at]
    return int(found.numbers[tuple(at)])


def weight(selection: Form, a: int, b: int, string: str | None) -> float:
    """How often a selection counts a row."""
    total, cell = 0.0, {"a": a, "b": b}
    for term in selection.terms:
        w = 1
        for f in term.query.factors:
            w *= int(f.weights[tuple(cell[c] for c in f.columns)])
        keyed = term.query.keyed
        total += term.coefficient * w * (keyed is None or (string,) in keyed.strings)
    return total


ONE, TWO = factor(("a",), [1, 0, 0]), factor(("a",), [0, 1, 1])
TIED = factor(("a", "b"), [[0, 0], [1, 0], [0, 1]])


@pytest.mark.parametrize(
    "selections",
    [
        [form((1.0, query()))],
        [form((1.0, query(ONE))), form((1.0, query(TWO)))],
        [form((1.0, query(ONE, factor(("b",), [0, 1])))), form((1.0, query(TIED)))],
        [form((1.0, query(TWO))), form((1.0, query(ONE, keyed=KEYS)))],
        [form((1.0, query(TWO)), (-1.0, query(TWO, keyed=KEYS))), form((1.0, query(TWO, keyed=KEYS)))],
        [form((1.0, query(TIED)), (1.0, query(ONE)))],
    ],
)
def test_each_row_is_in_the_region_that_counts_it(selections: list[Form]) -> None:
    found = regions_of(selections)
    assert found.size == len(selections)
    for row in product(range(A), range(B), ("x", "y", None)):
        inside = [i for i, s in enumerate(selections) if weight(s, *row)]
        assert region(found, *row) == (inside[0] if inside else -1)


@pytest.mark.parametrize(
    "selections",
    [
        [form((1.0, query(ONE))), form((1.0, query()))],
        [form((2.0, query(ONE)))],
        [form((1.0, query(ONE)), (-1.0, query(TWO)))],
        [Form(1.0, (Term(1.0, query(ONE)),))],
        [form((0.5, query(ONE)))],
    ],
    ids=["shared rows", "twice", "less than none", "a constant", "half"],
)
def test_what_counts_rows_other_than_once_is_no_selection(selections: list[Form]) -> None:
    with pytest.raises(InternalError):
        regions_of(selections)


@pytest.mark.parametrize(
    ("selection", "words"),
    [
        (form((1.0, query(factor(("a",), [1, 2, 0], 2)))), "part of a bin"),
        (Form(0.0, (Term(1.0, query(ONE), 0.5),)), "part of a bin"),
        (form((1.0, query(keyed=KeyedFactor(("s",), (("x",),), ("a",), np.array([[1, 0, 1]]))))), "ties strings"),
        (
            form((1.0, query(keyed=KEYS)), (-1.0, query(keyed=KeyedFactor(("r",), KEYS.strings, (), KEYS.weights)))),
            "ties",
        ),
        (form((1.0, query(*[factor((f"c{i}",), [0, 1]) for i in range(21)]))), "too many"),
    ],
)
def test_other_selections_are_refused_in_words(selection: Form, words: str) -> None:
    with pytest.raises(UnsupportedQuery, match=words) as caught:
        regions_of([selection])
    assert caught.value.hint


def test_equal_questions_have_equal_digests() -> None:
    one, same = (DistinctCount("t", "u", form((1.0, query(factor(("a",), [1, 0, 0]))))) for _ in range(2))
    others = [
        DistinctCount("t", "s", one.rows),
        DistinctCount("t", "u", form((1.0, query(TWO)))),
        DistinctCount("t", "u", one.rows, 1),
        *one.repeated(2)[1:],
    ]
    assert one.digest == same.digest
    assert len({one.digest, *(o.digest for o in others)}) == 1 + len(others)
