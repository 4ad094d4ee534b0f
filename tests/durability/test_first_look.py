"""Ctrl-C and kills in the midst of first looks: nothing overspent, answers as good as those of undisturbed sessions."""

import signal
from fractions import Fraction
from pathlib import Path

import pytest

from benchmarks.survival import Look, prepare, rows_of, statements, survive
from dpsql.accounting import Plan
from dpsql.domain import TableDomain
from dpsql.query import LinearQuery
from dpsql.session.asker import Asker
from tests.support.asking import ask
from tests.support.warm import MANY, NARROW, Coins, engine_of, ledger_of, one_of, policy


class Pressed(Coins):
    """Ctrl-C, as a terminal sends it, at the ``press_at``-th draw of noise or coin; 0 for never."""

    def __init__(self, press_at: int, *, hard: bool) -> None:
        super().__init__(1, [])
        self.hard = hard
        self.press_at = press_at
        self.drawn = 0

    def discrete_gaussian(self, sigma: Fraction, size: int) -> list[int]:
        self._draw()
        return super().discrete_gaussian(sigma, size)

    def bits(self, n: int) -> int:
        self._draw()
        return super().bits(n)

    def _draw(self) -> None:
        self.drawn += 1
        if self.drawn == self.press_at:
            signal.raise_signal(signal.SIGINT)


def asked(table: TableDomain, question: LinearQuery, coins: Pressed) -> tuple[list[str], int, int]:
    """What a session does until it has an answer: kinds of events, units spent, how often it had to be asked."""
    rules = policy(table)
    ledger = ledger_of(rules)
    ledger.alone = True
    asker = Asker(rules, Plan.from_json(ledger.header["plan"]), engine_of(rules), ledger, coins)
    times = 0
    while times < 4:
        times += 1
        asker.catch_up()
        try:
            ask(asker, question)
        except KeyboardInterrupt:
            continue
        break
    return [e.kind for e in ledger.events()], ledger.totals().spent, times


@pytest.mark.parametrize(("table", "columns"), [(NARROW, "abc"), (MANY, "abc")], ids=["narrow", "wide"])
@pytest.mark.parametrize("hard", [False, True])
def test_ctrl_c_at_any_draw_costs_nothing(table: TableDomain, columns: str, hard: bool) -> None:
    question, plain = one_of(table, *columns), Pressed(0, hard=hard)
    kinds, spent, once = asked(table, question, plain)
    assert once == 1
    assert ("hard" in kinds) == hard
    for press_at in (1, 2, plain.drawn // 2, plain.drawn - 1, plain.drawn):
        assert asked(table, question, Pressed(press_at, hard=hard)) == (kinds, spent, 2)


def test_what_is_not_held_is_burnt(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above sees an interrupt that gets through."""
    monkeypatch.setattr("dpsql.ledger.interrupts._signal.getsignal", lambda number: None)
    kinds, _, times = asked(NARROW, one_of(NARROW, "a"), Pressed(3, hard=False))
    assert (kinds.count("burn"), times) == (1, 2)


def check(found: dict[str, list[Look]], most: float) -> None:
    """``most``: mean error of disturbed sessions, in those of undisturbed ones."""
    disturbed = [row for row in rows_of(found) if row["sessions"] != "undisturbed"]
    assert [row["overspent"] for row in disturbed] == [0, 0]
    assert all(float(str(row["of undisturbed"])) <= most for row in disturbed), disturbed
    assert not any(look.burnt > 0 for look in found["interrupted"])
    assert all(look.burnt <= 0.1 for look in found["killed"])


def test_signals_at_random_moments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))
    prepare(tmp_path, 18, rows=1000, epsilon="4", text=True)
    check(survive(tmp_path, statements(18, text=True)[:5], 1, 1, seed=7), most=2.0)


@pytest.mark.slow
def test_a_hundred_signals_of_each_kind_at_random_moments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))
    prepare(tmp_path, 42, rows=4000, epsilon="1", text=False)
    check(survive(tmp_path, statements(42), 100, 30, seed=7), most=1.3)
