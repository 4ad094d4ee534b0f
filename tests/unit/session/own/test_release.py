"""Residual releases of sessions: the noise that they draw, what they are paid as, what is durable, lost and learned."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpsql.confidence import DEVIATIONS
from dpsql.errors import LedgerError
from dpsql.first.payload import RESIDUAL, decode_measurement, encode_measurement
from dpsql.hypothesis import Measurement
from dpsql.planning.plans import SPARE_QUESTIONS
from dpsql.planning.table_plan import GROUP_SPARES
from dpsql.policy import Policy
from dpsql.query import Factor, LinearQuery, linear_query
from dpsql.session.asker import Asker
from dpsql.session.own.residual import SCALE, Residual
from dpsql.session.table_state import TableState
from tests.support.asking import ask, ask_all, how, way_of
from tests.support.warm import ROWS, WIDE, Recorder, asker_of, ledger_of, policy, query, unit

PLANNED = 24
SPARES = int(SPARE_QUESTIONS * PLANNED)
RELATIONS = ("add-remove", "replace-one")


@pytest.fixture(autouse=True)
def bars(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Error bars of the model's answers: of ``pairs`` and single columns, and ``of`` more."""
    known = {"pairs": 20, "of": 10**6}
    monkeypatch.setattr(
        TableState, "error_bars", lambda state, queries: [known["of" if len(q.scope) > 2 else "pairs"] for q in queries]
    )
    return known


def rules_of(neighbors: Any = "add-remove") -> Policy:
    made = policy(WIDE, 1, neighbors)
    return replace(made, privacy=replace(made.privacy, planned_queries=PLANNED))


def opened(rules: Policy, seed: int = 1, **plan: Any) -> tuple[Asker, Recorder]:
    """A session whose table has been measured; ``plan``: what else is said of it."""
    ledger = ledger_of(rules, spares=True, **plan)
    asker, _ = asker_of(rules, ledger, seed)
    ask(asker, query(WIDE, a=unit(40, 0)))
    ask_all(asker, [query(WIDE, a=unit(40, 0), b=unit(9, 1))])
    assert asker.plan.spares == SPARES
    return asker, ledger


def three(a: int = 0, b: int = 0, c: int = 0) -> LinearQuery:
    return query(WIDE, a=unit(40, a), b=unit(9, b), c=unit(8, c))


def groups(b: int = 0) -> list[LinearQuery]:
    """40 of them, by a."""
    return [three(a, b, 1) for a in range(40)]


def residual(asker: Asker, queries: list[LinearQuery]) -> Residual:
    found = asker.states["t"].own.parts(queries, spare=True)[0].residual
    assert found is not None
    return found


def change(neighbors: str, found: Residual) -> int:
    """The squared norm of what one row changes, from the weights and nothing else."""
    weights = [0, *found.weights.reshape(-1).tolist()]
    if neighbors == "add-remove":
        return max(w * w for w in weights)
    one = max((v - w) ** 2 for v in weights for w in weights)
    return max(one, 2 * max(w * w for w in weights)) if found.leading else one


def last_release(ledger: Recorder) -> Any:
    return [e for e in ledger.events() if e.kind == "release"][-1].payload


def begun(ledger: Recorder) -> Any:
    return [e for e in ledger.events() if e.kind == "reserve"][-1].payload


