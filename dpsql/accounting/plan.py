"""The plan: (epsilon, delta) turned once into budgets for tests and for noise, and their shares. Public, frozen.

It checks itself whenever it is made, also when it is read from a ledger: whatever a search proposed or an editor
changed, a plan that spends more than (epsilon, delta) cannot exist.
"""

import json
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from dpsql.accounting.curve import UNITS, budget_units, gaussian_cost, hard_round_cost, pure_cost, range_cost, units
from dpsql.accounting.grid import sigma_from_variance
from dpsql.accounting.net import TABLE_MARGIN, Net
from dpsql.accounting.profile import LEAST_PURE, SMOOTHING, covers, noise_cost, pure_precision
from dpsql.confidence import OUTSIDE
from dpsql.errors import InternalError, LedgerError

_FRACTIONS = ("epsilon", "delta", "delta_purse", "alpha", "slope", "sigma")
NEWEST_MODELS = 38
"""The version of the rules by which new ledgers are modelled: the last of ``dpsql.hypothesis.rules``."""
_FIRST_MODELS = 1  # of plans that do not say
_LATER = ("questions", "spares", "spare_units", "on_demand_units")
"""Written where they are not 0: plans that do not know them have none."""
_INTEGERS = ("hard_rounds", "test_cost", "measure_cost", "total_units")


class Unshown(NamedTuple):
    """A text column of which no selection is made: none of its strings could be shown, by their owner's word. Public.

    ``rows``: from about so many rows on a string could have been shown.
    """

    table: str
    column: str
    rows: int


