"""Plans: the published calibration, soundness of every plan, exact JSON."""

import json
import math
from dataclasses import replace
from fractions import Fraction

import pytest

from dpsql.accounting import UNITS, Plan, Unshown, calibrate, epsilon_at, gaussian_cost, hard_round_cost, units
from dpsql.accounting.calibration import default_measure_share
from dpsql.accounting.plan import NEWEST_MODELS
from dpsql.errors import InternalError, LedgerError, PolicyError

DELTA = Fraction(1, 10**6)
PLANS = [
    calibrate(Fraction(1), DELTA, hard_rounds=10),
    calibrate(Fraction(1), DELTA, hard_rounds=20, release_share=0.85, delta_purse=DELTA / 10),
    calibrate(Fraction(1, 10), DELTA, hard_rounds=100, measure_share=0.5),
    calibrate(Fraction(4), DELTA, hard_rounds=0),
]


def accuracy(plan: Plan, queries: int = 10_000) -> tuple[float, float, float]:
    """Threshold and bound that hold with 95 % over ``queries`` perfect estimates; noise of a paid answer."""
    miss = -math.log(0.95)
    threshold = math.log(2 * queries / miss) / float(plan.slope)
    return threshold, threshold + math.log(math.log(queries / miss)) / float(plan.slope), float(plan.sigma)


@pytest.mark.parametrize(
    ("epsilon", "rounds", "published"),
    [
        (Fraction(1), 10, (315, 376, 30.0)),
        (Fraction(1), 30, (459, 548, 54.5)),
        (Fraction(1), 100, (769, 918, 91.2)),
        (Fraction(1, 10), 10, (2649, 3163, 252)),
        (Fraction(1, 10), 30, (3909, 4669, 464)),
        (Fraction(1, 10), 100, (6618, 7904, 785)),
    ],
)
def test_calibration_reaches_the_published_figures(
    epsilon: Fraction, rounds: int, published: tuple[float, float, float]
) -> None:
    plan = calibrate(epsilon, DELTA, hard_rounds=rounds)
    assert accuracy(plan) == pytest.approx(published, rel=0.02)
    assert all(ours <= 1.005 * theirs for ours, theirs in zip(accuracy(plan), published, strict=True))
    assert plan.release_budget < plan.total_units / 10_000


def test_one_count_alone_needs_sigma_four_and_a_half() -> None:
    plan = calibrate(Fraction(1), DELTA, hard_rounds=0)
    assert float(plan.release_sigma(plan.release_budget)) == pytest.approx(4.53, abs=0.01)
    assert float(plan.alpha) == pytest.approx(22, rel=0.01)


@pytest.mark.parametrize("plan", PLANS)
def test_every_plan_keeps_its_promise(plan: Plan) -> None:
    assert float(epsilon_at(plan.total_units, plan.alpha, plan.delta - plan.delta_purse)) <= float(plan.epsilon)
    assert plan.hard_rounds * plan.hard_cost + plan.release_budget == plan.total_units
    if plan.hard_rounds > 0:
        assert plan.test_cost >= hard_round_cost(plan.certified_slope, plan.alpha) * UNITS
        assert plan.measure_cost >= gaussian_cost(plan.alpha, Fraction(1), plan.sigma) * UNITS
        assert plan.certified_slope > plan.slope


@pytest.mark.parametrize("plan", PLANS)
def test_json_round_trip_is_exact(plan: Plan) -> None:
    assert Plan.from_json(plan.to_json()) == plan


def test_text_columns_without_a_selection_are_kept_with_the_plan(plan: Plan = PLANS[0]) -> None:
    assert "unshown" not in plan.to_json()  # ledgers of before have no such word
    found = replace(plan, unshown=(Unshown("t", "w", 51), Unshown("a b", "c.d", 7)))
    assert Plan.from_json(found.to_json()) == found != plan


@pytest.mark.parametrize("unshown", ["w", [["t", "w"]], [["t", "w", "51"]], [["t", 1, 51]], [1], {"t": 1}, 3])
def test_text_columns_that_cannot_be_read_are_refused(unshown: object) -> None:
    with pytest.raises(LedgerError):
        Plan.from_json(json.dumps(json.loads(PLANS[0].to_json()) | {"unshown": unshown}))