# --- the noise and its price -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize("grouped", [False, True])
def test_the_noise_is_what_the_charge_buys_for_what_a_row_changes(
    drawn: list[tuple[Fraction, int]], neighbors: str, grouped: bool
) -> None:
    asker, ledger = opened(rules_of(neighbors))
    asked = groups() if grouped else [three()]
    found, before = residual(asker, asked), ledger.totals().spent
    del drawn[:], ledger.log[:]
    answers = ask_all(asker, asked)
    assert ledger.log == ["reserve", "noise", "release"]  # durable before the noise; no coin, so no test
    ((sigma, numbers),) = drawn
    charged = ledger.totals().spent - before
    assert charged == asker.plan.spare_units * (GROUP_SPARES if grouped else 1)
    assert numbers == len(asked)  # every group is a part
    most = asker.plan.release_cost(sigma, change(neighbors, found))
    assert 0.9 * charged < most <= charged
    assert asker.plan.release_cost(sigma / 2, change(neighbors, found)) > charged
    said = asker.plan.as_epsilon(charged)
    assert [a.charged for a in answers] == pytest.approx([said, *[0.0] * (len(asked) - 1)])
    assert {(a.source, a.error_kind, a.certified) for a in answers} == {("measurement", "calibrated", False)}
    assert decode_measurement(last_release(ledger)).sigma == float(sigma)


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_the_release_is_the_weighted_counts_and_noise_of_its_sigma(neighbors: str) -> None:
    """360 groups of one release: a wrong mean, half or twice the noise is refused."""
    asker, ledger = opened(rules_of(neighbors))
    asked = [three(a, b, 1) for a in range(40) for b in range(9)]
    found = residual(asker, asked)
    ask_all(asker, asked)
    released = decode_measurement(last_release(ledger))
    exact = found.weighted(asker.bench.counted("t", found.axes))
    noise = exact.map(lambda counts: (released.values - counts).reshape(-1) / released.sigma).reveal()
    assert noise.size == 360

    def alike(z: Any) -> bool:
        return bool(0.85 < z.std() < 1.15 and abs(z.mean()) < 0.25)

    assert alike(noise)
    assert not alike(noise / 2)
    assert not alike(noise * 2)
    assert not alike(noise + 0.5)
    assert not alike(noise - 0.5)


def test_answers_are_right_but_for_the_noise_foreseen(monkeypatch: pytest.MonkeyPatch) -> None:
    """With estimates that are exact: the answers to one question, each drawn anew, have the truth as their mean."""
    asker, _ = opened(rules_of())
    state, engine = asker.states["t"], asker.bench.engine
    assert state.model is not None

    def exact(q: LinearQuery) -> float:
        counts = engine.contingency("t", q.scope)
        return float(counts.map(lambda cells: q.floor(cells)).reveal())

    asked = three(3, 1, 2)
    truth = exact(asked)
    monkeypatch.setattr(state.model, "estimate", exact)
    monkeypatch.setattr(state.model, "row_count", float(ROWS))
    found = residual(asker, [asked])
    sigma = asker.plan.release_sigma(state.plan.spare.units, state.plan.weighted_l2_squared(found.low, found.high))
    counts = found.weighted(asker.bench.counted("t", found.axes))
    off = []
    for _ in range(400):
        released = asker.bench.measured(counts, sigma, "t")
        off.append(found.found(released).measured[0] - truth)
    foreseen = float(sigma) / SCALE

    def alike(x: Any) -> bool:
        return bool(0.88 < x.std() / foreseen < 1.12 and abs(x.mean()) < 0.2 * foreseen)

    assert alike(np.array(off))
    assert not alike(np.array(off) / 2)
    assert not alike(np.array(off) * 2)
    assert not alike(np.array(off) + foreseen / 2)


def test_a_question_that_pairs_know_is_released_all_the_same(bars: dict[str, int]) -> None:
    """Pairs say all of IF a THEN b ELSE c; a bar that is far too wide asks for a release of what is left: nothing."""
    bars["pairs"] = 0
    asker, ledger = opened(rules_of())
    rule = np.zeros((40, 9, 8), dtype=np.int64)
    rule[:20, 0, :] = 1
    rule[20:, :, 0] = 1
    case = linear_query(WIDE, [Factor(("a", "b", "c"), rule)])
    assert case is not None
    assert way_of(asker, case) == "spare"
    before = ledger.totals().spent
    assert ask(asker, case).source == "measurement"
    assert ledger.totals().spent - before == asker.plan.spare_units


# --- what is explained ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_what_is_explained_is_the_most_that_the_error_can_be(neighbors: str) -> None:
    asker, _ = opened(rules_of(neighbors))
    for a in range(6):
        words, error = how(asker, three(a))
        answer = ask(asker, three(a))
        assert words == "a measurement of its own, for the model could be far off"
        assert answer.error is not None and error is not None
        assert 0.9 * error <= answer.error <= error


def test_the_bar_is_compared_with_the_noise_of_what_is_left(bars: dict[str, int]) -> None:
    asker, _ = opened(rules_of())
    (sd,) = asker.states["t"].own.spare_sds([three()])
    assert sd < float(asker.states["t"].plan.spare.sigma) / 3
    for times, way in ((0.9, "test"), (1.1, "spare")):
        bars["of"] = int(times * 1.96 * sd)
        asker.states["t"].model.version += 1  # type: ignore[union-attr]
        assert way_of(asker, three(1)) == way


