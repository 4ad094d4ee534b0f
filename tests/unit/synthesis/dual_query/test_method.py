"""A run as a whole: what it charges, what is recorded and goes on, rows, options, changes between neighbours."""

from fractions import Fraction
from itertools import combinations_with_replacement, product
from pathlib import Path
from typing import Any, cast

import duckdb
import numpy as np
import pytest

import dpsql
from dpsql.domain import BooleanDomain, IntegerDomain, TableDomain, TextDomain
from dpsql.engine.memory import MemoryEngine
from dpsql.errors import DataError
from dpsql.first import Bench
from dpsql.policy import Policy, Privacy
from dpsql.query import Factor, LinearQuery
from dpsql.query.canonical import linear_query
from dpsql.synthesis.dual_query.method import counted
from dpsql.synthesis.dual_query.options import settled
from dpsql.synthesis.dual_query.setting import round_cost, total_cost
from tests.support.dual import NEEDS_SOLVER, ORDERED, PURSES, Listed, Rows, booleans, cells, run, shares, task_of
from tests.support.entropy import SeededEntropy

TABLE = booleans(5)
RNG = np.random.default_rng(8)
CODES = (RNG.random((4000, 5)) < np.array([0.8, 0.6, 0.5, 0.3, 0.1])).astype(np.int64)
CODES[:, 1] = np.where(RNG.random(4000) < 0.9, CODES[:, 0], CODES[:, 1])
PAIRS = cells(TABLE, 2)
UNITS = ORDERED.total_units // 2


