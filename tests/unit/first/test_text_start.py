"""The first touch of a text column: order of durable steps, once for good, replay, delta, how strings are answered."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpsql.accounting import Plan, calibrate
from dpsql.domain import CategoryDomain, TableDomain, TextDomain
from dpsql.errors import BudgetExhausted, InternalError
from dpsql.first.payload import CONTINGENCY, DISTINCT, KEYS, decode_release
from dpsql.first.text_start import COUNTS as COUNTS_OF_KEYS
from dpsql.first.text_start import TextStarts
from dpsql.hypothesis import Axis, Measurement
from dpsql.ledger.event import Payload
from dpsql.planning import make_plan
from dpsql.planning.shares import Shares
from dpsql.planning.strings import text_starts
from dpsql.policy import Mechanism, Policy, Privacy
from dpsql.query import Factor, Key, KeyedFactor, LinearQuery, linear_query
from dpsql.session.asker import Asker
from tests.support.asking import ask, how
from tests.support.counted import Counted
from tests.support.waiting import TookTooLong, impatient
from tests.support.warm import Coins, Recorder, Shared, ledger_of

TABLE = TableDomain(
    "t",
    (
        CategoryDomain("a", ("x", "y", "z"), nullable=False),
        CategoryDomain("b", ("u", "v"), nullable=False),
        TextDomain("w", prefixes=(1,)),
    ),
)
WORDS = [f"k{i:02}" for i in range(20) for _ in range(400 - 20 * i)] + [f"r{i}" for i in range(150)] + [None] * 60
N = len(WORDS)
ROWS: dict[str, list[Any]] = {"a": ("xyzzx" * N)[:N], "b": ("uvv" * N)[:N], "w": WORDS}  # type: ignore[dict-item]
COUNTS = Counter(WORDS)


def policy(table: TableDomain = TABLE, **mechanism: Any) -> Policy:
    privacy = Privacy(Fraction(2), Fraction(1, 10**6), planned_queries=1000)
    return Policy(privacy, (table,), Mechanism(**mechanism))


def asker_of(rules: Policy, ledger: Recorder, seed: int = 1, stop_at: int = 0) -> tuple[Asker, Coins]:
    coins = Coins(seed, ledger.log, stop_at)
    engine = Counted(rules, {t.name: {c.name: list(ROWS[c.name]) for c in t.columns} for t in rules.tables})
    return Asker(rules, Plan.from_json(ledger.header["plan"]), engine, ledger, coins), coins


def word(*keys: str | None, column: str = "w", **finite: list[int]) -> LinearQuery:
    listed: tuple[Key, ...] = tuple((k,) for k in sorted(k for k in keys if k is not None))
    listed += ((None,),) if None in keys else ()
    keyed = KeyedFactor((column,), listed, (), np.ones(len(listed), dtype=np.int64))
    query = linear_query(TABLE, [Factor((c,), np.array(w)) for c, w in finite.items()], keyed)
    assert query is not None
    return query


def touches(ledger: Recorder) -> list[str]:
    """The text columns of all selections of keys, lost ones included."""
    events = [e for e in ledger.events() if e.kind == "reserve" and "delta" in e.payload]
    return [e.payload["columns"][0][0] for e in events]


def test_selection_and_counts_are_drawn_between_reservation_and_release() -> None:
    rules = policy()
    ledger = ledger_of(rules)
    asker, _ = asker_of(rules, ledger)
    answer = ask(asker, word("k00"))
    row_count = ["reserve", "noise", "release"]
    assert ledger.log[:3] == row_count
    drawn = ledger.log[4 : ledger.log.index("release", 4)]
    # the selection, the number of strings, a portion of the counts, what was compared of strings and of NULL
    assert ledger.log[3] == "reserve" and set(drawn) <= {"noise", "coin"} and drawn.count("noise") >= 5
    begun = [e.payload["columns"] for e in ledger.events() if "portions" in e.payload]
    assert begun[0] == [["w"], ["w", COUNTS_OF_KEYS]]
    assert next(c for chosen in begun[1:] for c in chosen if c != ["w", COUNTS_OF_KEYS]) == ["w", "a"]
    assert {c[1] for chosen in begun[1:] for c in chosen} == {
        COUNTS_OF_KEYS,
        "a",
        "b",
    }  # heavy ones by each finite column
    assert (answer.source, answer.error_kind, touches(ledger)) == ("measurement", "exact", ["w"])
    assert answer.charged > 0
    steps = len(ledger.log)
    ask(asker, word("k01"))
    assert len(ledger.log) == steps  # free, and no test


def test_counts_are_what_was_drawn_and_what_was_compared() -> None:
    """Of strings far above the threshold the mean of both, by precision: the comparison says nothing of these."""
    rules = policy()
    ledger = ledger_of(rules)
    asker, _ = asker_of(rules, ledger)
    asker.release_keys("t", "w")
    texts = asker.states["t"].touches.texts
    compared, threshold = texts.compared("w") or pytest.fail("nothing was compared")
    assert (compared.keys, compared.scope) == (texts.all_keys("w"), ())
    assert all(n > threshold for (k,), n in zip(compared.keys, compared.values, strict=True) if k is not None)
    portions = [
        m
        for e in ledger.events()
        if e.kind == "release"
        for kind, m in decode_release(e.payload)
        if kind == KEYS and m.text_columns == ("w",)
    ]
    assert [m.sigma for m in portions] == list(texts.count_sigmas("w"))
    weights = np.array([m.sigma**-2 for m in (*portions, compared)])
    both = sum(m.values * w for m, w in zip((*portions, compared), weights, strict=True)) / weights.sum()
    found = texts.counted("w")
    assert found is not None and found.sigma == pytest.approx(weights.sum() ** -0.5, rel=0.1)
    far = [i for i, (k,) in enumerate(compared.keys) if k is None or COUNTS[k] > threshold + 5 * compared.sigma]
    assert len(far) > 10
    assert np.abs(found.values - both)[far].max() <= 1.5  # two roundings


def test_by_earlier_rules_what_was_compared_is_dropped() -> None:
    rules = policy()
    ledger = ledger_of(rules, models=33)
    asker, _ = asker_of(rules, ledger)
    ask(asker, word("k00"))
    assert ledger.log[:8] == ["reserve", "noise", "release", "reserve", *["noise"] * 3, "release"]
    assert asker.states["t"].touches.texts.compared("w") is None
    ask(asker, word("r7"))
    assert ledger.log[-3:] == ["reserve", "noise", "release"]


def test_only_frequent_keys_are_released() -> None:
    rules = policy()
    asker, _ = asker_of(rules, ledger_of(rules))
    assert asker.keys("t", "w") is None
    asker.release_keys("t", "w")
    released = asker.keys("t", "w")
    assert released is not None
    start = text_starts(Shares(asker.plan, rules), TABLE)["w"]
    assert {k for k, n in COUNTS.items() if n > start.most_hidden} <= set(released)
    assert not any(k is not None and k.startswith("r") for k in released)


def test_strings_that_were_not_shown_share_what_the_shown_ones_leave() -> None:
    rules = policy(hard_rounds=1)
    asker, _ = asker_of(rules, ledger_of(rules, models=5))  # later ones count those that somebody lists
    rare = [f"r{i}" for i in range(40)]
    answer = ask(asker, word(*rare))
    assert answer.source == "hypothesis"
    assert answer.value is not None
    assert answer.error is not None
    assert abs(answer.value - 40) <= answer.error
    assert answer.certified  # so many hidden strings are known less well than a passed test certifies
    one = ask(asker, word("r0"))
    start = text_starts(Shares(asker.plan, rules), TABLE)["w"]
    assert one.error is not None
    assert one.error <= start.most_hidden
    assert one.error_kind == "calibrated"


def test_prefixes_are_columns_of_their_own() -> None:
    rules = policy()
    ledger = ledger_of(rules)
    asker, _ = asker_of(rules, ledger)
    answer = ask(asker, word("k", column="w[:1]"))
    truth = sum(n for k, n in COUNTS.items() if k is not None and k.startswith("k"))
    assert answer.value is not None
    assert answer.error is not None
    assert abs(answer.value - truth) <= 2 * answer.error
    assert touches(ledger) == ["w[:1]"]
    assert asker.keys("t", "w[:1]") == ("k", "r", None)


def test_finite_columns_beside_strings_are_bounded_by_both() -> None:
    rules = policy(hard_rounds=1)
    asker, _ = asker_of(rules, ledger_of(rules))
    ask(asker, word("k00"))
    for key, b, weights in (("k00", "u", [1, 0]), ("k05", "v", [0, 1]), ("k08", "v", [0, 1])):
        answer = ask(asker, word(key, b=weights))
        truth = sum(w == key and x == b for w, x in zip(WORDS, ROWS["b"], strict=True))
        assert answer.value is not None
        assert answer.error is not None
        assert abs(answer.value - truth) <= answer.error
        assert answer.error <= COUNTS[key] + 60


def test_heavy_keys_are_known_by_each_finite_column() -> None:
    rules = policy()
    ledger = ledger_of(rules)
    asker, _ = asker_of(rules, ledger)
    start = text_starts(Shares(asker.plan, rules), TABLE)["w"]
    ask(asker, word("k00"))
    answer = ask(asker, word("k01", b=[0, 1]))
    truth = sum(w == "k01" and x == "v" for w, x in zip(WORDS, ROWS["b"], strict=True))
    assert (answer.source, answer.error_kind) == ("measurement", "exact")
    assert answer.value is not None
    assert abs(answer.value - truth) <= 2 * 1.96 * float(start.pair_sigma)
    measured = {k for e in ledger.events() if e.kind == "release" for k in keys_by_column(e.payload)}
    light = {(k,) for k, n in COUNTS.items() if n < start.heavy - 4 * float(start.count_sigma)}
    heavy = {(k,) for k, n in COUNTS.items() if n > start.heavy + 4 * float(start.count_sigma)}
    assert light
    assert heavy
    assert heavy <= measured
    assert not light & measured


def keys_by_column(payload: Payload) -> set[Key]:
    found = (m for _, m in decode_release(payload))
    return {k for m in found if m.axes for k in m.keys}


def test_delta_is_spent_within_its_purse_and_the_plan_knows_it() -> None:
    rules = policy()
    plan = make_plan(rules)
    starts = text_starts(Shares(plan, rules), TABLE)
    assert list(starts) == ["w", "w[:1]"]
    assert sum(s.delta for s in starts.values()) <= plan.delta_purse < plan.delta
    assert make_plan(policy(strategy="pmw")).delta_purse == 0
    assert text_starts(Shares(make_plan(policy(strategy="pmw")), policy(strategy="pmw")), TABLE) == {}


def test_a_plan_without_delta_for_selections_makes_none() -> None:
    rules = policy()
    plan = calibrate(rules.privacy.epsilon, rules.privacy.delta, hard_rounds=10, release_share=0.85)
    ledger = Shared({"plan": plan.to_json()}, [])
    asker, _ = asker_of(rules, ledger)
    assert ask(asker, word("k00")).value is not None
    assert touches(ledger) == []
    assert not asker.selects_keys


def test_a_selection_whose_noise_was_lost_is_made_again_with_what_is_left_of_its_delta() -> None:
    rules = policy()
    ledger = ledger_of(rules)
    deltas = []
    for attempt in range(1, 4):
        asker, _ = asker_of(rules, ledger, attempt, stop_at=1 + (attempt == 1))  # the row count's noise comes first
        ledger.killed = True
        with pytest.raises(KeyboardInterrupt):
            ask(asker, word("k00"))
        asker.close()
        ledger.recover()
        ledger.killed = False
    last, _ = asker_of(rules, ledger, 9)
    answer = ask(last, word("k00"))
    assert touches(ledger) == ["w"] * 4
    tries = [e.payload for e in ledger.events() if e.kind == "reserve" and "delta" in e.payload]
    assert [t["try"] for t in tries] == [1, 2, 3, 4]
    deltas = [Fraction(t["delta"]) for t in tries]
    whole = text_starts(Shares(last.plan, rules), TABLE)["w"].delta
    assert deltas == [whole * Fraction(3, 4**n) for n in range(1, 5)]
    assert sum(deltas) < whole
    hidden = [t["hidden"] for t in tries]
    assert hidden == sorted(hidden)
    assert last.states["t"].touches.texts.most_hidden("w") == hidden[-1]
    assert len(last.keys("t", "w") or ()) > 1
    assert answer.error is not None and answer.value is not None
    assert abs(answer.value - COUNTS["k00"]) <= 2 * answer.error
    assert ledger.totals().spent <= last.plan.total_units
    replayed, _ = asker_of(rules, ledger, 2)
    assert replayed.states["t"].touches.texts.most_hidden("w") == hidden[-1]
    assert ask(replayed, word("k01")).charged == 0.0


def test_a_selection_of_earlier_versions_spent_all_of_its_delta() -> None:
    """Lost, it stays lost; released, its strings are known and nothing is measured again."""
    rules = policy()
    ledger = ledger_of(rules)
    asker, _ = asker_of(rules, ledger)
    asker.first_touches("t")
    start = text_starts(Shares(asker.plan, rules), TABLE)["w"]
    payload = {"purpose": TextStarts.purpose, "table": "t", "columns": [["w"]], "delta": str(start.delta)}
    texts = asker.states["t"].touches.texts
    texts.reserved(50, start.units, payload)
    texts.burnt(50)
    assert texts.keys("w") == ()
    assert not texts.waiting_portions("w")
    other = TextStarts(asker.states["t"].plan)
    other.reserved(50, start.units, payload)
    keys = (("k00",), (None,))
    counts = Measurement("t", (), np.array([400, 60]), 5.0, ("w",), keys)
    paired = [
        Measurement("t", (Axis.cells((c,), (n,)),), np.full((1, n), 200), 5.0, ("w",), keys[:1])
        for c, n in (("a", 3), ("b", 2))
    ]
    distinct = Measurement("t", (), np.array(171), 5.0, ("w",))
    other.released(50, [(DISTINCT, distinct), (KEYS, counts), *[(CONTINGENCY, m) for m in paired]])
    assert other.keys("w") == ("k00",)
    assert other.most_hidden("w") == start.most_hidden
    assert not other.waiting_portions("w")
    assert [m for _, m in other.completed()] == [distinct, counts, *paired]


def test_no_two_selections_spend_the_same_delta() -> None:
    """A session that has not heard that another's try was lost reserves the same one again: it gives it back."""
    rules = policy()
    asker, _ = asker_of(rules, ledger_of(rules))
    asker.first_touches("t")
    texts = asker.states["t"].touches.texts
    chosen = texts.waiting_portions("w")
    attempt = {"delta": "1/100", "try": texts.selection("w", Fraction(9)).attempt, "hidden": 99.0}
    payload = {"purpose": TextStarts.purpose, "table": "t"} | texts.portions_payload(chosen) | attempt
    texts.reserved(50, 10, payload)
    assert not texts.opened_before(50)
    texts.burnt(50)
    texts.reserved(51, 10, payload)
    assert texts.opened_before(51)
    texts.freed(51)
    assert texts.selection("w", Fraction(9)).attempt == 2
    texts.reserved(52, 10, payload | {"try": 2})
    assert not texts.opened_before(52)


