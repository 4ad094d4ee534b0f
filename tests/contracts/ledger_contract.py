"""What every ``Ledger`` does; subclasses provide ``ledger``."""

from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256

import numpy as np
import pytest

from dpsql.errors import BudgetExhausted, LedgerError
from dpsql.ledger import Ledger, Totals
from dpsql.result import Answer, CrosstabAnswers

HEADER = {"policy": "policy digest", "data": "data fingerprint", "plan": '{"epsilon": "1"}'}
EASY = Answer(12, 3.5, (8.5, 15.5), "calibrated", "hypothesis", certified=True, certified_bound=40.25)
PAID = Answer(-0.0, 0.1 + 0.2, None, "exact", "measurement", certified=True, charged=1 / 3)


def crosstab(number: int, first: int = 0) -> tuple[bytes, list[str], CrosstabAnswers]:
    """Digests of so many questions, their keys, and answers to them, some of which have no error."""
    found = [sha256(b"%d" % i).digest() for i in range(first, first + number)]
    errors = np.where(np.arange(number) % 7 == 0, np.nan, np.arange(number) + 0.1)
    answers = CrosstabAnswers(np.arange(number) - 3, errors, "calibrated", "hypothesis", 40.25)
    return b"".join(found), [digest.hex() for digest in found], answers


def any_cost(totals: Totals) -> None:
    """A check that never refuses."""


def within(budget: int, cost: int) -> Callable[[Totals], None]:
    def check(totals: Totals) -> None:
        if totals.spent + totals.reserved + cost > budget:
            raise BudgetExhausted("spent", requested=float(cost), remaining=0.0)

    return check


