"""Offline private multiplicative weights: what it pays for, what it makes of it, and that nothing is paid twice."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpsql.errors import BudgetExhausted, DataError, NotSupportedError
from dpsql.ledger import MemoryLedger
from dpsql.synthesis.mwem import mwem
from tests.support.entropy import SeededEntropy
from tests.support.offline import (
    Exactly,
    PlainSteps,
    asker_of,
    bench_of,
    counting,
    ledger_steps,
    marginals,
    task_of,
)
from tests.support.simulated import pairwise_table, table_of

TABLE = table_of([4, 3, 5, 2])
CELLS = np.rint(pairwise_table([4, 3, 5, 2], 20_000, np.random.default_rng(1))).astype(np.int64)
WORKLOAD = [q for q in marginals(TABLE, 2) if "d" not in q.scope]
UNITS = bench_of(TABLE, CELLS, Exactly()).plan.noise_budget // 2


def error(made: Any) -> float:
    """The largest error on the workload, in counts."""
    found = bench_of(TABLE, CELLS, Exactly()).engine
    off = [abs(made.count(q) - q.floor(found.contingency("t", q.scope).reveal())) for q in WORKLOAD]
    return float(max(off))


@pytest.mark.parametrize(
    ("options", "most"),
    [
        ({"rounds": "60"}, 200),
        ({"rounds": "40", "replays": "8"}, 150),
        ({"rounds": "200", "iterate": "average", "replays": "0"}, 1200),
        ({"rounds": "200", "iterate": "average", "update": "sign"}, 900),
    ],
)
def test_without_noise_the_workload_is_answered(options: dict[str, str], most: float) -> None:
    steps = PlainSteps()
    made = mwem(task_of(TABLE, CELLS, WORKLOAD, UNITS, **options), bench_of(TABLE, CELLS, Exactly()), steps)  # type: ignore[arg-type]
    assert error(made) < most
    assert len(steps.costs) == int(options["rounds"])
    assert 0.99 * UNITS < sum(steps.costs) <= UNITS


def test_the_same_recorded_steps_give_the_same_rows_and_nothing_is_drawn() -> None:
    task, first = task_of(TABLE, CELLS, WORKLOAD, UNITS, rounds="15"), PlainSteps()
    made = mwem(task, bench_of(TABLE, CELLS, SeededEntropy(1)), first)  # type: ignore[arg-type]
    again, bench = PlainSteps(first.made), bench_of(TABLE, CELLS, SeededEntropy(2))
    same = mwem(task, bench, again)  # type: ignore[arg-type]
    assert (same.codes == made.codes).all()
    assert again.drawn == 0
    assert bench.engine.looks == []  # type: ignore[attr-defined]
    other = mwem(task, bench_of(TABLE, CELLS, SeededEntropy(2)), PlainSteps())  # type: ignore[arg-type]
    assert not (other.codes == made.codes).all()


def test_an_interrupted_run_goes_on_and_pays_each_step_once() -> None:
    def stop(what: str, done: int, of: int) -> None:
        if done == 7:
            raise KeyboardInterrupt

    task, ledger = task_of(TABLE, CELLS, WORKLOAD, UNITS, rounds="12"), MemoryLedger({})
    one, two, three = (asker_of(TABLE, CELLS, ledger, SeededEntropy(s)) for s in (3, 4, 5))
    with pytest.raises(KeyboardInterrupt):
        mwem(replace(task, on_progress=stop), one.bench, ledger_steps(one, UNITS))
    before = ledger.totals().spent
    assert 0.57 * UNITS < before < 0.59 * UNITS
    made = mwem(task, two.bench, ledger_steps(two, UNITS))
    assert 0.99 * UNITS < ledger.totals().spent <= UNITS
    again = mwem(task, three.bench, ledger_steps(three, UNITS))
    assert (again.codes == made.codes).all()
    assert ledger.totals().spent <= UNITS
    assert three.bench.paid.units == 0
    assert len(three.fold.runs.recorded("r")) == 12


def test_columns_that_no_query_touches_are_as_the_session_knows_them() -> None:
    task = task_of(TABLE, CELLS, WORKLOAD, UNITS, rows=1000, rounds="3")
    made = mwem(task, bench_of(TABLE, CELLS, Exactly()), PlainSteps())  # type: ignore[arg-type]
    assert made.codes.shape == (1000, 4)
    assert abs(np.bincount(made.codes[:, 3])[0] - 500) <= 1
    assert made.scale == pytest.approx(CELLS.sum() / 1000)


def test_independent_parts_are_made_one_beside_the_other() -> None:
    wide = table_of([2000, 3000, 3000])
    cells = np.zeros((2000, 1, 1), dtype=np.int64)
    assert wide.cells > 1 << 24
    first = [1] * 1000 + [0] * 1000
    task = task_of(wide, cells + 1, [counting(wide, a=first), counting(wide, b=[1] * 30 + [0] * 2970)], UNITS)
    task = replace(task, rows=50, options={"rounds": "2"})

    class Engine:
        def contingency(self, table: str, columns: tuple[str, ...]) -> Any:
            from dpsql.private import Private

            return Private(np.ones(wide.shape(columns), dtype=np.int64))

    bench = replace(bench_of(TABLE, CELLS, Exactly()), engine=Engine())  # type: ignore[arg-type]
    model = task.model

    class Columns:
        def contingency(self, columns: tuple[str, ...]) -> Any:
            return np.ones(wide.shape(columns))

    model.hypothesis = Columns()  # type: ignore[assignment]
    assert mwem(task, bench, PlainSteps()).codes.shape == (50, 3)  # type: ignore[arg-type]
    joined = replace(task, workload=(counting(wide, a=first, b=[1] * 30 + [0] * 2970, c=[1] + [0] * 2999),))
    with pytest.raises(NotSupportedError, match="joins 3 columns"):
        mwem(joined, bench, PlainSteps())  # type: ignore[arg-type]


def test_what_cannot_be_done_is_refused_before_anything_is_paid() -> None:
    steps, bench = PlainSteps(), bench_of(TABLE, CELLS, Exactly())
    with pytest.raises(DataError, match="option iterate"):
        mwem(task_of(TABLE, CELLS, WORKLOAD, UNITS, iterate="best"), bench, steps)  # type: ignore[arg-type]
    with pytest.raises(BudgetExhausted):
        mwem(task_of(TABLE, CELLS, WORKLOAD, 0), bench, steps)  # type: ignore[arg-type]
    assert steps.costs == []


def test_replays_and_averages_are_what_they_say() -> None:
    """One round: the step on its answer, once, and again for each replay; the average of one iterate is the uniform."""
    query = counting(TABLE, a=[1, 0, 0, 0])
    share = CELLS[0].sum() / CELLS.sum()

    def first_cell(**options: str) -> float:
        task = task_of(TABLE, CELLS, [query], UNITS, rows=100_000, rounds="1", **options)
        made = mwem(task, bench_of(TABLE, CELLS, Exactly()), PlainSteps())  # type: ignore[arg-type]
        return float((made.codes[:, 0] == 0).mean())

    def stepped(times: int) -> float:
        p = 0.25
        for _ in range(times):
            up = p * np.exp((share - p) / 2)
            p = float(up / (up + 1 - p))
        return p

    assert first_cell(iterate="average") == pytest.approx(0.25, abs=1e-4)
    assert first_cell(replays="0") == pytest.approx(stepped(1), abs=1e-4)
    assert first_cell(replays="3") == pytest.approx(stepped(4), abs=1e-4)
    assert stepped(1) != pytest.approx(stepped(4), abs=1e-3)