@pytest.mark.parametrize("stop_at", [2, 3, 4, 5, 7, 9, 12])
def test_whatever_was_lost_of_a_first_touch_is_measured_again(stop_at: int) -> None:
    rules = policy()
    ledger = ledger_of(rules)
    asker, _ = asker_of(rules, ledger, stop_at=stop_at)
    ledger.killed = True
    with pytest.raises(KeyboardInterrupt):
        ask(asker, word("k00"))
    asker.close()
    ledger.recover()
    ledger.killed = False
    second, _ = asker_of(rules, ledger, 2)
    ask(second, word("k00"))
    texts = second.states["t"].touches.texts
    assert not texts.waiting_portions("w")
    lost = sum(e.cost for e in ledger.events() if e.kind == "burn")
    assert lost <= (0.34 if stop_at <= 6 else 0.12) * texts.starts["w"].units
    plain, _ = asker_of(rules, ledger_of(rules))
    ask(plain, word("k00"))
    for q in (word("k01"), word("k00", b=[1, 0])):
        ours, theirs = ask(second, q), ask(plain, q)
        assert ours.error is not None and theirs.error is not None
        assert (ours.source, theirs.source) == ("measurement", "measurement")
        assert ours.error <= 1.3 * theirs.error + 1
    assert ledger.totals().spent + ledger.totals().reserved <= second.plan.total_units