# --- what they are paid as ----------------------------------------------------------------------------------------


def test_groups_are_paid_as_several_and_counted_so_after_a_restart() -> None:
    rules = rules_of()
    asker, ledger = opened(rules)
    answers = ask_all(asker, groups())
    assert begun(ledger)["spares"] == GROUP_SPARES
    ask(asker, three(5, 5, 5))
    assert begun(ledger)["spares"] == 1
    second, _ = asker_of(rules, ledger, 9)
    for a in (asker, second):
        a.catch_up()
        assert a.fold.spares_used() == GROUP_SPARES + 1
        assert a.states["t"].own.spares_left() == a.purses.spares_left() == SPARES - GROUP_SPARES - 1
        (spent,) = [spent for name, spent, _ in a.purses.shares() if name == "spare releases"]
        assert spent == pytest.approx(a.plan.as_epsilon((GROUP_SPARES + 1) * a.plan.spare_units))
    assert [a.value for a in ask_all(second, groups())] == [a.value for a in answers]


def test_groups_do_not_take_the_last_one_and_a_question_does() -> None:
    asker, _ = opened(rules_of())
    for i in range(SPARES - 1):
        ask(asker, three(i))
    assert [type(r).__name__ for r in asker.routes(groups(2))] == ["Tested"]
    assert way_of(asker, three(30)) == "spare"
    two = [*groups(2), query(WIDE, d=unit(7, 0), e=unit(6, 0), f=unit(5, 0))]
    assert [type(r).__name__ for r in asker.routes(two)] == ["Tested", "SpareRelease"]


def test_a_statement_of_groups_leaves_so_many_fewer_for_what_follows() -> None:
    asker, _ = opened(rules_of())
    for i in range(SPARES - GROUP_SPARES):
        ask(asker, three(i))
    two = [*groups(2), query(WIDE, d=unit(7, 0), e=unit(6, 0), f=unit(5, 0))]
    assert [type(r).__name__ for r in asker.routes(two)] == ["SpareRelease", "Tested"]


def test_a_reservation_that_does_not_say_how_many_is_one() -> None:
    asker, ledger = opened(rules_of())
    units = asker.plan.spare_units
    number = ledger.reserve(units, lambda _: None, {"purpose": "spare", "table": "t", "burn": units})
    asker.catch_up()
    assert asker.fold.spares_used() == 1
    ledger.free(number)
    asker.catch_up()
    assert asker.fold.spares_used() == 0


def test_a_kill_among_the_noise_of_groups_loses_as_many_as_they_are() -> None:
    rules = rules_of()
    asker, ledger = opened(rules)
    killed, _ = asker_of(rules, ledger, 3, stop_at=1)
    before = ledger.totals().spent
    with pytest.raises(KeyboardInterrupt):
        ask_all(killed, groups())
    ledger.recover()
    second, _ = asker_of(rules, ledger, 2)
    assert second.fold.spares_used() == GROUP_SPARES
    assert second.known(groups()[0]) is None
    assert ledger.totals().spent - before == GROUP_SPARES * asker.plan.spare_units
    assert ledger.totals().reserved == 0


def test_two_sessions_do_not_make_more_groups_than_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    asker, ledger = opened(rules_of())
    for i in range(SPARES - GROUP_SPARES):
        ask(asker, three(i))
    units, before, reserves = asker.plan.spare_units, asker.fold.spares_used(), ledger.reserve
    others: list[int] = []

    def first_the_other(cost: int, check: Any, payload: Any) -> int:
        if not others:  # begun at the same moment, before this session could see it
            other = {"purpose": "spare", "table": "t", "burn": units, "spares": 1}
            others.append(reserves(units, lambda _: None, other))
        return reserves(cost, check, payload)

    monkeypatch.setattr(ledger, "reserve", first_the_other)
    answers = ask_all(asker, groups(3))
    asker.catch_up()
    assert asker.fold.spares_used() == before + 1  # what was begun for the groups was given back
    assert all(e.payload.get("kind") != RESIDUAL or not e.payload["axes"] for e in ledger.events())
    assert len(answers) == 40
    ledger.free(others[0])
    asker.catch_up()
    assert [type(r).__name__ for r in asker.routes(groups(4))] == ["SpareRelease"]


