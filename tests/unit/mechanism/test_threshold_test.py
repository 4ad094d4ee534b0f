"""The integer table of the test: certified steps, exact probabilities, one draw whatever the input."""

import decimal
import math
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest

from dpsql.accounting import TABLE_MARGIN, calibrate, hard_round_curve
from dpsql.errors import InternalError
from dpsql.mechanism import ThresholdTest
from dpsql.mechanism import threshold_test as module
from dpsql.mechanism.threshold_test import BITS, build_table, certified_step
from dpsql.private import Private
from tests.support.entropy import ScriptedEntropy

SLOPE = Fraction(1, 24)
PLAN = calibrate(Fraction(1), Fraction(1, 10**6), hard_rounds=10)


class CountingEntropy:
    """Says how often it was asked; every coin is the one given."""

    def __init__(self, coin: int) -> None:
        self.coin = coin
        self.asked: list[int] = []

    def bits(self, n: int) -> int:
        self.asked.append(n)
        return self.coin

    def discrete_gaussian(self, sigma: Fraction, size: int) -> list[int]:
        raise AssertionError("a test draws no noise")


@pytest.mark.parametrize("slope", [SLOPE, PLAN.slope, Fraction(1, 200), Fraction(3, 2)])
def test_every_step_is_within_the_plans_margin(slope: Fraction) -> None:
    table = build_table(slope)
    assert all(0 < entry < 1 << BITS for entry in table.easy)
    assert list(table.easy) == sorted(table.easy, reverse=True)
    assert slope < table.certified_step <= slope + TABLE_MARGIN


def test_the_certified_step_against_mpmath() -> None:
    table = build_table(Fraction(1, 10))
    with mpmath.workdps(80):
        rates = [mpmath.log(-mpmath.log(mpmath.mpf(entry) / mpmath.mpf(2) ** BITS)) for entry in table.easy]
        largest = max(b - a for a, b in pairwise(rates))
        certified = mpmath.mpf(table.certified_step.numerator) / table.certified_step.denominator
        assert 0 <= certified - largest < mpmath.mpf("2e-30")


def test_the_table_covers_the_stated_range() -> None:
    table = build_table(SLOPE)
    assert len(table.easy) == pytest.approx(756, abs=3)
    never_alarm, always_alarm = table.easy[0] / 2**BITS, table.easy[-1] / 2**BITS
    assert 1 - never_alarm == pytest.approx(2**-40, rel=0.05)
    assert always_alarm == pytest.approx(math.exp(-40), rel=2)


def test_no_adjacent_pair_of_the_table_loses_more_than_the_charge() -> None:
    """E_P[exp(aL); easy] + exp(-s) E_P[exp(aL); hard] <= 1, in both directions, on the integers themselves."""
    table, a = build_table(SLOPE), Fraction(1617, 100)
    with mpmath.workdps(60):
        order = mpmath.mpf(a.numerator) / a.denominator
        charge = mpmath.exp(-mpmath.mpf(str(hard_round_curve(table.certified_step, a))))
        easy = [mpmath.mpf(entry) / mpmath.mpf(2) ** BITS for entry in table.easy]
        ln_easy, ln_hard = [mpmath.log(p) for p in easy], [mpmath.log(1 - p) for p in easy]
        worst = mpmath.mpf(-1)
        for one, other in [(i, i + 1) for i in range(len(easy) - 1)] + [(i + 1, i) for i in range(len(easy) - 1)]:
            kept = mpmath.exp((1 + order) * ln_easy[one] - order * ln_easy[other])
            lost = mpmath.exp((1 + order) * ln_hard[one] - order * ln_hard[other])
            worst = max(worst, kept + charge * lost - 1)
        assert worst <= mpmath.mpf("1e-50")
        assert worst > mpmath.mpf("-1e-9")  # the charge is tight


@pytest.mark.parametrize(
    "easy",
    [
        (1 << 127, (1 << 127) + 1),
        (0,),
        (1 << BITS,),
        ((1 << BITS) - 1,),
        (1 << 127, -1),
    ],
)
def test_integers_that_are_no_table_are_refused(easy: tuple[int, ...]) -> None:
    with pytest.raises(InternalError):
        certified_step(easy)


def test_a_table_steeper_than_the_plan_is_refused() -> None:
    test = ThresholdTest(SLOPE, SLOPE + Fraction(1, 10**24))
    with pytest.raises(InternalError):
        test.easy(Private(0), 10, ScriptedEntropy([True]))


