"""Sums beside the counts of their rows: what is measured, what a row changes of it, its noise, and what is kept."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any, NoReturn

import numpy as np
import pytest

from dpsql.domain import FIXED_POINT, BooleanDomain, IntegerDomain, NumberDomain, TableDomain, code_of
from dpsql.engine import MemoryEngine
from dpsql.errors import InternalError, LedgerError
from dpsql.first import Bench
from dpsql.hypothesis import Measurement
from dpsql.hypothesis.rules import MODEL_RULES
from dpsql.ledger import MemoryLedger
from dpsql.planning import make_plan, plan_tables
from dpsql.policy import Policy, Privacy
from dpsql.query import Factor, Interval, LinearQuery
from dpsql.result import Answer
from dpsql.session.asker import Asker
from dpsql.session.own.by_value.about_middle import about_middle, beside_told, from_zero
from dpsql.session.own.by_value.counted import Counted
from dpsql.session.own.by_value.measured_beside import ALONE, BESIDE, Distance, FromMiddle, MeasuredBeside
from dpsql.session.own.own_noise import Part
from dpsql.session.own.residual import Residual
from tests.support.entropy import SeededEntropy

X = NumberDomain("x", (-10.0, 0.0, 2.5, 30.0))
TABLE = TableDomain("t", (IntegerDomain("g", 0, 2, nullable=False), BooleanDomain("b"), IntegerDomain("y", 0, 4), X))
SIZES = {"g": 3, "b": 3, "y": 6, "x": 4}
RNG = np.random.default_rng(4)
ROWS: dict[str, list[Any]] = {
    "g": RNG.integers(0, 3, 300).tolist(),
    "b": [None if i % 11 == 0 else bool(i % 2) for i in range(300)],
    "y": [None if i % 13 == 0 else int(v) for i, v in enumerate(RNG.integers(0, 5, 300))],
    "x": [None if i % 7 == 0 else float(v) for i, v in enumerate(RNG.normal(5.0, 14.0, 300).round(2))],
}
CUT = (Interval("x", -3.25, 12.5),)
YES = Factor(("b",), np.array([0, 1, 0]))
VALUES = Factor(("x",), np.array([1, 1, 1, 0]))
UPPER = Factor(("x",), np.array([0, 1, 1, 0]))
BINS = [Factor(("x",), (np.arange(4) == b).astype(np.int64)) for b in (0, 2)]
"""Groups of what is summed: a row of one is beyond the values of the others."""
WHOLE = Factor(("y",), np.array([0, 1, 2, 3, 4, 0]), 4)
THERE = Factor(("y",), np.array([1, 1, 1, 1, 1, 0]))
HIGH = Factor(("y",), np.array([0, 0, 0, 3, 4, 0]), 4)
HIGH_THERE = Factor(("y",), np.array([0, 0, 0, 1, 1, 0]))
"""Conditions and weights of whole numbers, as averages are lowered to them."""
HALVES = {"whole numbers": 4, "whole numbers beside a condition": 1, "whole numbers in groups": 4}
"""What a row changes of them at most, in eighths: half of the distance between the least and the greatest value."""


def of_group(g: int) -> Factor:
    return Factor(("g",), (np.arange(3) == g).astype(np.int64))


def pair(
    sums: tuple[Factor, ...], counts: tuple[Factor, ...], value: str | None = None, cut: tuple[Interval, ...] = ()
) -> tuple[LinearQuery, LinearQuery]:
    return LinearQuery("t", sums, None, value, cut), LinearQuery("t", counts, None, None, cut)


ASKED = {
    "values": [pair((), (VALUES,), "x")],
    "values of all": [pair((), (), "x")],
    "values beside a condition": [pair((YES,), (YES, VALUES), "x")],
    "values of a stretch": [pair((YES,), (YES, VALUES), "x", CUT)],
    "values of some bins": [pair((UPPER,), (UPPER,), "x")],
    "values in groups": [pair((of_group(g), YES), (of_group(g), YES, VALUES), "x") for g in range(3)],
    "some groups": [pair((of_group(g),), (of_group(g), VALUES), "x", CUT) for g in (2, 0)],
    "whole numbers": [pair((WHOLE,), (THERE,))],
    "whole numbers beside a condition": [pair((YES, HIGH), (YES, HIGH_THERE))],
    "whole numbers in groups": [pair((of_group(g), WHOLE), (of_group(g), THERE)) for g in range(3)],
}


def rows_of(query: LinearQuery, rows: dict[str, list[Any]]) -> list[Fraction]:
    """What each row counts, told from its values and nothing else."""
    domains = {c.name: c for c in TABLE.finite}
    out = []
    for i in range(len(rows["g"])):
        row = {name: values[i] for name, values in rows.items()}
        weight = Fraction(1)
        for f in query.factors:
            (name,) = f.columns
            domain, value = domains[name], row[name]
            code = None if value is None else code_of(domain, value)
            cell = SIZES[name] - 1 if code is None else code
            weight *= Fraction(int(f.weights[cell]), f.unit)
        for told in query.intervals:
            weight *= told.holds(None if row["x"] is None else X.clipped(row["x"]))
        if query.value is not None:
            weight *= 0 if row["x"] is None else Fraction(X.share(X.clipped(row["x"])), FIXED_POINT)
        out.append(weight)
    return out


def policy_of(neighbors: Any = "add-remove", table: TableDomain = TABLE) -> Policy:
    return Policy(Privacy(Fraction(1), Fraction(1, 10**6), neighbors, planned_queries=8), (table,))


def bench_of(rows: dict[str, list[Any]]) -> Bench:
    policy = policy_of()
    return Bench(make_plan(policy), MemoryEngine(policy, {"t": rows}), MemoryLedger({}), SeededEntropy(1))


def made(name: str, sd: float = 0.0) -> Residual:
    sums, counts = zip(*ASKED[name], strict=True)
    counted = [Counted(c, round(sum(rows_of(c, ROWS))), sd) for c in counts]
    found = about_middle(TABLE, sums, counted)
    assert found is not None
    return found


# --- what is measured -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ASKED)
def test_without_noise_the_sums_are_right(name: str) -> None:
    """But for what the release rounds off: 1/64 of a row for each released number."""
    found = made(name)
    counts = found.counted(bench_of(ROWS)).reveal()
    said = found.found(Measurement("t", found.axes[: found.leading], counts, 1.0)).measured
    truth = [float(sum(rows_of(q, ROWS))) for q, _ in ASKED[name]]
    assert said == pytest.approx(truth, abs=1 / 64)
    assert max(truth) > 5


@pytest.mark.parametrize("name", ASKED)
def test_a_row_changes_what_is_released_by_half_of_itself_at_most(name: str) -> None:
    """Each row of some hundred, with all odd ends, taken out and exchanged for another one."""
    found = made(name)
    half = 32 if found.stretch is not None else max(HALVES[name], 1)
    assert found.high == half and found.low in (-half, 0)
    odd = list(product((0, 2), (None, True), (None, 0, 4), (None, -99.0, -10.0, -3.25, 0.0, 9.99, 12.5, 30.0, 99.0)))
    alone = [
        found.counted(bench_of({c: [v] for c, v in zip("gbyx", row, strict=True)})).reveal().reshape(-1) for row in odd
    ]
    assert max(int(np.abs(a).max()) for a in alone) == (half if found.low else 0)
    assert all(np.count_nonzero(a) <= 1 for a in alone)
    for neighbors in ("add-remove", "replace-one"):
        most = plan_tables(make_plan(policy_of(neighbors)), policy_of(neighbors))["t"].weighted_l2_squared(
            found.low, found.high
        )
        if neighbors == "add-remove":
            assert max(int((a**2).sum()) for a in alone) == most * bool(found.low)
        else:
            assert max(int(((a - b) ** 2).sum()) for a in alone for b in alone) <= most


ALONE_ASKED = {
    "a stretch": [pair((), (), "x", (Interval("x", -20.0, 2.0),))[0]],
    "a stretch beside a condition": [pair((YES,), (), "x", (Interval("x", -9.0, 2.0),))[0]],
    "bins": [pair((Factor(("x",), np.array([1, 1, 0, 1])),), (), "x")[0]],
    "groups": [pair((of_group(g), YES), (), "x", (Interval("x", -9.0, 2.0),))[0] for g in (2, 0)],
}


@pytest.mark.parametrize("name", ALONE_ASKED)
def test_sums_alone_are_right_and_a_row_changes_its_distance_from_the_least_value(name: str) -> None:
    found = from_zero(TABLE, ALONE_ASKED[name])
    assert found is not None and found.beside == (ALONE,) * len(ALONE_ASKED[name])
    counts = found.counted(bench_of(ROWS)).reveal()
    said = found.found(Measurement("t", found.axes[: found.leading], counts, 1.0)).measured
    truth = [float(sum(rows_of(q, ROWS))) for q in ALONE_ASKED[name]]
    assert said == pytest.approx(truth, abs=1 / 64) and max(truth) > 1
    assert (found.low, found.high) == (0, 64)
    assert found.high / found.scale == pytest.approx((12.5 if name == "bins" else 12.0) / 40, rel=1e-5)
    odd = product((0, 2), (None, True), (None, 0), (None, -99.0, -10.0, -9.0, 0.0, 2.0, 2.49, 2.5, 30.0, 99.0))
    alone = [
        found.counted(bench_of({c: [v] for c, v in zip("gbyx", row, strict=True)})).reveal().reshape(-1) for row in odd
    ]
    assert 60 <= max(int(a.max()) for a in alone) <= 64 and min(int(a.min()) for a in alone) == 0
    assert all(np.count_nonzero(a) <= 1 for a in alone)


def test_sums_alone_that_nothing_is_gained_of_are_measured_as_they_were() -> None:
    tied = Factor(("b", "x"), np.ones((3, 4), dtype=np.int64))
    for asked in (
        [pair((), (), "x")[0]],
        [pair((YES, UPPER), (), "x")[0]],
        [pair((tied,), (), "x")[0]],
        [pair((b,), (), "x")[0] for b in BINS],
        [pair((WHOLE,), ())[0]],
        [pair((YES,), (), None, CUT)[0]],
    ):
        assert from_zero(TABLE, asked) is None


class OneLook(MemoryEngine):
    """Of which nothing is asked but rows and their values together."""

    def never(self, *_: Any, **__: Any) -> NoReturn:
        raise AssertionError("a second look could see other rows")

    contingency = part_counts = sums = never  # type: ignore[assignment]


@pytest.mark.parametrize("name", [n for n in ASKED if n.startswith("values")])
def test_rows_and_values_are_of_one_look(name: str) -> None:
    policy = policy_of()
    bench = Bench(make_plan(policy), OneLook(policy, {"t": ROWS}), MemoryLedger({}), SeededEntropy(1))
    assert made(name).counted(bench).reveal().tolist() == made(name).counted(bench_of(ROWS)).reveal().tolist()


def test_rows_of_a_sum_that_its_count_leaves_out_change_all_of_themselves() -> None:
    """Never asked so: the noise follows from the weights, whatever the count is."""
    summed, counted = pair((YES,), (YES, UPPER), "x")
    found = about_middle(TABLE, [summed], [Counted(counted, 10, 1.0)])
    assert found is not None
    assert (found.low, found.high, found.scale, found.middle) == (-32, 64, 64, 0.5)


def test_conditions_on_the_values_leave_less_that_a_row_can_change() -> None:
    """In shares of the range of 40: half of what bins, stretches and whole numbers leave."""
    for name, reach in (("values", 40.0), ("values of a stretch", 15.75), ("values of some bins", 30.0)):
        found = made(name)
        assert found.high / found.scale == pytest.approx(reach / 40 / 2, rel=1e-5)
    assert made("values of a stretch").middle == pytest.approx((12.5 - 3.25 + 20) / 2 / 40, rel=1e-5)
    found = made("whole numbers beside a condition")
    assert found.high / found.scale == 1 / 8 and found.middle == 7 / 8


def test_columns_tied_to_the_values_leave_the_whole_range() -> None:
    """NULL may be among the cells of such a condition, and adds nothing."""
    tied = Factor(("b", "x"), np.array([[1, 1, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0]]))
    summed, counted = pair((tied,), (tied,), "x")
    found = about_middle(TABLE, [summed], [Counted(counted, 10, 1.0)])
    assert found is not None and (found.scale, found.middle) == (64, 0.5)


def test_one_value_is_measured_with_the_noise_that_rounding_takes() -> None:
    """Rows of a single value add nothing beyond it: the sum is the count's, and still something is drawn."""
    told = (Interval("x", 4.0, 4.0),)
    summed, counted = pair((), (VALUES,), "x", told)
    found = about_middle(TABLE, [summed], [Counted(counted, 10, 1.0)])
    assert found is not None and found.high == 32 and found.high / found.scale < 1e-7
    four = Factor(("y",), np.array([0, 0, 0, 3, 0, 0]), 4)
    there = Factor(("y",), np.array([0, 0, 0, 1, 0, 0]))
    alone = about_middle(TABLE, [LinearQuery("t", (four,))], [Counted(LinearQuery("t", (there,)), 10, 1.0)])
    assert alone is not None and not alone.weights.any() and (alone.high, alone.middle) == (1, 0.75)