def test_a_plan_that_names_no_rules_of_models_keeps_the_first(plan: Plan = PLANS[0]) -> None:
    fields = json.loads(plan.to_json())
    assert fields.pop("models") == NEWEST_MODELS
    first = Plan.from_json(json.dumps(fields))
    assert first == replace(plan, models=1)
    assert json.loads(first.to_json()) == fields  # as earlier versions wrote it, and read it


@pytest.mark.parametrize(
    ("models", "said"),
    [(NEWEST_MODELS + 1, f"does not know: {NEWEST_MODELS + 1}"), (0, "not know: 0"), ("2", "not in")],
)
def test_rules_of_models_of_a_later_version_are_refused(models: object, said: str) -> None:
    with pytest.raises(LedgerError, match=said.replace("not in", "costs that are not integers")):
        Plan.from_json(json.dumps(json.loads(PLANS[0].to_json()) | {"models": models}))


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": "1/2"},
        {"sigma": "1"},
        {"slope": "1/10"},
        {"alpha": "1"},
        {"sigma": "1/0"},
        {"test_cost": 1.5},
        {"test_cost": 0},
        {"total_units": 10**16},
        {"units": 10**18},
        {"epsilon": 1.0},
        {"extra": 1},
    ],
)
def test_json_of_an_unsound_plan_is_refused(change: dict[str, object]) -> None:
    fields = json.loads(PLANS[0].to_json()) | change
    with pytest.raises(LedgerError):
        Plan.from_json(json.dumps(fields))


@pytest.mark.parametrize("change", [{"slope": "1000000"}, {"epsilon": "1e400"}, {"sigma": "2"}, {"slope": "1/10"}])
def test_json_of_an_unsound_plan_with_two_purses_is_refused(change: dict[str, object]) -> None:
    plan = calibrate(Fraction(1), DELTA, hard_rounds=10, release_share=0.9, releases=100)
    assert plan.alpha is None
    with pytest.raises(LedgerError):
        Plan.from_json(json.dumps(json.loads(plan.to_json()) | change))


@pytest.mark.parametrize("text", ["", "[]", "{}", "null", "3"])
def test_json_that_is_no_plan_is_refused(text: str) -> None:
    with pytest.raises(LedgerError):
        Plan.from_json(text)


@pytest.mark.parametrize("change", ["total_units", "test_cost", "measure_cost"])
def test_a_plan_checks_its_own_costs(change: str) -> None:
    wrong = getattr(PLANS[0], change) + (10**6 if change == "total_units" else -1)
    with pytest.raises(InternalError):
        replace(PLANS[0], **{change: wrong})


@pytest.mark.parametrize(("test", "l2_squared"), [(1, 1), (1, 2), (3, 9), (3, 18), (7, 49)])
def test_scaling_to_a_sensitivity_keeps_the_cost(test: int, l2_squared: int) -> None:
    plan = PLANS[0]
    net = plan.for_sensitivity(test, l2_squared)
    assert net.slope * test == plan.slope
    assert net.certified_slope * test == plan.certified_slope
    assert units(gaussian_cost(plan.alpha, Fraction(l2_squared), net.sigma)) <= plan.measure_cost
    assert float(net.sigma) == pytest.approx(float(plan.sigma) * math.sqrt(l2_squared), rel=1e-3)
    assert net.threshold(10_000) == pytest.approx(test * plan.threshold(10_000), abs=test)
    assert net.certified_bound(10_000) >= test * plan.certified_bound(10_000) - 2 * test


def test_threshold_and_certified_bound_follow_their_formulas() -> None:
    plan, queries = PLANS[0], 100_000
    slope = float(plan.slope)
    theta = math.ceil(math.log(2 * queries / (0.1 * 10)) / slope)
    assert plan.threshold(queries) == theta
    assert plan.certified_bound(queries) == math.ceil(theta + math.log(math.log(queries / 0.05)) / slope)
    assert plan.for_sensitivity().certified_bound(queries, theta=theta + 5) == plan.certified_bound(queries) + 5
    assert plan.threshold(1) > 0
    assert PLANS[2].threshold(1) == 0
    with pytest.raises(InternalError):
        plan.certified_bound(10**18)
    with pytest.raises(InternalError):
        PLANS[3].threshold(10)


