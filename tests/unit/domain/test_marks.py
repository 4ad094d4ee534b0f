"""Marks are the edges of bins and round numbers between them, whatever the edges."""

from decimal import ROUND_UP, Context, Decimal, Inexact, localcontext
from fractions import Fraction
from itertools import pairwise
from math import nextafter

import pytest

from dpsql.domain import log_edges, marks_of
from dpsql.domain.marks import MOST_BINS, MOST_MARKS, MOST_STEPS, PER_BIN

EDGES = {
    "money": log_edges(0.0, 808.0, 50),
    "shares": (0.0, 0.1, 0.30000000000000004, 1.0),
    "below 0": (-40.0, -7.25, 0.0, 3.5),
    "large": (1e15, 1.5e15, 1e16),
    "tiny": (1e-300, 2e-300, 9e-300),
}


@pytest.mark.parametrize("edges", EDGES.values(), ids=list(EDGES))
def test_marks_are_round_and_enough(edges: tuple[float, ...]) -> None:
    marks = marks_of(edges)
    assert all(a < b for a, b in pairwise(marks)) and set(edges) <= set(marks)
    for low, high in pairwise(edges):
        inner = [m for m in marks if low < m < high]
        assert PER_BIN - 2 <= len(inner) <= 3 * PER_BIN
        steps = {Decimal(repr(b)) - Decimal(repr(a)) for a, b in pairwise(inner)}
        assert len(steps) == 1  # exactly, as people write them
        digits = next(iter(steps)).normalize().as_tuple().digits
        assert digits in {(1,), (2, 5), (5,)}
        assert all(Decimal(repr(m)) % next(iter(steps)) == 0 for m in inner)


def test_bins_without_room_have_none() -> None:
    beside = nextafter(1.0, 2.0)
    assert marks_of((1.0, beside, 2.0))[:2] == (1.0, beside)
    assert marks_of((-1.7e308, 1.7e308)) == (-1.7e308, 1.7e308)  # the difference is beyond all doubles
    for edges in ((0.0, 5e-324), (0.0, 1e-322, 1.0), (-5e-324, 0.0, 5e-324)):
        marks = marks_of(edges)
        assert set(edges) <= set(marks) and all(a < b for a, b in pairwise(marks))


@pytest.mark.parametrize("step", [Fraction(1), Fraction(1, 100), Fraction(1, 3)])
@pytest.mark.parametrize("edges", [EDGES["money"], EDGES["below 0"], (0.0, 20.0, 50.0)])
def test_the_owners_steps_are_all_there_while_they_are_few(edges: tuple[float, ...], step: Fraction) -> None:
    """Then round numbers, of which there are no more: all of a bin's multiples, or none beside these."""
    marks, rounds = marks_of(edges, step), marks_of(edges)
    assert all(a < b for a, b in pairwise(marks)) and set(edges) <= set(marks) and len(marks) <= MOST_MARKS
    for low, high in pairwise(edges):
        inner = [m for m in marks if low < m < high]
        multiples = [float(k * step) for k in range(int(low / step) - 2, int(high / step) + 3)]
        multiples = [m for m in multiples if low < m < high]
        others = [m for m in rounds if low < m < high]
        assert inner == (multiples if len(multiples) <= len(inner) else others) or not multiples
    assert {19.99, 20.49} <= set(marks_of((0.0, 20.0, 50.0), Fraction(1, 100)))  # as DECIMALs become doubles


def test_a_bin_of_more_steps_has_round_numbers() -> None:
    wide = (0.0, MOST_STEPS - 2.0, 1e6)
    assert marks_of(wide, Fraction(1))[: MOST_STEPS - 1] == tuple(float(k) for k in range(MOST_STEPS - 1))
    assert len(marks_of(wide, Fraction(1))) < MOST_STEPS + 5 * PER_BIN
    every = tuple(4_000.0 * i for i in range(41))  # 160,000 of them: bins of so many have round numbers
    assert marks_of(every, Fraction(1)) == marks_of(every) and len(marks_of(every[:9], Fraction(1))) == 32_001


def test_many_bins_are_narrow_enough() -> None:
    edges = tuple(float(i) for i in range(MOST_BINS + 2))
    assert marks_of(edges) == edges and len(marks_of(edges[:-1])) > 10 * MOST_BINS


@pytest.mark.parametrize("precision", [3, 6, 9])
def test_marks_do_not_depend_on_the_callers_decimal_context(precision: int) -> None:
    """They are the cells of measurements in ledgers."""
    edges = [*EDGES.values(), tuple(1e6 + 15.5 * i for i in range(21))]
    expected = [marks_of.__wrapped__(e) for e in edges]
    with localcontext(Context(prec=precision, rounding=ROUND_UP, traps=[Inexact])):
        assert [marks_of.__wrapped__(e) for e in edges] == expected