def test_what_is_not_said_in_weights_of_parts_is_measured_as_it_was() -> None:
    tied = Factor(("g", "b"), np.ones((3, 3), dtype=np.int64))
    for sums, counts in (
        ([pair((tied,), (YES, VALUES), "x")[0]], [pair((tied,), (YES, VALUES), "x")[1]]),
        ([pair((), (), "x", CUT)[0]], [pair((), (VALUES,))[1]]),
        ([pair((of_group(g),), (), "x")[0] for g in range(3)], [pair((), (of_group(2 - g),))[1] for g in range(3)]),
        ([pair((of_group(0),), (), "x")[0]] * 2, [pair((), (YES,))[1], pair((), (VALUES,))[1]]),
        ([pair((WHOLE,), (), None, CUT)[0]], [pair((), (THERE,), None, CUT)[1]]),
        ([pair((b,), (), "x")[0] for b in BINS], [pair((), (b,))[1] for b in BINS]),
        ([pair((YES, b), (), "x")[0] for b in BINS], [pair((), (YES, b))[1] for b in BINS]),
    ):
        assert about_middle(TABLE, sums, [Counted(c, 5, 1.0) for c in counts]) is None


# --- sessions ---------------------------------------------------------------------------------------------------------

GROUPS = 360
MANY = TableDomain("t", (IntegerDomain("g", 0, GROUPS - 1, nullable=False), IntegerDomain("y", 0, 4), X))
MANY_ROWS: dict[str, list[Any]] = {
    "g": (np.arange(3600) % GROUPS).tolist(),
    "y": [None if i % 13 == 0 else i % 5 for i in range(3600)],
    "x": [None if i % 7 == 0 else float(v) for i, v in enumerate(RNG.uniform(-9.0, 29.0, 3600).round(2))],
}