@dataclass(frozen=True)
class Plan:
    """What a ledger may spend, fixed when it is created. A plan that exists keeps (epsilon, delta): it is checked.

    ``epsilon``, ``delta``: of the whole session. ``delta_purse``: part of delta kept for releases with a delta of their
    own. ``alpha``: the one Renyi order at which everything is charged; ``None`` where noise is charged by its precision
    and the privacy profile of the whole plan is bounded (docs/privacy.md, theorem 2). ``hard_rounds``: T. ``slope``
    (per count, 0 when T = 0) and ``sigma`` (counts, 0 when T = 0): the test and the measurement at sensitivity 1.
    ``test_cost``, ``measure_cost``, ``total_units``: integer units, ``1 / UNITS`` of Renyi divergence each, or of half
    the precision. ``questions``: above 0, so many questions get noise of their own and share the release budget evenly;
    there is no test then (T = 0). ``spares``: so many questions may get noise of their own beside models, for
    ``spare_units`` each, where a model's answer could be far off. ``on_demand_units``: of the release budget, for noise
    that analysts choose. ``unshown``: text columns whose share of the releases and of delta goes to the others, for no
    string of theirs could be shown. ``models``: the version of the rules by which tables
    are modelled; no matter of privacy, but frozen with the ledger, and versions of dpsql that do not know it refuse the
    plan.

    See ``calibrate`` for an example; ``from_json(plan.to_json()) == plan``.
    """

    epsilon: Fraction
    delta: Fraction
    delta_purse: Fraction
    alpha: Fraction | None
    hard_rounds: int
    slope: Fraction
    sigma: Fraction
    test_cost: int
    measure_cost: int
    total_units: int
    questions: int = 0
    spares: int = 0
    spare_units: int = 0
    on_demand_units: int = 0
    models: int = NEWEST_MODELS
    unshown: tuple[Unshown, ...] = ()

    def __post_init__(self) -> None:
        if self.epsilon <= 0 or not 0 <= self.delta_purse < self.delta < 1:
            raise self._unsound("epsilon or delta is out of range")
        if self.hard_rounds < 0 or min(self.test_cost, self.measure_cost, self.release_budget) < 0:
            raise self._unsound("a share is negative")
        if self.questions < 0 or (self.questions > 0 and self.hard_rounds > 0):
            raise self._unsound("questions with noise of their own need no hard rounds")
        if min(self.spares, self.spare_units, self.on_demand_units) < 0:
            raise self._unsound("a share is negative")
        if self.spares * self.spare_units > self.planned_releases:
            raise self._unsound("spare releases and what is kept for demands exceed the release budget")
        if self.hard_rounds > 0 and (self.slope <= 0 or self.sigma <= 0):
            raise self._unsound("a hard round needs a slope and a sigma")
        if self.hard_rounds > 0 and self.measure_cost < self.release_cost(self.sigma):
            raise self._unsound("the measurement is charged too little")
        if self.alpha is None:
            self._check_profile()
        else:
            self._check_order(self.alpha)

    def _check_order(self, alpha: Fraction) -> None:
        if alpha <= 1:
            raise self._unsound("alpha is out of range")
        if self.total_units > budget_units(self.epsilon, alpha, self.delta, self.delta_purse):
            raise self._unsound("the budget exceeds epsilon")
        if self.hard_rounds > 0 and self.test_cost < units(hard_round_cost(self.certified_slope, alpha)):
            raise self._unsound("the test is charged too little")

    def _check_profile(self) -> None:
        precision = Fraction(2 * self.noise_budget, UNITS)
        if not covers(self.epsilon, self.delta, self.delta_purse, precision, self.hard_rounds, self.certified_slope):
            raise self._unsound("the budget exceeds epsilon")

    @staticmethod
    def _unsound(what: str) -> InternalError:
        return InternalError(f"unsound plan: {what}", hint="make plans with dpsql.accounting.calibrate")

    @property
    def certified_slope(self) -> Fraction:
        """The slope that is charged: at least every step of the test's integer table."""
        return self.slope + TABLE_MARGIN

    @property
    def hard_cost(self) -> int:
        """Units of one hard round: its test and its measurement."""
        return self.test_cost + self.measure_cost

    @property
    def release_budget(self) -> int:
        """Units for planned releases outside hard rounds."""
        return self.total_units - self.hard_rounds * self.hard_cost

    @property
    def planned_releases(self) -> int:
        """Units for the releases that are planned: the release budget without what is kept for demands."""
        return self.release_budget - self.on_demand_units

    @property
    def noise_budget(self) -> int:
        """Units for noise of every kind, in hard rounds and outside: all but the tests'."""
        return self.total_units - self.hard_rounds * self.test_cost

    @property
    def release_precision(self) -> Fraction:
        """The sum of D2^2 / sigma^2 that the release budget can pay; without an order a little less."""
        return Fraction(2 * self.release_budget, UNITS) / (1 if self.alpha is None else self.alpha)

    def release_cost(self, sigma: Fraction, l2_squared: int = 1) -> int:
        """Units of a discrete Gaussian release of scale ``sigma`` (counts) at D2^2 = ``l2_squared``, rounded up."""
        if self.alpha is None:
            return units(noise_cost(Fraction(l2_squared), sigma))
        return units(gaussian_cost(self.alpha, Fraction(l2_squared), sigma))

    def pure_cost(self, epsilon: Fraction) -> int:
        """Units of a release that is ``epsilon``-DP by itself, rounded up (docs/privacy.md, pure releases)."""
        if self.alpha is None:
            return units(Fraction(math.nextafter(pure_precision(float(epsilon)), math.inf)) / 2)
        return units(pure_cost(self.alpha, epsilon))

    def range_cost(self, width: Fraction) -> int:
        """Units of one weighted draw of bounded range ``width`` > 0, rounded up (docs/privacy.md, weighted draws)."""
        if self.alpha is None:
            half = max(float(width / 2), LEAST_PURE)
            return units(Fraction(math.nextafter(pure_precision(half), math.inf)) / 2)
        return units(range_cost(self.alpha, width))

    def release_sigma(self, cost: int, l2_squared: int = 1) -> Fraction:
        """The least noise (counts, an exact double) that ``cost`` > 0 units buy at D2^2 = ``l2_squared``."""
        if cost <= 0 or l2_squared <= 0:
            raise InternalError("a release needs a positive cost", hint="plan a larger share for releases")
        if self.alpha is None:
            return sigma_from_variance(Fraction(l2_squared * UNITS, 2 * cost) + SMOOTHING)
        return sigma_from_variance(self.alpha * l2_squared * UNITS / (2 * cost))

    def for_sensitivity(self, test: int = 1, l2_squared: int = 1) -> Net:
        """The hard round for tested values that change by at most ``test`` and cells by sqrt(l2_squared) in L2.

        Add-remove with c rows per unit: (c, c^2). Replace-one: (c, 2 c^2). The cost stays ``hard_cost``.
        """
        if test < 1 or l2_squared < 1:
            raise InternalError("a sensitivity is at least 1", hint="count at least one row per privacy unit")
        if self.hard_rounds == 0:
            return Net(Fraction(0), Fraction(0), test, Fraction(0), 0)
        sigma = sigma_from_variance(self.sigma * self.sigma * l2_squared)
        return Net(self.slope / test, self.certified_slope / test, test, sigma, self.hard_rounds)

    def threshold(self, planned_queries: int) -> int:
        """``Net.threshold`` at sensitivity 1."""
        return self.for_sensitivity().threshold(planned_queries)

    def certified_bound(self, planned_queries: int, beta: float = OUTSIDE) -> int:
        """``Net.certified_bound`` at sensitivity 1."""
        return self.for_sensitivity().certified_bound(planned_queries, beta)

    def as_epsilon(self, cost: int) -> float:
        """``cost`` units as a share of epsilon, for display: the whole budget shows as epsilon."""
        return float(self.epsilon * cost / self.total_units) if cost else 0.0  # as most statements cost

    def units_within(self, epsilon: float) -> int:
        """The most units that show as at most so much of epsilon."""
        units = int(Fraction(epsilon) * self.total_units / self.epsilon)
        return units + int(self.as_epsilon(units + 1) <= epsilon)  # what was shown is rounded

    def to_json(self) -> str:
        """Exact: fractions as strings, costs as integers, keys sorted."""
        numbers = {name: getattr(self, name) for name in _FRACTIONS}
        fields: dict[str, str | int | None] = {name: n if n is None else str(n) for name, n in numbers.items()}
        fields |= {name: getattr(self, name) for name in _INTEGERS}
        fields |= {name: getattr(self, name) for name in _LATER if getattr(self, name)}
        if self.models != _FIRST_MODELS:
            fields["models"] = self.models
        if self.unshown:  # versions that do not know it refuse the plan, as they would select
            return json.dumps(fields | {"units": UNITS, "unshown": self.unshown}, sort_keys=True)
        return json.dumps(fields | {"units": UNITS}, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "Plan":
        """The plan written by ``to_json``, checked again. ``LedgerError`` when it is not one, or is unsound."""
        try:
            fields = json.loads(text)
            scale, models = fields.pop("units"), fields.pop("models", _FIRST_MODELS)
            later = {name: fields.pop(name, 0) for name in _LATER}
            unshown = tuple([_unshown(*found) for found in fields.pop("unshown", ())])
            if set(fields) != {*_FRACTIONS, *_INTEGERS} or scale != UNITS:
                raise LedgerError("the ledger's plan has other fields")
            if not all(type(n) is int for n in (models, *later.values(), *(fields[name] for name in _INTEGERS))):
                raise LedgerError("the ledger's plan has costs that are not integers")
            numbers = {name: fields[name] for name in _FRACTIONS if name != "alpha" or fields[name] is not None}
            if not all(type(n) is str for n in numbers.values()):
                raise LedgerError("the ledger's plan has numbers that are not exact")
            if not 1 <= models <= NEWEST_MODELS:
                raise LedgerError(
                    f"the ledger's tables are modelled by rules that this dpsql does not know: {models}",
                    hint="open it with the dpsql version that wrote it",
                )
            values: dict[str, Any] = {"alpha": None} | {name: Fraction(n) for name, n in numbers.items()}
            return cls(**values, **{name: fields[name] for name in _INTEGERS}, **later, models=models, unshown=unshown)
        except (ValueError, TypeError, KeyError, AttributeError, ArithmeticError, InternalError) as error:
            raise LedgerError("the ledger's plan cannot be read") from error


def _unshown(table: object, column: object, rows: object) -> Unshown:
    if not (isinstance(table, str) and isinstance(column, str) and type(rows) is int):
        raise LedgerError("the ledger's plan names text columns in a way that cannot be read")
    return Unshown(table, column, rows)
