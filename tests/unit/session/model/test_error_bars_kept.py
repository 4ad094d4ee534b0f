"""What error bars learned is kept by the ledger: a second session says the same, without learning again."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpsql.domain import CategoryDomain, TableDomain
from dpsql.hypothesis import Calibration
from dpsql.hypothesis.bars.coverage import Coverage
from dpsql.hypothesis.measurement import Axis, Measurement
from dpsql.ledger import MemoryLedger
from dpsql.planning import make_plan
from dpsql.policy import Policy, Privacy
from dpsql.query import Factor, LinearQuery, linear_query
from dpsql.session.asker import Asker
from dpsql.session.model import error_bars
from tests.support.asking import ask
from tests.support.counted import Counted
from tests.support.entropy import SeededEntropy
from tests.support.lessons import learned_briefly

TABLE = TableDomain(
    "t", tuple(CategoryDomain(c, tuple(f"{c}{i}" for i in range(5)), nullable=False) for c in ("a", "b", "c", "d"))
)
RULES = Policy(Privacy(Fraction(1), Fraction(1, 10**6)), (TABLE,))
ROWS = {c: [f"{c}{(i * k) % 5}" for i in range(4000)] for k, c in enumerate(("a", "b", "c", "d"), start=1)}


def query(*columns: str) -> LinearQuery:
    found = linear_query(TABLE, [Factor((c,), np.array([1, 1, 0, 0, 0])) for c in columns])
    assert found is not None
    return found


def asker(ledger: MemoryLedger, seed: int) -> Asker:
    return Asker(RULES, make_plan(RULES), Counted(RULES, {"t": ROWS}), ledger, SeededEntropy(seed))


def bars(session: Asker) -> list[int | None]:
    return [session.states["t"].error_bar(query(*c)) for c in (("a", "b"), ("b", "c", "d"), ("a",))]


def test_a_second_session_does_not_learn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = MemoryLedger({"plan": make_plan(RULES).to_json()})
    first = asker(ledger, 1)
    ask(first, query("a", "b"))
    expected = bars(first)
    assert None not in expected

    def unwanted(*_: Any, **__: Any) -> None:
        raise AssertionError("learned again")

    monkeypatch.setattr(error_bars, "learn_calibration", unwanted)
    assert bars(asker(ledger, 2)) == expected


def test_a_bar_is_worked_out_anew_when_more_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    learned_briefly(monkeypatch)
    session = asker(MemoryLedger({"plan": make_plan(RULES).to_json()}), 1)
    asked = query("b", "c", "d")
    ask(session, query("a", "b"))
    state = session.states["t"]
    before = state.error_bar(asked)
    assert state.model is not None and before is not None
    axes = tuple(Axis((c,), np.arange(5), 5) for c in asked.scope)
    state.model.absorb(Measurement("t", axes, np.full((5, 5, 5), 32), 1.0))
    after = state.error_bar(asked)
    assert after is not None and after < before


class Keeping(MemoryLedger):
    """Knows the names of what it keeps."""

    def __init__(self, header: dict[str, str]) -> None:
        super().__init__(header)
        self.names: set[str] = set()

    def keep(self, name: str, text: str) -> None:
        super().keep(name, text)
        self.names.add(name)


def test_what_was_kept_may_be_lost_or_damaged() -> None:
    ledger = Keeping({"plan": make_plan(RULES).to_json()})
    first = asker(ledger, 1)
    ask(first, query("a", "b"))
    expected = bars(first)
    assert ledger.names
    for damage in ("", "{}x", "[]", '{"1": ["0x1p+0"]}', '{"1": 5}'):
        for name in list(ledger.names):
            ledger.keep(name, damage)
        assert bars(asker(ledger, 3)) == expected
    nothing = Coverage(TABLE, 1.0, [])
    assert (
        Calibration.from_json("null", nothing, lambda asked: np.zeros(len(asked)), lambda columns: np.zeros(1)) is None
    )