def test_releases_cost_what_their_precision_costs() -> None:
    plan = PLANS[1]
    assert units(plan.alpha * plan.release_precision / 2) == plan.release_budget
    for share in (1, 7, 91):
        cost = plan.release_budget // share
        sigma = plan.release_sigma(cost, l2_squared=2)
        assert cost * 0.999 <= plan.release_cost(sigma, l2_squared=2) <= cost
    assert Fraction(float(sigma)) == sigma
    with pytest.raises(InternalError):
        plan.release_sigma(0)


def test_release_share_moves_precision_to_releases() -> None:
    plan = PLANS[1]
    net = plan.slope**2 + 1 / plan.sigma**2
    released = plan.release_precision / (plan.hard_rounds * net + plan.release_precision)
    assert float(released) == pytest.approx(0.85, abs=0.002)


def test_the_delta_purse_is_subtracted_first() -> None:
    smaller = calibrate(Fraction(1), DELTA, hard_rounds=10, delta_purse=DELTA / 2)
    assert smaller.sigma > PLANS[0].sigma
    assert smaller.sigma <= calibrate(Fraction(1), DELTA / 2, hard_rounds=10).sigma


def test_as_epsilon_is_a_share_of_epsilon() -> None:
    plan = PLANS[0]
    assert plan.as_epsilon(plan.total_units) == 1.0
    assert plan.as_epsilon(0) == 0.0
    assert 0.09 < plan.as_epsilon(plan.hard_cost) <= 0.1


def test_default_measure_share_interpolates() -> None:
    shares = [default_measure_share(rounds) for rounds in (1, 10, 17, 30, 100, 1000)]
    assert shares == pytest.approx([0.4, 0.4, 0.3517, 0.3, 0.3, 0.3], abs=1e-4)


@pytest.mark.parametrize(
    ("path", "keys"),
    [
        ("privacy.epsilon", {"epsilon": Fraction(0)}),
        ("privacy.delta", {"delta": Fraction(0)}),
        ("privacy.delta", {"delta": Fraction(1)}),
        ("privacy.delta", {"delta_purse": DELTA}),
        ("mechanism.hard_rounds", {"hard_rounds": -1}),
        ("mechanism", {"measure_share": 1.0}),
        ("mechanism", {"release_share": 1.0}),
        ("privacy.epsilon", {"epsilon": Fraction(1, 10**4), "hard_rounds": 5000}),
    ],
)
def test_calibrate_refuses_with_the_keys_path(path: str, keys: dict[str, object]) -> None:
    arguments: dict[str, object] = {"epsilon": Fraction(1), "delta": DELTA, "hard_rounds": 10}
    with pytest.raises(PolicyError) as caught:
        calibrate(**(arguments | keys))  # type: ignore[arg-type]
    assert caught.value.path == path
    assert caught.value.hint


@pytest.mark.parametrize(("rounds", "told"), [(6, "raise it, or write hard_rounds below 6"), (1, "raise it")])
def test_too_small_an_epsilon_is_told_what_helps(rounds: int, told: str) -> None:
    """With one round left, fewer of them are no way out."""
    with pytest.raises(PolicyError, match="epsilon is too small") as caught:
        calibrate(Fraction(1, 10**6), DELTA, hard_rounds=rounds)
    assert caught.value.hint == told


def test_a_plan_that_spends_its_delta_purse_twice_is_refused() -> None:
    with pytest.raises(InternalError):
        replace(PLANS[0], delta_purse=DELTA / 10)


def test_a_plan_of_no_order_and_one_that_spares_more_than_it_has_are_unsound() -> None:
    plan = PLANS[0]
    for alpha in (Fraction(1), Fraction(1, 2)):
        with pytest.raises(InternalError, match="alpha is out of range"):
            replace(plan, alpha=alpha)
    with pytest.raises(InternalError, match="exceed the release budget"):
        replace(plan, spares=2, spare_units=plan.planned_releases // 2 + 1)
    kept = replace(plan, on_demand_units=plan.release_budget // 2)
    assert kept.planned_releases < plan.release_budget
    with pytest.raises(InternalError, match="exceed the release budget"):
        replace(kept, spares=1, spare_units=kept.planned_releases + 1)