@NEEDS_SOLVER
def test_every_round_is_paid_and_the_whole_is_within_what_is_given() -> None:
    task, steps = task_of(TABLE, 4000, PAIRS, UNITS // 100, rounds=12, samples=15), Listed()
    run(task, CODES, steps)
    setting = settled(task, ORDERED).setting
    assert steps.costs == [*(round_cost(ORDERED, setting, t, "range") for t in range(1, 13)), 1]
    assert 0.99 * task.units < sum(steps.costs) == total_cost(ORDERED, setting, "range") <= task.units
    assert [len(step.get("drawn", ())) for step in steps.recorded] == [15] * 12 + [0]
    assert [("record" in step) for step in steps.recorded] == [False] + [True] * 12


@NEEDS_SOLVER
def test_recorded_steps_give_the_same_rows_and_nothing_is_worked_out_again(monkeypatch: pytest.MonkeyPatch) -> None:
    task = task_of(TABLE, 4000, PAIRS, UNITS, rounds=8, samples=15)
    first = Listed()
    whole = run(task, CODES, first)
    assert whole.codes.shape == (4000, 5)
    from dpsql.synthesis.dual_query import response

    monkeypatch.setattr(response, "solved", None)
    again = run(task, np.zeros_like(CODES), Listed(first.recorded), entropy=SeededEntropy(99))
    assert np.array_equal(whole.codes, again.codes)


@NEEDS_SOLVER
@pytest.mark.parametrize("stop", [0, 1, 5, 8])
def test_a_run_that_was_broken_off_goes_on_where_it_was(stop: int) -> None:
    task = task_of(TABLE, 4000, PAIRS, UNITS, rounds=8, samples=15)
    whole, begun = Listed(), Listed(stop=stop)
    entropy = SeededEntropy(5)
    expected = run(task, CODES, whole, entropy=SeededEntropy(5))
    with pytest.raises(KeyboardInterrupt):
        run(task, CODES, begun, entropy=entropy)
    rest = Listed(begun.recorded)
    found = run(task, CODES, rest, entropy=entropy)
    assert np.array_equal(found.codes, expected.codes)
    assert rest.recorded == whole.recorded
    assert rest.costs == whole.costs


@NEEDS_SOLVER
def test_the_rows_are_the_records_evenly() -> None:
    task, steps = task_of(TABLE, 4000, PAIRS, UNITS, rounds=8, samples=15), Listed()
    found = run(task, CODES, steps)
    records = [step["record"] for step in steps.recorded[1:]]
    assert found.scale == 1
    assert found.codes.tolist() == [record for record in records for _ in range(500)]
    few = run(task_of(TABLE, 4000, PAIRS, UNITS, rounds=8, samples=15, wanted=16), CODES, Listed(steps.recorded))
    assert few.codes.tolist() == [record for record in records for _ in range(2)]
    assert few.scale == 250


@NEEDS_SOLVER
def test_the_rows_of_the_table_are_read_once_and_before_the_first_draw_only() -> None:
    rows = Rows(TABLE, CODES)
    task = task_of(TABLE, 4000, PAIRS, UNITS, rounds=5, samples=5)
    bench = Bench(ORDERED, cast(Any, rows), cast(Any, None), SeededEntropy(1))
    from dpsql.synthesis.dual_query import dual_query

    steps = Listed()
    dual_query(task, bench, cast(Any, steps))
    assert rows.asked == 10 + 1
    dual_query(task, bench, cast(Any, Listed(steps.recorded)))
    assert rows.asked == 11


@NEEDS_SOLVER
def test_progress_is_told() -> None:
    heard: list[tuple[str, int, int]] = []
    task = task_of(TABLE, 4000, PAIRS, UNITS, rounds=3, samples=5)
    object.__setattr__(task, "on_progress", lambda *what: heard.append(what))
    run(task, CODES)
    assert heard == [("records", done, 3) for done in range(4)]


@NEEDS_SOLVER
@pytest.mark.parametrize(("plan", "neighbors"), [(PURSES, "add-remove"), (ORDERED, "replace-one")])
def test_a_table_is_near_its_rows(plan: Any, neighbors: str) -> None:
    """With 400,000 rows this budget is far from scarce."""
    codes = np.tile(CODES, (100, 1))
    task = task_of(TABLE, len(codes), PAIRS, plan.total_units // 2, rounds=100, samples=25, neighbors=neighbors)
    found = run(task, codes, plan=plan)
    error = np.abs(shares(TABLE, PAIRS, found.codes) - shares(TABLE, PAIRS, codes))
    assert error.max() < 0.06
    assert error.mean() < 0.02


# --- what one unit changes --------------------------------------------------------------------------------------


SMALL = booleans(2)
WEIGHTED = linear_query(SMALL, [Factor(("c0", "c1"), np.array([[3, 1], [0, 2]]), 3)])
assert WEIGHTED is not None
QUERIES = (*cells(SMALL, 1), *cells(SMALL, 2), WEIGHTED)


def released(rows: list[tuple[int, int]]) -> np.ndarray:
    """The private vector itself, read as only a test may."""
    engine = Rows(SMALL, np.array(rows, dtype=np.int64).reshape(-1, 2))
    found = counted(Bench(ORDERED, cast(Any, engine), cast(Any, None), SeededEntropy(1)), "t", QUERIES)
    return cast(np.ndarray, found.reveal())


@pytest.mark.parametrize("c", [1, 2])
def test_all_changes_lie_in_an_interval_of_the_width_that_is_charged(c: int) -> None:
    """Every small table, every set of at most c rows that go and of at most c that come."""
    values = list(product((0, 1), repeat=2))
    sets = [rows for k in range(c + 1) for rows in combinations_with_replacement(values, k)]
    widest = {"add-remove": 0, "replace-one": 0}
    for others in [[], [(0, 0)], [(1, 0), (1, 0)], [(0, 1), (1, 1), (1, 0)]]:
        of = {rows: released([*others, *rows]) for rows in sets}
        for gone, came in product(sets, sets):
            change = of[came] - of[gone]
            width = int(max(0, change.max()) - min(0, change.min()))
            relation = "add-remove" if not gone or not came else "replace-one"
            widest[relation] = max(widest[relation], width)
            assert width <= len(gone) + len(came)
    assert widest == {"add-remove": c, "replace-one": 2 * c}


def test_a_query_and_its_complement_are_all_rows() -> None:
    found = released([(0, 1), (1, 1), (1, 0), (1, 1)])
    assert (found[: len(QUERIES)] + found[len(QUERIES) :] == 4).all()
    assert found[len(QUERIES) - 1] == (1 + 2 + 0 + 2) // 3


def test_conditions_on_many_columns_are_counted_without_their_grid() -> None:
    """Of 60^6 cells there are more than fit anywhere; queries of other scopes stand between them."""
    columns = tuple(IntegerDomain(f"c{i}", 0, 59, nullable=False) for i in range(6))
    table = TableDomain("t", columns)
    codes = np.random.default_rng(3).integers(0, 60, (500, 6))
    below = [{c.name: 5 + 9 * i for c in columns[: 6 if i % 2 else 1]} for i in range(6)]
    ends = [{name: np.arange(60) < end for name, end in q.items()} for q in below]
    queries = tuple(
        LinearQuery("t", tuple(Factor((name,), w.astype(np.int64)) for name, w in query.items())) for query in ends
    )
    engine = MemoryEngine(
        Policy(Privacy(Fraction(1), Fraction(1, 10**6)), (table,)),
        {"t": {c.name: codes[:, i].tolist() for i, c in enumerate(columns)}},
    )
    found = counted(Bench(ORDERED, engine, cast(Any, None), SeededEntropy(1)), "t", queries).reveal()
    true = [sum(all(row[int(name[1])] < end for name, end in q.items()) for row in codes) for q in below]
    assert found.tolist() == [*true, *(500 - n for n in true)]
    assert max(true[1::2]) > 0


@pytest.mark.parametrize(("neighbors", "c", "width"), [("add-remove", 3, 3), ("replace-one", 3, 6)])
def test_the_width_is_of_the_neighbours_and_rows_of_a_unit(neighbors: str, c: int, width: int) -> None:
    table = TableDomain("t", TABLE.columns, unit="who", max_rows_per_unit=c)
    assert settled(task_of(table, 4000, PAIRS, UNITS, neighbors=neighbors), ORDERED).setting.width == width


# --- options ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rounds": "x"}, "not a whole number"),
        ({"rounds": -1}, "above 0"),
        ({"samples": "1.5"}, "whole"),
        ({"seconds": 0}, "above 0"),
        ({"rate": "nan"}, "above 0"),
        ({"rate": 20, "rounds": 100}, "cost epsilon"),
        ({"rate": 1000}, "certain"),
        ({"accounting": "renyi"}, "no accounting"),
        ({"accounting": "subsampled"}, "as a whole, not step by step"),
    ],
)
def test_options_that_are_wrong_are_refused_before_any_charge(options: dict[str, Any], words: str) -> None:
    steps = Listed()
    with pytest.raises(DataError, match=words) as caught:
        run(task_of(TABLE, 4000, PAIRS, UNITS, **options), CODES, steps)
    assert caught.value.hint
    assert steps.costs == []


