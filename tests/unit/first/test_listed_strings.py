"""Strings that no selection has shown are counted once, when they are listed, and charge nothing."""

from fractions import Fraction

import numpy as np
import pytest

from dpsql.accounting import calibrate
from dpsql.first.listed import MOST_READ, ListedStrings, one_for_all
from dpsql.first.payload import COMPARED, LISTED, decode_release
from dpsql.hypothesis import Measurement
from dpsql.query import Key
from tests.support.asking import ask
from tests.support.warm import Recorder, ledger_of
from tests.unit.first.test_text_start import COUNTS, asker_of, policy, word


def listed(ledger: Recorder) -> list[Measurement]:
    """What was drawn for strings that somebody listed, in order."""
    releases = [e for e in ledger.events() if e.kind == "release"]
    return [m for e in releases for kind, m in decode_release(e.payload) if kind == LISTED]


def test_a_hidden_string_is_counted_once_and_at_no_charge() -> None:
    rules = policy()
    ledger = ledger_of(rules)
    asker, _ = asker_of(rules, ledger)
    ask(asker, word("k00"))
    assert listed(ledger) == []  # it was shown
    before, spent = len(ledger.log), ledger.totals().spent
    answer = ask(asker, word("r7", "r8", "absent", "k00", None))
    reserve, *drawn = ledger.log[before : ledger.log.index("release", before)]
    assert reserve == "reserve"
    assert drawn.count("noise") >= 2 and set(drawn) <= {"noise", "coin"}  # of the counts, and of what was compared
    (found,) = listed(ledger)
    assert found.keys == (("absent",), ("r7",), ("r8",))
    assert ledger.totals().spent == spent
    assert answer.charged == 0.0
    before = len(ledger.log)
    ask(asker, word("absent", "r8", "k01"))
    assert "noise" not in ledger.log[before:]
    ask(asker, word("r8", "r9"))
    assert [m.keys for m in listed(ledger)[1:]] == [(("r9",),)]
    touch, plan, squared = asker.states["t"].touches.listed, asker.plan, asker.states["t"].plan.l2_squared
    paid = sum(plan.release_cost(Fraction(s), squared) for s in touch.texts.count_sigmas("w"))
    assert plan.release_cost(Fraction(found.sigma), squared) <= paid


def test_of_a_hidden_string_what_was_compared_is_read_too() -> None:
    rules = policy()
    ledger = ledger_of(rules)
    asker, _ = asker_of(rules, ledger)
    ask(asker, word("k00"))
    compared, threshold = asker.states["t"].touches.texts.compared("w") or pytest.fail("nothing was compared")
    names = [f"r{i}" for i in range(100)]
    ask(asker, word(*names))
    (release,) = [e for e in ledger.events() if e.kind == "release" and e.cost == 0]
    (one, entries), (other, counts) = decode_release(release.payload)
    assert (one, other) == (COMPARED, LISTED)
    assert (entries.sigma, entries.keys) == (compared.sigma, counts.keys)
    assert entries.values.max() <= threshold
    truth = np.array([COUNTS[str(k)] for (k,) in entries.keys])
    assert abs(np.std(entries.values - truth) - compared.sigma) < 0.25 * compared.sigma
    sparse = asker.states["t"].model.sparse(("w",))  # type: ignore[union-attr]
    both = 1 / counts.sigma**2 + 1 / compared.sigma**2
    for key, n, m in zip(counts.keys, counts.values.tolist(), entries.values.tolist(), strict=True):
        value, variance = sparse.measured(key)
        assert abs(value - (n / counts.sigma**2 + m / compared.sigma**2) / both) < 1.5  # all far below the threshold
        assert variance == pytest.approx(1 / both + 0.25, rel=0.05)
    again, _ = asker_of(rules, ledger)  # a fold of the ledger knows the same
    assert again.states["t"].model.sparse(("w",)).measured(counts.keys[0]) == sparse.measured(counts.keys[0])  # type: ignore[union-attr]


def test_answers_are_as_near_as_those_of_shown_strings() -> None:
    rules = policy()
    ledger = ledger_of(rules)
    asker, _ = asker_of(rules, ledger)
    ask(asker, word("k00"))
    names = [f"r{i}" for i in range(60)]
    foreseen = asker.states["t"].error_of(word(*names))
    answer = ask(asker, word(*names))
    (found,) = listed(ledger)
    truth, sd = sum(COUNTS[n] for n in names), found.sigma * 60**0.5
    assert abs(answer.value - truth) <= 4 * sd
    assert answer.error is not None and answer.error <= 2.5 * sd
    assert foreseen is not None and answer.error <= foreseen <= 3.0 * sd  # how far it will be moved is not known


