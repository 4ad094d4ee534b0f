"""What a selection compared, read with the strings it showed or hid: no more than one Gaussian release and its delta.

Exactly, by summing over all outcomes of one string: an analyst sees its entry where it is shown, and else lists it.
"""

from fractions import Fraction
from math import exp

import pytest

from dpsql.accounting import selection_threshold
from tests.statistical.goodness_of_fit import gaussian_law

SIGMA, DELTA = Fraction(3), Fraction(1, 10**4)
TAU = selection_threshold(SIGMA, DELTA, 1)
NOISE = gaussian_law(float(SIGMA))
EPSILONS = [0.0, 0.1, 0.3, 1.0, 2.0]
Law = dict[tuple[str, int], float]


def entry(rows: int) -> dict[int, float]:
    return {rows + z: p for z, p in NOISE.items()}


def seen(rows: int) -> Law:
    """(shown or hidden, entry) of a string of so many rows, which does not occur where that is 0."""
    out: Law = {}
    whole = sum(p for y, p in entry(rows).items() if y <= TAU)
    for y, p in entry(rows).items():
        if rows == 0 and y <= TAU:
            out["hidden", y] = p / whole  # whatever is read is given as at most the threshold
        elif rows > 0:
            out["shown" if y > TAU else "hidden", y] = p
    return out


def drawn_anew(rows: int) -> Law:
    """The same with an entry that does not know what it was compared with: a second draw of the same noise."""
    shown = sum(p for y, p in entry(rows).items() if y > TAU) if rows else 0.0
    sides = (("shown", shown), ("hidden", 1.0 - shown))
    return {(side, y): chance * p for side, chance in sides for y, p in entry(rows).items()}


def divergence(one: Law, other: Law, epsilon: float) -> float:
    return sum(max(0.0, p - exp(epsilon) * other.get(outcome, 0.0)) for outcome, p in one.items())


def of_a_release(epsilon: float) -> float:
    """One Gaussian release of a count that changes by one."""
    return divergence({("", y): p for y, p in entry(1).items()}, {("", y): p for y, p in entry(0).items()}, epsilon)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("rows", [1, 2, TAU - 3, TAU, TAU + 1, TAU + 5])
def test_a_string_tells_no_more_than_one_release_of_its_count_and_delta(rows: int, epsilon: float) -> None:
    allowed = of_a_release(epsilon) + (float(DELTA) if rows == 1 else 0.0) + 1e-12
    assert divergence(seen(rows), seen(rows - 1), epsilon) <= allowed
    assert divergence(seen(rows - 1), seen(rows), epsilon) <= allowed


def test_a_string_of_one_unit_is_why_there_is_a_delta() -> None:
    assert divergence(seen(1), seen(0), 2.0) > of_a_release(2.0) + 0.1 * float(DELTA)


def test_a_second_draw_would_tell_more() -> None:
    """Whether it was shown, and an entry that knows nothing of that, are two releases where only one is paid for."""
    for rows in (TAU, TAU + 1):
        told = divergence(drawn_anew(rows), drawn_anew(rows - 1), 0.3)
        assert told > 1.5 * of_a_release(0.3)


def test_an_entry_of_what_does_not_occur_may_not_exceed_the_threshold_more_often_than_delta() -> None:
    beyond = sum(p for y, p in entry(0).items() if y > TAU)
    assert 0.0 < beyond <= float(DELTA)
