"""The sources' accountings beside sums, limits and exact divergences of small runs."""

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from dpsql.synthesis.dual_query.accounting import (
    Goal,
    Run,
    advanced_epsilon,
    amplified,
    claimed,
    concentrated,
    pure_epsilon,
    ranged,
    subsampled,
    zcdp_epsilon,
)

RUN = Run(37, 11, 0.3, 4000)
DELTA = 1e-6


def each(run: Run) -> list[float]:
    """eps_t of every draw."""
    return [2 * run.rate * (t - 1) / run.rows for t in range(1, run.rounds + 1) for _ in range(run.samples)]


def test_closed_forms_are_the_sums() -> None:
    assert pure_epsilon(RUN) == pytest.approx(math.fsum(each(RUN)))
    assert concentrated(RUN) == pytest.approx(math.fsum(e**2 / 2 for e in each(RUN)))
    assert ranged(RUN, 2) == pytest.approx(math.fsum(e**2 / 8 for e in each(RUN)))
    assert ranged(RUN, 1) == pytest.approx(math.fsum((e / 2) ** 2 / 8 for e in each(RUN)))
    last = max(each(RUN))
    k = RUN.samples * (RUN.rounds - 1)
    dwork = math.sqrt(2 * k * math.log(1 / DELTA)) * last + k * last * (math.exp(last) - 1)
    assert advanced_epsilon(RUN, DELTA) == pytest.approx(dwork)


def test_the_conversion_is_above_the_exact_one() -> None:
    """rho-zCDP at the best order: min over a of rho alpha + ln(1/delta) / (alpha - 1)."""
    rho = concentrated(RUN)
    best = min(rho * (1 + a) + math.log(1 / DELTA) / a for a in np.geomspace(1e-3, 1e5, 20_000))
    assert zcdp_epsilon(rho, DELTA) == pytest.approx(best, rel=1e-5)


def test_the_factor_is_six_in_the_limit_of_many_rounds_and_root_three_before() -> None:
    """Section 3 compares the leading terms: s alpha^2 (T - 1)^3 / 4 n^2 and / 24 n^2. With all terms it is more."""

    def factor(run: Run) -> float:
        return advanced_epsilon(run, DELTA) / zcdp_epsilon(concentrated(run), DELTA)

    few, many = Run(200, 10, 1e-4, 10**6), Run(10**6, 10**7, 1e-3, 10**6)
    assert factor(few) == pytest.approx(math.sqrt(3), rel=0.01)
    assert factor(many) == pytest.approx(6, rel=0.01)
    assert factor(Run(10**6, 1000, 1e-1, 10**5)) > 6


def test_the_goal_is_the_papers_setting() -> None:
    goal = Goal(0.2, 0.05, 300, 2**14)
    rounds, samples, rate = goal.run
    assert rounds == math.ceil(16 * math.log(300) / 0.04)
    assert samples == math.ceil(48 * math.log(2 * 2**14 * rounds / 0.05) / 0.04)
    assert goal.subsampled.run[0] == pytest.approx(64 * math.log(300) / 0.04, abs=1)
    assert goal.subsampled.run[2] == pytest.approx(rate / 2) == 0.2 / 8
    # the printed epsilon is twice the first term of advanced composition at these numbers
    run = Run(rounds, samples, rate, 10**12)
    assert goal.epsilon(10**12, DELTA) == pytest.approx(2 * advanced_epsilon(run, DELTA), rel=0.01)


# --- claim 3 -----------------------------------------------------------------------------------------------------


def transcripts(ones: int, rows: int, rounds: int, samples: int, rate: float) -> dict[tuple[int, ...], float]:
    """Exact: how many draws of each round are the query "is 1", not its complement, on ``rows`` bits with ``ones``."""
    out: dict[tuple[int, ...], float] = {}
    for drawn in product(range(samples + 1), repeat=rounds):
        probability, gap = 1.0, 0.0  # the log-odds of the query against its complement
        for count in drawn:
            probability *= float(stats.binom.pmf(count, samples, 1 / (1 + math.exp(-rate * gap))))
            record = int(2 * count > samples)
            gap += 2 * (ones / rows - record)
        out[drawn] = probability
    return out