def test_with_a_condition_the_strings_themselves_are_counted() -> None:
    rules = policy()
    ledger = ledger_of(rules)
    asker, _ = asker_of(rules, ledger)
    ask(asker, word("r7", a=[1, 0, 0]))
    (found,) = listed(ledger)
    assert (found.scope, found.keys) == ((), (("r7",),))


def test_ledgers_of_earlier_rules_read_nothing() -> None:
    rules = policy()
    ledger = ledger_of(rules, models=5)
    asker, _ = asker_of(rules, ledger)
    ask(asker, word("k00"))
    ask(asker, word("r7", "r8"))
    assert listed(ledger) == []


def test_what_was_lost_is_never_drawn_again() -> None:
    """Its noise may have been seen: another draw would be a second release."""
    rules = policy()
    ledger = ledger_of(rules)
    asker, coins = asker_of(rules, ledger)
    ask(asker, word("k00"))
    coins.stop_at = coins.draws + 1
    with pytest.raises(KeyboardInterrupt):
        ask(asker, word("r7", "r8"))
    ledger.recover()
    asker, coins = asker_of(rules, ledger)
    answer = ask(asker, word("r7", "r9"))
    assert answer.error is not None
    assert [m.keys for m in listed(ledger)] == [(("r9",),)]
    assert asker.states["t"].model is not None


def test_two_sessions_draw_each_string_once() -> None:
    rules = policy()
    ledger = ledger_of(rules)
    one, _ = asker_of(rules, ledger)
    other, _ = asker_of(rules, ledger, seed=2)
    ask(one, word("r1", "r2"))
    ask(other, word("r2", "r3"))
    ask(one, word("r3", "r4"))
    drawn = [k for m in listed(ledger) for k in m.keys]
    assert sorted(drawn) == [("r1",), ("r2",), ("r3",), ("r4",)]


def test_a_reservation_for_a_string_that_another_session_reads_is_given_back() -> None:
    rules = policy()
    ledger = ledger_of(rules)
    asker, _ = asker_of(rules, ledger)
    ask(asker, word("k00"))
    touch = asker.states["t"].touches.listed
    touch.reserved(901, 0, {"columns": [["w", "r1"], ["w", "r2"]]})
    assert touch.unread("w", [("r1",), ("r3",)]) == (("r3",),)
    assert touch.others_at_work("w", [("r3",), ("r2",)])
    assert not touch.others_at_work("w", [("r3",)])  # nobody waits for strings that it did not ask for
    assert not touch.others_at_work("v", [("r2",)])
    touch.reserved(902, 0, {"columns": [["w", "r2"], ["w", "r3"]]})
    assert not touch.opened_before(901) and touch.opened_before(902)
    touch.freed(902)
    assert touch.unread("w", [("r1",), ("r3",)]) == (("r3",),)
    touch.burnt(901)
    assert touch.unread("w", [("r1",), ("r3",)]) == (("r3",),)


def test_a_statement_reads_so_many_strings_at_most() -> None:
    rules = policy()
    ledger = ledger_of(rules)
    asker, _ = asker_of(rules, ledger)
    ask(asker, word("k00"))
    touch: ListedStrings = asker.states["t"].touches.listed
    many: list[Key] = [(f"x{i}",) for i in range(MOST_READ + 5)]
    assert len(touch.unread("w", many)) == MOST_READ


@pytest.mark.parametrize("rounds", [0, 6])
def test_one_draw_costs_at_most_what_its_portions_cost(rounds: int) -> None:
    """At every distance that is possible; and not much less, or answers would be worse than they have to be."""
    plan = calibrate(Fraction(1), Fraction(1, 10**6), hard_rounds=rounds, releases=40)
    rng = np.random.default_rng(rounds)
    for _ in range(200):
        sigmas = np.exp(rng.uniform(np.log(3.0), np.log(1e4), rng.integers(1, 13))).tolist()
        l2_squared = int(rng.choice([1, 2, 9]))
        found = one_for_all(plan, sigmas, l2_squared)
        for distance in range(1, l2_squared + 1):
            paid = sum(plan.release_cost(Fraction(s), distance) for s in sigmas)
            assert plan.release_cost(found, distance) <= paid
        less = plan.release_cost(found * Fraction(99, 100), l2_squared)
        assert less > sum(plan.release_cost(Fraction(s), l2_squared) for s in sigmas)


def test_only_strings_that_somebody_listed_tell_how_strings_are_drawn() -> None:
    rules = policy()
    ledger = ledger_of(rules)
    asker, _ = asker_of(rules, ledger)
    ask(asker, word("k00"))
    model = asker.states["t"].model
    assert model is not None
    sparse = model.sparse(("w",))
    assert sparse.knows(("k00",))
    assert sparse.listed.strings == 0
    ask(asker, word("r7"))
    assert sparse.knows(("r7",))
    assert sparse.listed.strings == 1
