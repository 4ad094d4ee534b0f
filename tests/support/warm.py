"""Small tables, and sessions on them that write down what they do, for tests of the warm start."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any, ClassVar

import numpy as np

from dpsql.accounting import Plan
from dpsql.accounting.plan import NEWEST_MODELS
from dpsql.domain import TableDomain
from dpsql.first.warm_start import WarmStart
from dpsql.ledger import MemoryLedger
from dpsql.ledger.event import Totals
from dpsql.planning import make_plan
from dpsql.planning.plans import SPARE_QUESTIONS
from dpsql.policy import Mechanism, Policy, Privacy
from dpsql.query import Factor, LinearQuery, linear_query
from dpsql.session.asker import Asker
from tests.support.counted import Counted
from tests.support.entropy import SeededEntropy
from tests.support.simulated import table_of

ROWS = 4000
NARROW = table_of((12, 8, 5, 4), (True,))
WIDE = table_of((40, 9, 8, 7, 6, 5, 4, 3), (True,))
MANY = table_of((3,) * 18)


def columns_of(table: TableDomain, seed: int = 5) -> dict[str, list[Any]]:
    """Rows whose columns lean on the first one."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 1000, ROWS)
    out: dict[str, list[Any]] = {}
    for i, c in enumerate(table.finite):
        codes = (first // (i + 1) + rng.integers(0, 2, ROWS)) % c.size
        out[c.name] = [c.values[code] for code in codes.tolist()]
    return out


DATA = {table: columns_of(table) for table in (NARROW, WIDE, MANY)}


def policy(table: TableDomain = NARROW, epsilon: int = 4, neighbors: Any = "add-remove", **mechanism: Any) -> Policy:
    privacy = Privacy(Fraction(epsilon), Fraction(1, 10**6), neighbors, planned_queries=1000)
    return Policy(privacy, (table,), Mechanism(**mechanism))


def query(table: TableDomain, **weights: list[int]) -> LinearQuery:
    factors = [Factor((c.name,), np.array(weights[c.name])) for c in table.finite if c.name in weights]
    found = linear_query(table, factors)
    assert found is not None
    return found


def unit(size: int, code: int) -> list[int]:
    return [int(i == code) for i in range(size)]


def one_of(table: TableDomain, *columns: str) -> LinearQuery:
    """The first value of each column."""
    return query(table, **{c: unit(table.finite_domain(c).size, 0) for c in columns})


class Recorder(MemoryLedger):
    """A ledger that writes down what is done; several sessions of a test share it as one holder.

    So ``settle`` closes only reservations that an exception left while drawing, unless ``alone``; after ``killed`` is
    set nobody is there to close them.
    """

    lessons: ClassVar[dict[tuple[str, str], str]] = {}
    """What error bars learned, by plan and measurements: equal in all tests that draw the same noise."""

    def __init__(self, header: dict[str, str], log: list[str]) -> None:
        super().__init__(header)
        self.log = log
        self.alone = False
        self.killed = False
        self._left: set[int] = set()

    def reserve(self, cost: int, check: Callable[[Totals], None], payload: Any) -> int:
        number = super().reserve(cost, check, payload)
        self.log.append("reserve")
        return number

    def hard(self, reservation: int, payload: Any) -> None:
        super().hard(reservation, payload)
        self.log.append("hard")

    def release(self, reservation: int, payload: Any, answers: Any = ()) -> None:
        super().release(reservation, payload, answers)
        self.log.append("release")

    def recall(self, name: str) -> str | None:
        return super().recall(name) or self.lessons.get((self.header["plan"], name))

    def keep(self, name: str, text: str) -> None:
        super().keep(name, text)
        self.lessons[self.header["plan"], name] = text

    @contextmanager
    def drawing(self, reservation: int) -> Iterator[None]:
        with super().drawing(reservation):
            try:
                yield
            except BaseException:
                self._left.add(reservation)
                raise

    def settle(self, kept: int | None, *, dead: bool = False) -> int | None:
        if self.killed:
            return kept
        if self.alone:
            return super().settle(kept, dead=dead)
        self.end(self._left & self.open_reservations)
        return kept if kept in self.open_reservations else None

    def recover(self) -> None:
        """What the next process does after this one was killed."""
        super().settle(None, dead=True)


class Shared(Recorder):
    def changed(self) -> bool:
        return True


class Coins(SeededEntropy):
    """Writes down when it is used; ``stop_at``: the draw of noise that the process does not survive."""

    def __init__(self, seed: int, log: list[str], stop_at: int = 0) -> None:
        super().__init__(seed)
        self.log = log
        self.draws = 0
        self.stop_at = stop_at
        self.hard = False

    def bits(self, n: int) -> int:
        self.log.append("coin")
        return (1 << n) - 1 if self.hard else super().bits(n)

    def discrete_gaussian(self, sigma: Fraction, size: int) -> list[int]:
        self.log.append("noise")
        self.draws += 1
        if self.draws == self.stop_at:
            raise KeyboardInterrupt
        return super().discrete_gaussian(sigma, size)


def ledger_of(rules: Policy, *, spares: bool = False, models: int = NEWEST_MODELS) -> Recorder:
    """Without ``spares`` a plan of those that make no spare releases: all is the model's, and the net's.

    ``models``: the version of the rules that the ledger was begun with.
    """
    plan = replace(_with_few_spares(rules) if spares else without_spares(make_plan(rules)), models=models)
    return Shared({"plan": plan.to_json()}, [])


def _with_few_spares(rules: Policy) -> Plan:
    """The plan of a thousand questions, whose spare releases are made into as many as the few planned ones have: so
    few would all get noise of their own.
    """
    many = make_plan(replace(rules, privacy=replace(rules.privacy, planned_queries=1000)))
    if many.spares == 0:
        return make_plan(rules)
    number = int(SPARE_QUESTIONS * rules.privacy.planned_queries)
    return replace(many, spares=number, spare_units=many.spares * many.spare_units // number)


def without_spares(plan: Plan) -> Plan:
    return replace(plan, spares=0, spare_units=0)


@cache
def engine_of(rules: Policy) -> Counted:
    """One for all sessions under these rules: data do not change, and what was counted is known."""
    return Counted(rules, {t.name: DATA[t] for t in rules.tables})


def asker_of(rules: Policy, ledger: Recorder, seed: int = 1, stop_at: int = 0) -> tuple[Asker, Coins]:
    plan = Plan.from_json(ledger.header["plan"])
    coins = Coins(seed, ledger.log, stop_at)
    return Asker(rules, plan, engine_of(rules), ledger, coins), coins


def warm_reserved(ledger: Recorder) -> list[tuple[str, ...]]:
    events = [e for e in ledger.events() if e.kind == "reserve" and e.payload["purpose"] == WarmStart.purpose]
    return [tuple(c) for e in events for c in e.payload["columns"]]