def test_what_another_session_has_just_released_is_not_released_again() -> None:
    rules = rules_of()
    asker, ledger = opened(rules)
    second, _ = asker_of(rules, ledger, 5)
    first = ask_all(asker, groups())
    spent = ledger.totals().spent
    assert [a.value for a in ask_all(second, groups())] == [a.value for a in first]
    assert ledger.totals().spent == spent


# --- what is learned ------------------------------------------------------------------------------------------------


def test_a_restart_learns_what_the_session_had_learned() -> None:
    rules = rules_of()
    asker, ledger = opened(rules)
    for i in range(3):
        ask(asker, three(i))
    assert len(last_release(ledger)["lessons"]) == 1
    ask_all(asker, groups())
    assert last_release(ledger)["lessons"] == []
    second, _ = asker_of(rules, ledger, 7)
    assert second.states["t"].misfit == asker.states["t"].misfit
    assert second.states["t"].misfit != TableState(asker.states["t"].plan).misfit


@pytest.mark.parametrize("models", [24, 25])
def test_what_releases_say_of_models_weighs_them(models: int, bars: dict[str, int]) -> None:
    """Where models were near, an answer is nearer to its model's than its bar alone would have it, and so is its own
    bar; by rules before 25 the bar alone decides."""
    asker, ledger = opened(rules_of(), models=models)
    bars["of"] = 1000
    state = asker.states["t"]
    assert state.model is not None
    asked = three()
    found = residual(asker, [asked])
    for _ in range(200):
        state.misfit.learn(3, 0.1, 8.0, 500.0, 5.7)
    answer = ask(asker, asked)
    released = decode_measurement(last_release(ledger))
    measured = float(released.values) / found.scale + float(found.known[0])
    noise, model = float(found.noise(released.sigma)[0]), state.model.estimate(asked)
    ((_, _, _, *own),) = last_release(ledger)["lessons"]
    assert len(own) == (models == 25)
    share = abs(answer.value - model) / abs(measured - model)
    assert answer.error is not None
    if models == 25:
        assert share < 0.4
        assert answer.error < DEVIATIONS * 0.9 * noise
    else:
        assert share > 0.9
        assert answer.error == pytest.approx(DEVIATIONS * noise, abs=1.0)


def test_what_was_learned_since_is_in_what_is_asked_next() -> None:
    """Another session's lessons widen the bars that this one has worked a release out with."""
    asker, _ = opened(rules_of())
    state = asker.states["t"]
    before = residual(asker, [three()])
    assert residual(asker, [three()]) is before
    for _ in range(19):
        state.misfit.learn(3, 1000.0, 1.0, 100.0)
    learned = residual(asker, [three()])
    assert learned is not before
    state.wide_hard_rounds += 1
    assert residual(asker, [three()]) is not learned


def test_a_residual_release_that_teaches_nothing_readable_is_refused() -> None:
    rules = rules_of()
    asker, ledger = opened(rules)
    number = ledger.reserve(1, lambda _: None, {"purpose": "spare", "table": "t", "burn": 1})
    with ledger.drawing(number):
        ledger.release(number, encode_measurement(RESIDUAL, Measurement("t", (), np.array(5), 3.0)))
    with pytest.raises(LedgerError, match="a residual release in the ledger cannot be read"):
        asker.catch_up()
    with pytest.raises(LedgerError, match="a residual release in the ledger cannot be read"):
        asker_of(rules, ledger, 7)[0].catch_up()


def test_no_model_and_no_measurement_rests_on_a_residual() -> None:
    """Its numbers are no counts: nothing else may be read from them."""
    asker, _ = opened(rules_of())
    model = asker.states["t"].model
    assert model is not None
    fitted, known, version = len(model.hypothesis.measurements), len(model.contingencies), model.version
    ask(asker, three())
    ask_all(asker, groups())
    assert (len(model.hypothesis.measurements), len(model.contingencies), model.version) == (fitted, known, version)
    assert asker.states["t"].measured(three(0, 0, 0)) is None