def one(g: int) -> Factor:
    return Factor(("g",), (np.arange(GROUPS) == g).astype(np.int64))


SUMS, COUNTS = zip(*[pair((one(g),), (one(g), VALUES), "x") for g in range(GROUPS)], strict=True)
GROUP = np.arange(3600) % GROUPS
SHARES = np.array([0.0 if x is None else (X.clipped(x) + 10.0) / 40.0 for x in MANY_ROWS["x"]])
FOURTHS = np.array([0.0 if y is None else y / 4.0 for y in MANY_ROWS["y"]])


def by_group(added: Any) -> Any:
    return np.bincount(GROUP, added, GROUPS)


def counted(column: str) -> Any:
    return by_group(np.array([v is not None for v in MANY_ROWS[column]], dtype=float))


OF = {s.digest: c for s, c in zip(SUMS, COUNTS, strict=True)}


def opened(ledger: MemoryLedger, seed: int = 1) -> Asker:
    policy = policy_of(table=MANY)
    plan = make_plan(policy)
    plan = plan if "plan" not in ledger.header else replace(plan, models=int(ledger.header["plan"]))
    return Asker(policy, plan, MemoryEngine(policy, {"t": MANY_ROWS}), ledger, SeededEntropy(seed))


def releases(ledger: MemoryLedger) -> list[Any]:
    return [e.payload for e in ledger.events() if e.kind == "release"]


