"""Paying: what is reserved is drawn and made durable, or given back; what was drawn and then lost is paid."""

from collections.abc import Callable

import numpy as np
import pytest

from dpsql.errors import InternalError, LedgerError
from dpsql.first.payload import ROW_COUNT, encode_measurement
from dpsql.first.payment import Drawn, pay
from dpsql.hypothesis import Measurement
from dpsql.session.answers import exact
from dpsql.session.asker import Asker
from tests.support.warm import Recorder
from tests.unit.first.test_row_count import PLAN, UNITS, session

ANSWER = exact(7.0, 2.0, "measurement")


@pytest.fixture
def ledger() -> Recorder:
    return Recorder({"plan": PLAN.to_json()}, [])


def drawn() -> Drawn:
    return Drawn(encode_measurement(ROW_COUNT, Measurement("one", (), np.array(1234), 9.0)), [("digest", ANSWER)])


def paid(
    asker: Asker, is_late: Callable[[int], bool] = lambda _: False, draw: Callable[[], Drawn] = drawn
) -> Drawn | None:
    turns, payload = asker.turns, {"purpose": "row count", "table": "one"}
    return pay(UNITS, asker.bench, turns, lambda: turns.reserve_first(UNITS, payload), is_late, draw)


def test_what_is_drawn_is_durable_and_followed_before_it_is_told(ledger: Recorder) -> None:
    asker = session(ledger)
    found = paid(asker)
    assert found is not None
    assert ledger.lookup("digest") == ANSWER
    assert (ledger.totals().spent, ledger.totals().reserved, asker.bench.paid.units) == (UNITS, 0, UNITS)
    model = asker.states["one"].model
    assert model is not None
    assert model.row_count == 1234


def test_another_session_was_earlier(ledger: Recorder) -> None:
    asker, asked = session(ledger), []

    def is_late(reservation: int) -> bool:
        asked.append((reservation, asker.states["one"].touches.row_count.unbegun_units()))
        return True

    assert paid(asker, is_late, lambda: pytest.fail("drew under what is given back")) is None
    assert asked == [(1, 0)]  # its own reservation is followed before it is judged
    assert (ledger.totals().spent, ledger.totals().reserved, asker.bench.paid.units) == (0, 0, 0)
    assert asker.states["one"].touches.row_count.unbegun_units() == UNITS


@pytest.mark.parametrize("failure", [InternalError("no delta is left"), ZeroDivisionError("no delta is left")])
def test_a_reservation_that_cannot_be_judged_is_given_back(ledger: Recorder, failure: Exception) -> None:
    asker = session(ledger)

    def is_late(_: int) -> bool:
        raise failure

    with pytest.raises(type(failure), match="delta"):
        paid(asker, is_late, lambda: pytest.fail("drew under what is given back"))
    assert (ledger.totals().spent, ledger.totals().reserved, asker.bench.paid.units) == (0, 0, 0)


def test_what_fails_while_it_is_drawn_is_paid(ledger: Recorder) -> None:
    asker = session(ledger)

    def draw() -> Drawn:
        raise LedgerError("the disk is full")

    with pytest.raises(LedgerError, match="disk"):
        paid(asker, draw=draw)
    assert asker.bench.paid.units == UNITS
    assert ledger.lookup("digest") is None
    ledger.settle(None)
    assert (ledger.totals().spent, ledger.totals().reserved) == (UNITS, 0)


def test_nothing_is_drawn_without_a_reservation(ledger: Recorder) -> None:
    asker = session(ledger)
    nothing = pay(
        UNITS,
        asker.bench,
        asker.turns,
        lambda: None,
        lambda _: pytest.fail("nothing to judge"),
        lambda: pytest.fail("drew without a reservation"),
    )
    assert nothing is None
    assert ledger.totals().spent == 0