class LedgerContract:
    """Run for every implementation."""

    @pytest.fixture
    def ledger(self) -> Ledger:
        raise NotImplementedError

    def kinds(self, ledger: Ledger) -> list[str]:
        return [event.kind for event in ledger.events()]

    def test_header_is_kept_and_immutable(self, ledger: Ledger) -> None:
        assert {key: ledger.header[key] for key in HEADER} == HEADER
        with pytest.raises(TypeError):
            ledger.header["policy"] = "other"  # type: ignore[index]

    def test_begins_empty(self, ledger: Ledger) -> None:
        assert ledger.events() == []
        assert ledger.totals() == Totals(0, 0)
        assert ledger.count_answers() == (0, 0)

    def test_reserved_then_released_is_spent_in_full(self, ledger: Ledger) -> None:
        number = ledger.reserve(10, any_cost, {"burn": 3})
        assert ledger.totals() == Totals(0, 10)
        ledger.hard(number, {"query": "q"})
        assert ledger.totals() == Totals(0, 10)
        ledger.release(number, {"values": [1, -2]})
        assert ledger.totals() == Totals(10, 0)
        assert self.kinds(ledger) == ["reserve", "hard", "release"]
        assert [event.cost for event in ledger.events()] == [10, 0, 10]
        assert [event.reservation for event in ledger.events()] == [number] * 3

    def test_a_planned_measurement_needs_no_hard(self, ledger: Ledger) -> None:
        number = ledger.reserve(7, any_cost, {})
        ledger.release(number, {})
        assert ledger.totals() == Totals(7, 0)

    def test_freed_costs_nothing(self, ledger: Ledger) -> None:
        ledger.free(ledger.reserve(10, any_cost, {"burn": 3}))
        assert ledger.totals() == Totals(0, 0)
        assert self.kinds(ledger) == ["reserve", "free"]

    def test_check_sees_spent_and_reserved(self, ledger: Ledger) -> None:
        seen: list[Totals] = []
        ledger.release(ledger.reserve(4, seen.append, {}), {})
        ledger.reserve(5, seen.append, {})
        ledger.reserve(6, seen.append, {})
        assert seen == [Totals(0, 0), Totals(4, 0), Totals(4, 5)]

    def test_a_refused_reservation_leaves_no_trace(self, ledger: Ledger) -> None:
        ledger.reserve(6, within(10, 6), {})
        with pytest.raises(BudgetExhausted):
            ledger.reserve(6, within(10, 6), {})
        assert ledger.totals() == Totals(0, 6)
        assert len(ledger.events()) == 1
        ledger.reserve(4, within(10, 4), {})

    def test_budgets_beyond_64_bits(self, ledger: Ledger) -> None:
        ledger.release(ledger.reserve(10**30 + 1, any_cost, {}), {})
        assert ledger.totals().spent == 10**30 + 1

    def test_events_after(self, ledger: Ledger) -> None:
        for _ in range(5):
            ledger.reserve(1, any_cost, {})
        assert [event.sequence for event in ledger.events()] == [1, 2, 3, 4, 5]
        assert [event.sequence for event in ledger.events(after=3)] == [4, 5]
        assert ledger.events(after=9) == []
        assert not ledger.changed()

    def test_payloads_come_back_as_json(self, ledger: Ledger) -> None:
        payload = {
            "burn": 1,
            "text": "a\u2028\U0001f600\x00",
            "list": [1, 2.5, None, True],
            "big": 2**80,
            "deep": {"a": [[]]},
        }
        ledger.reserve(1, any_cost, payload)
        assert ledger.events()[0].payload == payload
        ledger.reserve(1, any_cost, {"pair": (1, 2)})
        assert ledger.events()[1].payload == {"pair": [1, 2]}

    @pytest.mark.parametrize("payload", [{"x": object()}, {"x": {1, 2}}, {"burn": 11}, {"burn": -1}, {"burn": 1.0}])
    def test_payloads_that_cannot_be_kept(self, ledger: Ledger, payload: dict[str, object]) -> None:
        with pytest.raises(LedgerError):
            ledger.reserve(10, any_cost, payload)
        assert ledger.events() == []
        ledger.reserve(10, any_cost, {})

    @pytest.mark.parametrize("cost", [-1, 1.0, True, "1"])
    def test_costs_are_whole_units(self, ledger: Ledger, cost: int) -> None:
        with pytest.raises(LedgerError):
            ledger.reserve(cost, any_cost, {})
        assert ledger.events() == []

    def test_a_closed_reservation_stays_closed(self, ledger: Ledger) -> None:
        freed = ledger.reserve(1, any_cost, {})
        ledger.free(freed)
        released = ledger.reserve(1, any_cost, {})
        ledger.release(released, {})
        for number in (freed, released, 99):
            for action in (lambda n: ledger.hard(n, {}), lambda n: ledger.release(n, {}), ledger.free):
                with pytest.raises(LedgerError):
                    action(number)
        assert ledger.totals() == Totals(1, 0)

    def test_hard_happens_once_and_forbids_free(self, ledger: Ledger) -> None:
        number = ledger.reserve(10, any_cost, {"burn": 3})
        ledger.hard(number, {})
        with pytest.raises(LedgerError):
            ledger.hard(number, {})
        with pytest.raises(LedgerError):
            ledger.free(number)
        assert ledger.totals() == Totals(0, 10)

    def test_misuse_does_not_poison(self, ledger: Ledger) -> None:
        with pytest.raises(LedgerError):
            ledger.free(99)
        ledger.free(ledger.reserve(1, any_cost, {}))

    def test_left_while_drawing_is_never_freed(self, ledger: Ledger) -> None:
        number = ledger.reserve(10, any_cost, {"burn": 3})
        with suppress(KeyboardInterrupt), ledger.drawing(number):
            raise KeyboardInterrupt
        with pytest.raises(LedgerError):
            ledger.free(number)
        assert ledger.totals() == Totals(0, 10)

    def test_left_while_drawing_nothing_is_drawn_again(self, ledger: Ledger) -> None:
        number = ledger.reserve(5, any_cost, {"burn": 2})
        with suppress(KeyboardInterrupt), ledger.drawing(number):
            raise KeyboardInterrupt
        hard = ledger.reserve(5, any_cost, {"burn": 2})
        ledger.hard(hard, {})
        freed = ledger.reserve(5, any_cost, {"burn": 2})
        ledger.free(freed)
        for used in (number, hard, freed):
            with pytest.raises(LedgerError), ledger.drawing(used):
                pytest.fail("a coin could be drawn")

    def test_drawing_that_ends_well_may_be_freed(self, ledger: Ledger) -> None:
        number = ledger.reserve(10, any_cost, {"burn": 3})
        with ledger.drawing(number):
            pass
        ledger.free(number)
        assert ledger.totals() == Totals(0, 0)

    def test_settled_reservations_are_freed_or_burnt_and_one_is_kept(self, ledger: Ledger) -> None:
        kept = ledger.reserve(5, any_cost, {"burn": 2})
        unused = ledger.reserve(10, any_cost, {"burn": 3})
        drawn = ledger.reserve(20, any_cost, {"burn": 6})
        hard = ledger.reserve(40, any_cost, {"burn": 7})
        with suppress(KeyboardInterrupt), ledger.drawing(drawn):
            raise KeyboardInterrupt
        ledger.hard(hard, {})
        assert ledger.settle(kept) == kept
        assert ledger.totals() == Totals(6 + 40, 5)
        ends = {e.reservation: e.kind for e in ledger.events() if e.sequence > hard + 1}
        assert ends == {unused: "free", drawn: "burn", hard: "burn"}
        number = len(ledger.events())
        assert ledger.settle(kept) == kept
        assert len(ledger.events()) == number
        ledger.free(kept)

    def test_a_kept_reservation_of_unknown_outcome_is_burnt(self, ledger: Ledger) -> None:
        kept = ledger.reserve(5, any_cost, {"burn": 2})
        with suppress(KeyboardInterrupt), ledger.drawing(kept):
            raise KeyboardInterrupt
        assert ledger.settle(kept) is None
        assert ledger.totals() == Totals(2, 0)
        assert ledger.settle(None) is None

    def test_own_events_are_changes_until_they_are_read(self, ledger: Ledger) -> None:
        ledger.events()
        assert not ledger.changed()
        ledger.free(ledger.reserve(5, any_cost, {}))
        assert ledger.changed()
        ledger.events(after=1)
        assert not ledger.changed()

    def test_texts_are_kept_and_replaced(self, ledger: Ledger) -> None:
        assert ledger.recall("lesson") is None
        ledger.keep("lesson", "one")
        ledger.keep("lesson", "two \u00e9")
        assert (ledger.recall("lesson"), ledger.recall("other")) == ("two \u00e9", None)

    def test_answers_are_exact_and_the_first_stays(self, ledger: Ledger) -> None:
        assert ledger.lookup("q") is None
        ledger.remember([("q", EASY), ("big", Answer(2**70, None, None, "exact", "public", certified=True))])
        ledger.remember([("q", PAID)])
        assert ledger.lookup("q") == EASY
        assert isinstance(ledger.lookup("q").value, int)  # type: ignore[union-attr]
        assert ledger.lookup("big").value == 2**70  # type: ignore[union-attr]
        assert ledger.lookup("Q") is None

    def test_released_answers_are_looked_up(self, ledger: Ledger) -> None:
        ledger.release(ledger.reserve(1, any_cost, {}), {}, [("a", PAID), ("b", EASY)])
        assert ledger.lookup("a") == PAID
        assert str(ledger.lookup("a").value) == "-0.0"  # type: ignore[union-attr]
        assert ledger.lookup("b") == EASY
        assert ledger.count_answers() == (2, 1)

    def test_a_released_answer_comes_before_one_that_was_kept(self, ledger: Ledger) -> None:
        ledger.remember([("q", EASY)])
        number = ledger.reserve(10, any_cost, {})
        ledger.release(number, {}, [("q", PAID)])
        assert ledger.lookup("q") == PAID
        assert ledger.lookup_all(["q", "other"]) == {"q": PAID}

    def test_a_question_is_counted_once(self, ledger: Ledger) -> None:
        """Free before, and paid for by an event that answers it too: one question, which was not free."""
        ledger.remember([("q", EASY)])
        ledger.release(ledger.reserve(10, any_cost, {}), {}, [("q", PAID)])
        assert ledger.count_answers() == (1, 0)
        digests, keys, answers = crosstab(40)
        assert ledger.remember_crosstab(b"name", digests, answers)
        ledger.release(ledger.reserve(10, any_cost, {}), {}, [(keys[3], PAID), (keys[4], EASY), ("new", PAID)])
        ledger.release(ledger.reserve(10, any_cost, {}), {}, [(keys[3], EASY)])
        assert ledger.count_answers() == (42, 39)
        assert (ledger.lookup("q"), ledger.lookup(keys[3])) == (PAID, PAID)

    def test_many_answers(self, ledger: Ledger) -> None:
        ledger.remember((f"q{i}", Answer(i, 1.0, None, "exact", "hypothesis", certified=True)) for i in range(1000))
        assert [ledger.lookup(f"q{i}").value for i in (0, 255, 256, 999)] == [0, 255, 256, 999]  # type: ignore[union-attr]
        assert ledger.count_answers() == (1000, 1000)

    def test_a_crosstab_is_found_by_its_name_and_by_each_question(self, ledger: Ledger) -> None:
        digests, keys, answers = crosstab(1000)
        assert ledger.lookup_crosstab(b"name") is None
        assert ledger.remember_crosstab(b"name", digests, answers)
        assert ledger.lookup_crosstab(b"name") == answers
        assert ledger.lookup_all([*keys, "no digest", "00" * 32]) == dict(zip(keys, answers, strict=True))
        assert ledger.lookup(keys[7]) == answers[7] and ledger.lookup(keys[7].upper()) is None
        assert ledger.count_answers() == (1000, 1000)

    def test_a_crosstab_is_kept_only_where_all_of_it_is_new(self, ledger: Ledger) -> None:
        """One free answer to one question: known alone, known to be paid for, or in another crosstab."""
        digests, keys, answers = crosstab(100)
        paid, _, _ = crosstab(50, 200)
        ledger.remember([(keys[99], EASY)])
        ledger.release(ledger.reserve(1, any_cost, {}), {}, [(paid[:32].hex(), PAID)])
        assert not ledger.remember_crosstab(b"name", digests, answers)
        assert not ledger.remember_crosstab(b"other", paid, answers.among(np.arange(50)))
        assert ledger.lookup_crosstab(b"name") is None and ledger.lookup(keys[0]) is None
        assert ledger.remember_crosstab(b"less", digests[: 99 * 32], answers.among(np.arange(99)))
        assert not ledger.remember_crosstab(b"again", digests[: 64 * 32], answers.among(np.arange(64)))
        assert (ledger.lookup(keys[99]), ledger.lookup(keys[98])) == (EASY, answers[98])
        assert ledger.count_answers() == (101, 100)

    def test_what_is_in_a_crosstab_is_not_kept_again(self, ledger: Ledger) -> None:
        digests, keys, answers = crosstab(300)
        assert ledger.remember_crosstab(b"name", digests, answers)
        ledger.remember((key, EASY) for key in keys)
        assert ledger.lookup_all(keys) == dict(zip(keys, answers, strict=True))

    def test_a_released_answer_comes_before_a_crosstab(self, ledger: Ledger) -> None:
        digests, keys, answers = crosstab(100)
        assert ledger.remember_crosstab(b"name", digests, answers)
        ledger.release(ledger.reserve(1, any_cost, {}), {}, [(keys[3], PAID)])
        assert ledger.lookup_crosstab(b"name") is None  # it is asked question by question
        assert ledger.lookup_all(keys[2:5]) == {keys[2]: answers[2], keys[3]: PAID, keys[4]: answers[4]}

    def test_answers_that_cannot_be_kept(self, ledger: Ledger) -> None:
        wrong = Answer(np.int64(1), 1.0, None, "exact", "hypothesis", certified=True)  # type: ignore[arg-type]
        number = ledger.reserve(1, any_cost, {})
        with pytest.raises(LedgerError):
            ledger.remember([("q", wrong)])
        with pytest.raises(LedgerError):
            ledger.release(number, {}, [("q", wrong)])
        assert ledger.lookup("q") is None
        assert ledger.totals() == Totals(0, 1)
        ledger.remember([("q", EASY)])
        assert ledger.lookup("q") == EASY

    def test_strange_questions(self, ledger: Ledger) -> None:
        for key in ("", "\x00", "\ud800", "x" * 100_000):
            ledger.remember([(key, EASY)])
            assert ledger.lookup(key) == EASY

    def test_closed_refuses_everything_and_closes_again(self, ledger: Ledger) -> None:
        number = ledger.reserve(1, any_cost, {})
        ledger.close()
        ledger.close()
        for action in (
            ledger.events,
            ledger.totals,
            ledger.changed,
            lambda: ledger.settle(None),
            ledger.count_answers,
            lambda: ledger.lookup("q"),
            lambda: ledger.remember([]),
            lambda: ledger.lookup_crosstab(b"name"),
            lambda: ledger.remember_crosstab(b"name", *crosstab(64)[::2]),
            lambda: ledger.reserve(1, any_cost, {}),
            lambda: ledger.free(number),
        ):
            with pytest.raises(LedgerError) as raised:
                action()
            assert raised.value.hint