def test_sums_are_off_by_their_noise_and_half_of_what_their_counts_are() -> None:
    """360 groups: a wrong mean, half or twice the noise is refused."""
    ledger = MemoryLedger({})
    asker = opened(ledger)
    answers = asker.ask([*SUMS, *COUNTS], OF)
    kept = asker.states["t"].own
    kept.know_counts(OF, answers)
    (part,) = kept.parts(SUMS, spare=False)
    plan = asker.states["t"].plan
    assert part.residual is not None
    drawn = asker.plan.release_sigma(part.units, plan.weighted_l2_squared(part.residual.low, part.residual.high))
    own = float(drawn) / part.residual.scale
    assert own == pytest.approx(float(plan.question.sigma) / 2, rel=0.02)
    off, of_counts = (
        np.array([answers[q.digest].value for q in asked]) - truth
        for asked, truth in ((SUMS, by_group(SHARES)), (COUNTS, counted("x")))
    )
    z = (off - of_counts / 2) / own

    def alike(found: Any) -> bool:
        return bool(0.85 < found.std() < 1.15 and abs(found.mean()) < 0.25)

    assert alike(z)
    assert not alike(z / 2)
    assert not alike(z * 2)
    assert not alike(z + 0.5)
    assert not alike(z - 0.5)
    (error,) = {answers[s.digest].error for s in SUMS}
    sd = np.hypot(own, (answers[COUNTS[0].digest].error or 0.0) / 1.959964 / 2)
    assert error is not None and 0.0 <= error - 1.959964 * sd <= 2.0