def excess(p: dict[tuple[int, ...], float], q: dict[tuple[int, ...], float], epsilon: float) -> float:
    return math.fsum(max(0.0, p[x] - math.exp(epsilon) * q[x]) for x in p)


def mixed(share: float, ones: int, rows: int, *numbers: float) -> dict[tuple[int, ...], float]:
    """The run on a sample of ``rows`` that holds the one row of difference with probability ``share``."""
    without, held = (transcripts(k, rows, 3, 3, 0.8) for k in (0, ones))
    return {x: (1 - share) * without[x] + share * held[x] for x in without}


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5])
def test_a_run_on_a_sample_loses_what_the_lemma_says_and_no_less(share: float) -> None:
    """Balle, Barthe, Gaboardi 2018, Thm 9, exactly: 3 rounds of 3 draws on 4 of 4 / share rows."""
    base, other = transcripts(0, 4, 3, 3, 0.8), transcripts(1, 4, 3, 3, 0.8)
    p, q = mixed(share, 1, 4), base
    for epsilon in np.linspace(0.05, 1.5, 15):
        delta = max(excess(base, other, epsilon), excess(other, base, epsilon))
        small, less = amplified(float(epsilon), delta, share)
        assert max(excess(p, q, small), excess(q, p, small)) <= less + 1e-12
        assert excess(p, q, small) == pytest.approx(share * excess(other, base, float(epsilon)), abs=1e-12)


def test_step_by_step_the_sample_hides_less_and_less() -> None:
    """Why no step is charged its amplified epsilon: the sample is the same in all of them, and comes to light."""
    share = 0.01
    without, held = ((1 / (1 + math.exp(sign * 0.5))) for sign in (1, -1))
    alone = math.log(1 + share * (held / without - 1))
    beyond = []
    for draws in (1, 2, 10, 160):
        k = np.arange(draws + 1)
        p0, p1 = stats.binom.pmf(k, draws, without), stats.binom.pmf(k, draws, held)
        beyond.append(float(np.sum(np.maximum(0, (1 - share) * p0 + share * p1 - math.exp(draws * alone) * p0))))
    assert beyond[0] < 1e-15
    assert 1e-6 < beyond[1] < beyond[2] < beyond[3]
    assert beyond[3] > 0.9 * share


def test_claim_3_as_printed_is_far_below_the_exact_loss() -> None:
    """The claim divides by n twice. The last round alone, of one query and its complement, loses more than it says."""
    goal, delta = Goal(0.5, 0.5, 2, 2), 1e-6
    rounds, samples, rate = goal.subsampled.run
    sample = goal.sample
    for rows in (10**4, 10**6, 10**8):
        epsilon, small = claimed(goal, rows, delta)
        odds = 2 * rate * (rounds - 1) / sample  # by which one row of the sample moves the last round's log-odds
        k = np.arange(samples + 1)
        p0 = stats.binom.pmf(k, samples, 1 / (1 + math.exp(odds / 2)))
        p1 = stats.binom.pmf(k, samples, 1 / (1 + math.exp(-odds / 2)))
        share = sample / rows
        exact = float(np.sum(np.maximum(0, (1 - share) * p0 + share * p1 - math.exp(epsilon) * p0)))
        assert exact > 0.9 * share > 100 * small
        assert subsampled(goal, rows, delta)[0] > goal.epsilon(rows, delta)


@pytest.mark.parametrize("rows", [10**5, 10**7, 10**9])
def test_with_the_sample_in_its_place_subsampling_costs_more(rows: int) -> None:
    goal = Goal(0.1, 0.05, 5824, 2**14)
    assert claimed(goal, rows, DELTA)[0] == pytest.approx(
        2 * goal.sample / rows * goal.subsampled.epsilon(rows, DELTA), rel=0.05
    )
    assert subsampled(goal, rows, DELTA)[0] > goal.epsilon(rows, DELTA)
