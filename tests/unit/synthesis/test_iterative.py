"""The offline iterative construction: its stops, its updates, its charges."""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpsql.errors import DataError
from dpsql.ledger import MemoryLedger
from dpsql.synthesis.iterative import accuracy, iterative, theorem_alpha, update_bound, update_rate
from dpsql.synthesis.offline.rounds import Rounds
from tests.support.entropy import SeededEntropy
from tests.support.offline import Exactly, PlainSteps, asker_of, bench_of, ledger_steps, marginals, task_of
from tests.support.simulated import pairwise_table, table_of

TABLE = table_of([4, 3, 5])
CELLS = np.rint(pairwise_table([4, 3, 5], 20_000, np.random.default_rng(1))).astype(np.int64)
WORKLOAD = marginals(TABLE, 2)
UNITS = bench_of(TABLE, CELLS, Exactly()).plan.noise_budget // 2


def run(steps: Any, entropy: Any = None, **options: str) -> Any:
    bench = bench_of(TABLE, CELLS, Exactly() if entropy is None else entropy)
    return iterative(task_of(TABLE, CELLS, WORKLOAD, UNITS, **options), bench, steps)


def error(made: Any) -> float:
    found = bench_of(TABLE, CELLS, Exactly()).engine
    return max(abs(made.count(q) - q.floor(found.contingency("t", q.scope).reveal())) for q in WORKLOAD)


@pytest.mark.parametrize("hypothesis", ["fitted", "mw"])
def test_it_ends_when_the_worst_query_is_answered_well_and_pays_for_no_more(hypothesis: str) -> None:
    steps = PlainSteps()
    made = run(steps, hypothesis=hypothesis, alpha="1000", rounds="900")
    assert len(steps.costs) < 900
    assert sum(steps.costs) < 0.9 * UNITS
    assert error(made) < 750 + 20  # the last was the worst, without noise; rows are rounded


def test_it_goes_on_while_the_found_query_is_off_by_three_quarters_of_alpha() -> None:
    steps = PlainSteps()
    run(steps, hypothesis="mw", alpha="1000", rounds="900")
    few = PlainSteps()
    made = run(few, hypothesis="mw", alpha="1000", rounds=str(len(steps.costs) - 1))
    assert len(few.costs) == len(steps.costs) - 1
    assert error(made) >= 750 - 20  # rows are rounded


def test_fits_need_fewer_rounds_than_steps_of_the_paper() -> None:
    fitted, paper = PlainSteps(), PlainSteps()
    run(fitted, alpha="600", rounds="900")
    run(paper, alpha="600", rounds="900", hypothesis="mw")
    assert len(fitted.costs) * 3 < len(paper.costs)


def test_the_same_recorded_steps_give_the_same_rows() -> None:
    first = PlainSteps()
    made = run(first, SeededEntropy(1), rounds="9")
    again = PlainSteps(first.made)
    assert (run(again, SeededEntropy(2), rounds="9").codes == made.codes).all()
    assert again.drawn == 0


def test_an_interrupted_run_goes_on() -> None:
    def stop(what: str, done: int, of: int) -> None:
        if done == 4:
            raise KeyboardInterrupt

    task, ledger = task_of(TABLE, CELLS, WORKLOAD, UNITS, rounds="6"), MemoryLedger({})
    one, two, three = (asker_of(TABLE, CELLS, ledger, SeededEntropy(s)) for s in (3, 4, 5))
    with pytest.raises(KeyboardInterrupt):
        iterative(replace(task, on_progress=stop), one.bench, ledger_steps(one, UNITS))
    made = iterative(task, two.bench, ledger_steps(two, UNITS))
    spent = ledger.totals().spent
    again = iterative(task, three.bench, ledger_steps(three, UNITS))
    assert (again.codes == made.codes).all()
    assert ledger.totals().spent == spent <= UNITS
    assert len(three.fold.runs.recorded("r")) == 6


def test_the_rate_and_the_bound_are_those_at_half_of_alpha() -> None:
    assert update_rate(400.0, 1000.0) == pytest.approx((400 / 2) / (2 * 1000))
    assert update_bound(400.0, 1000.0, 5.0) == int(4 * 1000**2 * 5.0 / (400 / 2) ** 2)


def test_without_an_alpha_no_round_is_saved_and_with_the_papers_most_are() -> None:
    every, paper = PlainSteps(), PlainSteps()
    run(every, rounds="40")
    run(paper, rounds="40", alpha="paper")
    assert len(every.costs) == 40
    assert len(paper.costs) < 10


def test_the_papers_alpha_is_the_larger_of_its_two_terms() -> None:
    loud, unsure = Rounds(10, Fraction(1), Fraction(500), 1, 1), Rounds(10, Fraction(1, 100), Fraction(5), 1, 1)
    assert theorem_alpha(loud, 50, 0.05) == pytest.approx(4 * 500 * math.sqrt(2 * math.log(2 * 10 / 0.025)))
    assert theorem_alpha(unsure, 50, 0.05) == pytest.approx(2 * 2 * 100 * math.log(50 * 10 / 0.025))
    for rounds in (loud, unsure):
        alpha = theorem_alpha(rounds, 50, 0.05)
        assert accuracy(alpha, rounds, 50, 0.05) <= 1.5 * alpha


def test_options_of_other_values_are_refused() -> None:
    steps = PlainSteps()
    with pytest.raises(DataError, match="option hypothesis"):
        run(steps, hypothesis="median")
    for said in ("", "0", "-5", "1e3", "9" * 40):
        with pytest.raises(DataError, match="option alpha"):
            run(steps, alpha=said)
    assert steps.costs == []