@pytest.mark.parametrize(
    ("slope", "certified", "sensitivity"),
    [(Fraction(0), Fraction(1), 1), (SLOPE, SLOPE / 2, 1), (SLOPE, SLOPE * 2, 0)],
)
def test_a_test_needs_slope_and_sensitivity(slope: Fraction, certified: Fraction, sensitivity: int) -> None:
    with pytest.raises(InternalError):
        ThresholdTest(slope, certified, sensitivity)


def test_the_slope_is_bounded() -> None:
    with pytest.raises(InternalError):
        build_table(Fraction(4))


@pytest.mark.parametrize("g", [-(10**12), -300, -1, 0, 1, 55, 300, 10**12, np.int64(2**62), np.int64(-(2**62))])
def test_one_draw_of_128_bits_whatever_the_input(g: int) -> None:
    entropy = CountingEntropy(1 << 100)
    ThresholdTest(SLOPE, SLOPE + TABLE_MARGIN).easy(Private(g), 20, entropy)
    assert entropy.asked == [BITS]


@pytest.mark.parametrize("g", [-40, 0, 17, 60, 10**9])
def test_the_outcome_is_one_comparison_with_the_table(g: int) -> None:
    test = ThresholdTest(SLOPE, SLOPE + TABLE_MARGIN)
    chances = int(test.easy_probability(g, 20) * 2**BITS)
    assert test.easy(Private(g), 20, CountingEntropy(chances - 1))
    assert not test.easy(Private(g), 20, CountingEntropy(chances))


def test_probabilities_follow_the_formula() -> None:
    test = ThresholdTest(SLOPE, SLOPE + TABLE_MARGIN)
    for g in range(-100, 160):
        assert float(test.easy_probability(g, 70)) == pytest.approx(math.exp(-math.exp((g - 70) / 24)), rel=1e-9)


@pytest.mark.parametrize("sensitivity", [2, 3, 50])
def test_a_change_within_the_sensitivity_moves_one_step_of_the_table(sensitivity: int) -> None:
    net = PLAN.for_sensitivity(sensitivity, sensitivity**2)
    test = ThresholdTest(net.slope, net.certified_slope, net.sensitivity)
    order = PLAN.alpha - 1
    tightest = Fraction(hard_round_curve(PLAN.certified_slope, order)) / order * 10**15
    assert tightest <= PLAN.test_cost
    for g in range(-4 * sensitivity, 4 * sensitivity):
        for change in (1, sensitivity - 1, sensitivity):
            one, other = (-math.log(float(test.easy_probability(x, 5))) for x in (g, g + change))
            assert 0 <= math.log(other / one) <= float(PLAN.slope) * (1 + 1e-9)


def test_sensitivity_scales_the_counts() -> None:
    one = ThresholdTest(PLAN.slope, PLAN.certified_slope)
    net = PLAN.for_sensitivity(5, 25)
    five = ThresholdTest(net.slope, net.certified_slope, net.sensitivity)
    assert five.table is one.table
    assert five.easy_probability(-500, 1000) == one.easy_probability(-100, 200)


def test_the_callers_decimal_context_does_not_matter() -> None:
    build_table.cache_clear()
    with decimal.localcontext(decimal.Context(prec=4, traps=[decimal.Inexact])):
        narrow = build_table(SLOPE)
    build_table.cache_clear()
    assert build_table(SLOPE) == narrow


def test_importing_and_constructing_build_nothing() -> None:
    build_table.cache_clear()
    ThresholdTest(SLOPE, SLOPE + TABLE_MARGIN)
    assert module.build_table.cache_info().currsize == 0
    ThresholdTest(SLOPE, SLOPE + TABLE_MARGIN).ready()
    assert module.build_table.cache_info().currsize == 1


@pytest.mark.parametrize("planned", [1_000, 100_000])
def test_threshold_and_bound_keep_their_promises(planned: int) -> None:
    """False alarms of a perfect hypothesis and misses beyond the certified bound, from the table's exact integers."""
    for sensitivity in (1, 4):
        net = PLAN.for_sensitivity(sensitivity, sensitivity**2)
        test = ThresholdTest(net.slope, net.certified_slope, net.sensitivity)
        theta, bound = net.threshold(planned), net.certified_bound(planned)
        alarms = 2 * planned * (1 - test.easy_probability(0, theta))
        assert alarms <= Fraction(11, 100) * PLAN.hard_rounds
        assert planned * test.easy_probability(bound + 1, theta) <= Fraction(5, 100)
        assert planned * test.easy_probability(theta, theta) > 1  # the promise is not empty