def test_two_sessions_select_once() -> None:
    rules = policy()
    ledger = ledger_of(rules)
    first, _ = asker_of(rules, ledger)
    second, _ = asker_of(rules, ledger, 2)
    ask(first, word("k00"))
    second.catch_up()
    assert ask(second, word("k02")).charged == 0.0
    assert touches(ledger) == ["w"]


def test_a_reservation_that_came_second_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    impatient(monkeypatch, 0.1)
    rules = policy()
    ledger = ledger_of(rules)
    first, _ = asker_of(rules, ledger)
    first.first_touches("t")
    start = text_starts(Shares(first.plan, rules), TABLE)["w"]
    payload = {"purpose": TextStarts.purpose, "table": "t", "columns": [["w"]], "burn": start.units}
    second, _ = asker_of(rules, ledger, 2)
    ledger.reserve(start.units, lambda totals: None, payload)  # of a third session, at work
    before = ledger.log.count("noise")
    texts = second.states["t"].touches.texts
    assert texts is not None
    assert texts.unbegun("w") is not None  # it has not heard of the third yet
    with pytest.raises(TookTooLong):
        second.first_touches("t", text_columns=("w",))
    assert ledger.log.count("noise") == before
    assert ledger.totals().reserved == start.units


@pytest.mark.parametrize("kind", ["reserved", "released"])
def test_an_interrupt_while_events_are_followed_selects_nothing_again(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    rules = policy()
    ledger = ledger_of(rules)
    first, _ = asker_of(rules, ledger)
    second, _ = asker_of(rules, ledger, 2)
    answer = ask(first, word("k00"))

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(TextStarts, kind, interrupted)
        with pytest.raises(KeyboardInterrupt):
            second.catch_up()
    second.catch_up()
    assert ask(second, word("k01")).charged == 0.0
    assert ask(second, word("k00")).value == answer.value
    assert touches(ledger) == ["w"]
    assert second.purses.shares() == first.purses.shares()


def test_an_interrupt_before_the_first_coin_gives_the_reservation_back(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = policy()
    ledger = ledger_of(rules)
    ledger.alone = True
    asker, _ = asker_of(rules, ledger)
    asker.first_touches("t")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(TextStarts, "opened_before", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ask(asker, word("k00"))
    asker.catch_up()
    assert ledger.log.count("noise") == 1  # the row count's
    assert ledger.totals().reserved == 0
    assert ask(asker, word("k00")).charged > 0
    events = [e.kind for e in ledger.events()]
    assert events[:6] == ["reserve", "release", "reserve", "free", "reserve", "release"]
    assert "burn" not in events


def test_a_new_process_has_the_same_state() -> None:
    rules = policy()
    ledger = ledger_of(rules)
    asker, _ = asker_of(rules, ledger)
    ask(asker, word("k00", "r1"))
    second, _ = asker_of(rules, ledger, 9)
    for q in (word("k03"), word("k03", "r7"), word("nothing"), word("k01", a=[1, 0, 0])):
        ours, theirs = asker.states["t"], second.states["t"]
        assert ours.model is not None
        assert theirs.model is not None
        assert ours.model.estimate(q).hex() == theirs.model.estimate(q).hex()
        assert how(second, q) == how(asker, q)
    assert second.purses.shares() == asker.purses.shares()


def test_first_touches_are_kept_back_from_hard_rounds() -> None:
    rules = policy()
    ledger = ledger_of(rules, models=5)
    asker, coins = asker_of(rules, ledger)
    a = linear_query(TABLE, [Factor(("a",), np.array([1, 0, 0]))])
    assert a is not None
    ask(asker, a)
    coins.hard = True
    for i in range(30):
        ask(asker, word(f"nothing{i}"))
    assert asker.payments_left() == 0
    assert ask(asker, word("r", column="w[:1]")).charged > 0
    totals = ledger.totals()
    assert totals.spent + totals.reserved <= asker.plan.total_units
    with pytest.raises(BudgetExhausted):
        asker.purses.check(totals, asker.plan.hard_cost)


def test_a_table_of_text_alone() -> None:
    alone = TableDomain("t", (TextDomain("w"),))
    rules = policy(alone)
    ledger = ledger_of(rules)
    asker, _ = asker_of(rules, ledger)
    keyed = KeyedFactor(("w",), (("k00",),), (), np.ones(1, dtype=np.int64))
    query = linear_query(alone, [], keyed)
    assert query is not None
    answer = ask(asker, query)
    assert answer.value is not None
    assert answer.error is not None
    assert abs(answer.value - COUNTS["k00"]) <= 2 * answer.error


def test_a_long_list_is_paid_as_one_count() -> None:
    rules = policy(hard_rounds=2)
    ledger = ledger_of(rules)
    asker, coins = asker_of(rules, ledger)
    ask(asker, word("k00"))
    coins.hard = True
    keys = [f"absent{i:02}" for i in range(20)]
    answer = ask(asker, word(*keys))
    sigma = float(asker.states["t"].plan.net.sigma)
    assert answer.source == "measurement"
    assert answer.error is not None
    assert answer.error <= 1.96 * sigma * 2**0.5 + 2 < 1.96 * sigma * len(keys) ** 0.5
    assert answer.value is not None
    assert abs(answer.value) <= 3 * answer.error
    model = asker.states["t"].model
    assert model is not None
    assert all(model.sparse(("w",)).knows((k,)) for k in keys)
    second, _ = asker_of(rules, ledger, 2)
    again = second.states["t"].model
    assert again is not None
    assert again.estimate(word(*keys)).hex() == model.estimate(word(*keys)).hex()
    assert second.known(word(*keys)) is not None
    assert ledger.totals().spent <= asker.plan.total_units
    short = ask(asker, word("nothing0", "nothing1"))  # too few keys for that: each with the noise of the whole round
    assert short.source == "measurement"
    assert short.error is not None
    assert short.error <= 1.96 * sigma * 2**0.5 + 2


def test_without_first_touches_a_hard_round_teaches_every_key_it_lists() -> None:
    rules = policy(strategy="pmw", hard_rounds=2)
    ledger = ledger_of(rules)
    asker, coins = asker_of(rules, ledger)
    asker.first_touches("t")
    coins.hard = True
    keys = [f"k{i:02}" for i in range(20)]
    answer = ask(asker, word(*keys))
    assert answer.error is not None
    assert answer.error >= 1.9 * float(asker.states["t"].plan.net.sigma) * len(keys) ** 0.5


def test_delta_that_the_plan_does_not_cover_is_never_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = policy()
    ledger = ledger_of(rules)
    asker, _ = asker_of(rules, ledger)
    ask(asker, word("k00"))
    texts = asker.states["t"].touches.texts
    assert texts is not None
    start = texts.starts["w[:1]"]
    texts.starts["w[:1]"] = replace(start, delta=4 * start.delta)  # a later version of the code with other shares
    noise, spent = ledger.log.count("noise"), ledger.totals().spent
    for _ in range(2):  # and no session waits for what was given back
        with pytest.raises(InternalError):
            ask(asker, word("r", column="w[:1]"))
    assert (ledger.log.count("noise"), ledger.totals().spent) == (noise, spent)


def test_what_another_session_reserves_at_the_same_time_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = policy()
    ledger = ledger_of(rules)
    asker, _ = asker_of(rules, ledger)
    ask(asker, word("r", column="w[:1]"))  # half of the purse
    start = text_starts(Shares(asker.plan, rules), TABLE)["w"]
    payload = {
        "purpose": TextStarts.purpose,
        "table": "t",
        "columns": [["w"]],
        "delta": str(start.delta),
        "try": 1,
        "burn": start.units,
    }
    reserve, release, seconds = ledger.reserve, ledger.release, []

    def crowded(cost: int, check: Any, mine: Any) -> int:
        number = reserve(cost, check, mine)
        if mine["purpose"] == TextStarts.purpose:
            seconds.append(reserve(start.units, lambda totals: None, payload))  # a second session, a moment later
        return number

    def released(*args: Any) -> None:
        release(*args)
        while seconds:
            ledger.free(seconds.pop())  # it sees that it was late

    monkeypatch.setattr(ledger, "reserve", crowded)
    monkeypatch.setattr(ledger, "release", released)
    assert ask(asker, word("k00")).charged > 0