def test_counts_are_answered_first_whatever_the_order() -> None:
    ledger = MemoryLedger({})
    opened(ledger).ask([*SUMS, *COUNTS], OF)
    payloads = releases(ledger)[-2:]
    assert [BESIDE in p for p in payloads] == [False, True]


def test_it_is_known_in_other_sessions() -> None:
    ledger = MemoryLedger({})
    first = opened(ledger)
    answers = first.ask([*SUMS, *COUNTS], OF)
    counts = [round(answers[c.digest].value or 0) for c in COUNTS]
    for asker in (first, opened(ledger, 2)):
        asker.catch_up()
        beside = asker.states["t"].beside
        for s, c, n in zip(SUMS, COUNTS, counts, strict=True):
            told = beside.distance(s, c)
            assert told is not None and told.middle == 0.5
            assert abs((answers[s.digest].value or 0) - n / 2 - told.total) <= 0.5
        assert beside.distance(SUMS[0], COUNTS[1]) is None
        assert asker.ask(list(SUMS), OF) == {s.digest: replace(answers[s.digest], charged=0.0) for s in SUMS}


def test_older_rules_measure_sums_as_before() -> None:
    older = max(version for version, rules in MODEL_RULES.items() if not rules.about_middle)
    ledger = MemoryLedger({"plan": str(older)})
    opened(ledger).ask([*SUMS, *COUNTS], OF)
    assert not any(BESIDE in p for p in releases(ledger))


def test_an_explanation_changes_nothing() -> None:
    """What is kept of a question that was explained beside other counts is not what is asked."""
    sums, counts = of_whole_numbers()
    ledger = MemoryLedger({})
    asker = opened(ledger)
    asker.ask([LinearQuery("t", ())])
    alone = asker.states["t"].own.parts([*sums, *counts], spare=False)
    assert not any(part.residual is not None and part.residual.beside for part in alone)
    asker.ask([*sums, *counts], {s.digest: c for s, c in zip(sums, counts, strict=True)})
    assert BESIDE in releases(ledger)[-1]


def test_a_sum_whose_count_nobody_asked_is_measured_as_before() -> None:
    ledger = MemoryLedger({})
    opened(ledger).ask(list(SUMS), OF)
    assert not any(BESIDE in p for p in releases(ledger))


def of_whole_numbers() -> tuple[list[LinearQuery], list[LinearQuery]]:
    sums, counts = zip(*[pair((one(g), WHOLE), (one(g), THERE)) for g in range(GROUPS)], strict=True)
    return list(sums), list(counts)