def test_concentrated_privacy_is_charged_where_the_plan_has_an_order() -> None:
    assert settled(task_of(TABLE, 4000, PAIRS, UNITS, accounting="zcdp"), ORDERED).charge == "zcdp"
    with pytest.raises(DataError, match="two purses"):
        settled(task_of(TABLE, 4000, PAIRS, UNITS, accounting="zcdp"), PURSES)


def test_a_rate_that_would_do_harm_is_not_bought() -> None:
    task = task_of(TABLE, 10**8, PAIRS, UNITS, rounds=20)
    setting = settled(task, ORDERED).setting
    assert setting.rate == pytest.approx(2, rel=1e-6)
    assert total_cost(ORDERED, setting, "range") < UNITS // 100


def test_the_range_buys_twice_the_rate_of_pure_releases() -> None:
    for plan in (ORDERED, PURSES):
        rates = [
            settled(task_of(TABLE, 10**4, PAIRS, plan.total_units // 9, rounds=80, accounting=a), plan).setting.rate
            for a in ("range", "pure")
        ]
        assert rates[0] / rates[1] == pytest.approx(2, rel=0.01)


def test_a_rate_that_fits_is_taken() -> None:
    setting = settled(task_of(TABLE, 10**6, PAIRS, UNITS, rounds=20, rate="0.25", samples=7), ORDERED).setting
    assert (setting.rate, setting.rounds, setting.samples, setting.rows) == (Fraction(1, 4), 20, 7, 10**6)


def test_what_cannot_be_made_is_refused() -> None:
    text = TableDomain("t", (TextDomain("name"),))
    cases: list[tuple[TableDomain, tuple[LinearQuery, ...], int, str]] = [
        (TABLE, (), UNITS, "workload"),
        (TABLE, PAIRS, 0, "spends budget"),
        (text, (LinearQuery("t", ()),), UNITS, "finite"),
        (TableDomain("t", (BooleanDomain("c0"),)), (LinearQuery("t", (), value="c0"),), UNITS, "counts of finite"),
    ]
    for table, workload, units, words in cases:
        with pytest.raises(DataError, match=words):
            run(task_of(table, 10, workload, units), np.zeros((10, len(table.finite)), dtype=np.int64))


@NEEDS_SOLVER
def test_a_session_pays_once_within_what_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))
    with duckdb.connect(str(tmp_path / "t.duckdb")) as con:
        con.execute("CREATE TABLE t AS SELECT i % 3 = 0 AS a, i % 5 < 2 AS b, i % 7 < 3 AS c FROM range(3000) r(i)")
    policy = "version = 1\n[privacy]\nepsilon = 1.0\ndelta = 1e-6\n[tables.t.columns]\n"
    policy += "".join(f'{name} = {{ type = "boolean", nullable = false }}\n' for name in "abc")
    (tmp_path / "t.dpsql.toml").write_text(policy)
    asked: dict[str, Any] = {"method": "dual-query", "epsilon": 0.2, "keeps_first_look": False, "rounds": 4}
    with dpsql.connect(tmp_path / "t.duckdb") as session:
        first = session.synthesize("t", **asked, samples=5)
        row_count = 0.05
        assert 0 < first.charged <= 0.2 + row_count
    with dpsql.connect(tmp_path / "t.duckdb") as session:
        again = session.synthesize("t", **asked, samples=5)
    assert again.charged == 0
    assert again.to_arrow().equals(first.to_arrow())