def test_sums_and_counts_of_one_release_are_drawn_one_after_the_other() -> None:
    """Of whole numbers that may be NULL both are questions about the same columns: one payment, shared evenly."""
    sums, counts = of_whole_numbers()
    of = {s.digest: c for s, c in zip(sums, counts, strict=True)}
    ledger = MemoryLedger({})
    asker = opened(ledger)
    before = asker.ask([LinearQuery("t", ())])
    spent = ledger.totals().spent
    answers = asker.ask([*sums, *counts], of)
    assert ledger.totals().spent - spent == asker.states["t"].plan.question.units
    last = releases(ledger)[-1]
    assert len(last["measurements"]) == 2 and len(last[BESIDE]) == 1
    assert not any(BESIDE in m or "lessons" in m for m in last["measurements"])
    asker.catch_up()
    told = [round(answers[c.digest].value or 0) for c in counts]
    beside = asker.states["t"].beside
    assert None not in [beside.distance(*of_one) for of_one in zip(sums, counts, strict=True)]
    off = np.array([answers[q.digest].value for q in sums]) - by_group(FOURTHS)
    of_counts = np.array(told) - counted("y")
    own = off - of_counts / 2
    sigma = float(asker.states["t"].plan.question.sigma) * 2**0.5 / 2
    assert 0.85 < own.std() / sigma < 1.15 and abs(own.mean()) < 0.25 * sigma
    assert abs(np.corrcoef(own, of_counts)[0, 1]) < 0.2
    assert before


def test_counts_that_were_not_drawn_are_an_error_of_dpsqls_own() -> None:
    found = replace(made("whole numbers"), awaits=(ASKED["whole numbers"][0][1],))
    with pytest.raises(InternalError):
        beside_told(found, {})
    count = ASKED["whole numbers"][0][1]
    told = beside_told(found, {count.digest: Answer(41, 19.6, None, "exact", "measurement", certified=True)})
    assert told.known.tolist() == [20.5] and told.known_sd[0] == pytest.approx(5.0, rel=1e-4) and not told.awaits


def test_a_payload_that_cannot_be_read_is_said_to_be() -> None:
    beside = MeasuredBeside()
    sums, counts = (tuple([q.digest for q in asked[:2]]) for asked in (SUMS, COUNTS))
    kept = FromMiddle(0.5, 1.25, sums, (counts[0], ALONE), (3.0, -4.5))
    beside.take({})
    assert beside.distance(SUMS[0], COUNTS[0]) is None
    for wrong in (
        {"middle": "x"},
        {"sd": 3},
        {"distances": None},
        {"distances": ["z"]},
        {"distances": ["0x1p0"]},
        {"sums": None},
        {"counts": ["a"]},
    ):
        broken = {k: v for k, v in (kept.payload | wrong).items() if v is not None}
        with pytest.raises(LedgerError):
            beside.take({BESIDE: [broken]})
    beside.take({BESIDE: [kept.payload]})
    assert beside.distance(SUMS[0], COUNTS[0]) == Distance(0.5, 3.0, 1.25)
    assert beside.distance(SUMS[0], COUNTS[1]) is None
    assert beside.of_sum(SUMS[0]) == (Distance(0.5, 3.0, 1.25), COUNTS[0].digest)
    assert beside.distance(SUMS[1], COUNTS[0]) == Distance(0.5, -4.5, 1.25)  # alone: beside any count
    assert beside.of_sum(SUMS[2]) is beside.distance(SUMS[2], COUNTS[2]) is None


def test_what_would_make_sums_much_worse_is_not_done() -> None:
    """A count that is far off: half of its noise would be in the sum."""
    ledger = MemoryLedger({})
    asker = opened(ledger)
    asker.ask([LinearQuery("t", ())])
    own = asker.states["t"].own

    def part(error: float) -> Part:
        own.know_counts(OF, {c.digest: Answer(9, error, None, "exact", "measurement", certified=True) for c in COUNTS})
        (found,) = own.parts(SUMS, spare=False)
        return found

    near, far = part(20.0), part(200.0)
    assert near.residual is not None and near.residual.beside
    assert far.residual is None
    assert max(near.sds) < min(far.sds)
