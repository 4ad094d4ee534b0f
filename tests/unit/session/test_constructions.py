"""Sessions with the papers' constructions: one answer for each hard round, each query by itself, replay as a fold."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpsql.accounting import Plan
from dpsql.domain import CategoryDomain, NumberDomain, TableDomain, TextDomain
from dpsql.errors import BudgetExhausted
from dpsql.first.payload import UPDATE
from dpsql.planning import make_plan
from dpsql.policy import Mechanism, Policy, Privacy
from dpsql.query import Factor, KeyedFactor, LinearQuery, linear_query
from dpsql.session.asker import Asker
from dpsql.session.explaining import explanation
from dpsql.sql.statement import Statement
from tests.support.asking import ask, ask_all
from tests.support.counted import Counted
from tests.support.entropy import SeededEntropy
from tests.support.warm import Recorder

FINITE = TableDomain(
    "t",
    (
        CategoryDomain("a", ("x", "y"), nullable=False),
        CategoryDomain("b", ("u", "v", "w"), nullable=False),
        NumberDomain("h", (0.0, 10.0, 20.0), nullable=False),
    ),
)
STRINGS = replace(FINITE, columns=(*FINITE.columns, TextDomain("s")))
ROWS: dict[str, list[Any]] = {
    "a": ["x"] * 9000 + ["y"] * 1000,
    "b": (["u"] * 8 + ["v", "w"]) * 1000,
    "h": [3.0] * 8000 + [15.0] * 2000,
    "s": ["often"] * 4000 + ["twice"] * 2 + [None] * 5998,
}
TABLES = {"textbook-pmw": FINITE, "sparse-pmw": STRINGS, "median": FINITE}


def policy(strategy: str, **mechanism: Any) -> Policy:
    privacy = Privacy(Fraction(2), Fraction(1, 10**6), planned_queries=1000)
    return Policy(privacy, (TABLES[strategy],), Mechanism(strategy, **mechanism))


def on(column: str, *weights: int) -> LinearQuery:
    query = linear_query(FINITE, [Factor((column,), np.array(weights))])
    assert query is not None
    return query


def values_of(query: LinearQuery) -> LinearQuery:
    return replace(query, value="h")


def word(*keys: str) -> LinearQuery:
    keyed = KeyedFactor(("s",), tuple((k,) for k in keys), (), np.ones(len(keys), dtype=np.int64))
    query = linear_query(STRINGS, [], keyed)
    assert query is not None
    return query


def begun(rules: Policy, ledger: Recorder | None = None, seed: int = 1) -> tuple[Asker, Recorder]:
    plan = make_plan(rules)
    record = Recorder({"plan": plan.to_json()}, []) if ledger is None else ledger
    rows = {c.name: ROWS[c.name] for c in rules.tables[0].columns}
    return Asker(rules, plan, Counted(rules, {"t": rows}), record, SeededEntropy(seed)), record


def updates(ledger: Recorder) -> list[Any]:
    return [e.payload for e in ledger.events(0) if e.kind == "release" and e.payload.get("kind") == UPDATE]


@pytest.mark.parametrize("word_", TABLES)
def test_a_hard_round_releases_the_one_answer_and_updates_with_it(word_: str) -> None:
    asker, ledger = begun(policy(word_))
    query = on("a", 1, 0)
    answer = ask(asker, query)
    assert answer.source == "measurement" and answer.charged > 0 and abs(answer.value - 9000) < 200
    (payload,) = updates(ledger)
    assert payload["shape"] == [] and payload["axes"] == [] and len(payload["values"]) == 1
    assert payload["values"] == [answer.value]
    model = asker.states["t"].model
    assert model is not None and model.construction is not None
    (measurement,) = model.construction.measurements
    assert measurement.query is not None and measurement.query.digest == query.digest
    start = begun(policy(word_))[0]
    start.first_touches("t")
    fresh = start.states["t"].model
    assert fresh is not None and fresh.construction is not None
    assert model.construction.answer(query) > fresh.construction.answer(query)  # towards 9,000


@pytest.mark.parametrize("word_", TABLES)
def test_each_group_is_tested_and_paid_by_itself(word_: str) -> None:
    asker, ledger = begun(policy(word_))
    groups = [on("b", *row) for row in ((1, 0, 0), (0, 1, 0), (0, 0, 1))]
    assert sum(r.payments for r in asker.routes(groups)) == 3
    answers = ask_all(asker, groups)
    paid = [a for a in answers if a.source == "measurement"]
    assert len(updates(ledger)) == len(paid) >= 1
    share = asker.payment_epsilon()
    assert sum(a.charged for a in answers) == pytest.approx(share * len(paid) + answers[0].charged - share, abs=1e-9)
    assert answers[0].source == "measurement"  # 8,000 of 10,000 where a third, or none, was expected


def test_a_measured_contingency_answers_its_groups_at_once_under_pmw() -> None:
    """The twin: what the constructions do not do."""
    rules = replace(policy("textbook-pmw"), mechanism=Mechanism("pmw"))
    asker, ledger = begun(rules)
    answers = ask_all(asker, [on("b", *row) for row in ((1, 0, 0), (0, 1, 0), (0, 0, 1))])
    assert [a.source for a in answers] == ["measurement"] * 3 and updates(ledger) == []
    assert sum(r.payments for r in asker.routes([on("a", 1, 0), on("a", 0, 1)])) == 1


def test_a_statement_that_may_need_more_rounds_than_are_left_is_refused_whole() -> None:
    asker, ledger = begun(policy("textbook-pmw", hard_rounds=2, when_spent="refuse"))
    with pytest.raises(BudgetExhausted, match="may need 3 hard rounds"):
        ask_all(asker, [on("b", *row) for row in ((1, 0, 0), (0, 1, 0), (0, 0, 1))])
    assert updates(ledger) == []


@pytest.mark.parametrize("word_", TABLES)
def test_replay_gives_the_construction_again_bit_by_bit(word_: str) -> None:
    rules = policy(word_)
    asker, ledger = begun(rules)
    queries = [on("a", 1, 0), on("b", 1, 0, 0), values_of(on("a", 1, 0)), on("b", 0, 1, 1), on("a", 0, 1)]
    queries += [word("often"), word("often", "twice", "never")] if word_ == "sparse-pmw" else []
    for query in queries:
        ask(asker, query)
    assert len(updates(ledger)) >= 3
    again, _ = begun(rules, ledger, seed=2)
    live, replayed = asker.states["t"].model, again.states["t"].model
    assert live is not None and replayed is not None
    assert [live.estimate(q).hex() for q in queries] == [replayed.estimate(q).hex() for q in queries]
    assert again.plan == Plan.from_json(ledger.header["plan"])
    for query in queries:
        spent = again.paid.units
        assert ask(again, query).value == ask(asker, query).value and again.paid.units == spent


def test_a_sum_of_values_updates_with_the_cells_that_it_stands_for() -> None:
    asker, ledger = begun(policy("textbook-pmw"))
    query = values_of(on("a", 1, 0))
    answer = ask(asker, query)
    share = (8000 * 3.0 + 1000 * 15.0) / 20.0  # of the rows with a = x, by where they stand between 0 and 20
    assert abs(answer.value - share) < 200
    if updates(ledger):
        (payload,) = updates(ledger)
        assert "value" not in payload and {c for f in payload["query"]["factors"] for c in f["columns"]} == {"a", "h"}


def test_what_was_measured_for_one_query_answers_no_other() -> None:
    """The release has no axes, as a row count has none: it must not be taken for one."""
    asker, _ = begun(policy("textbook-pmw"))
    answer = ask(asker, on("a", 1, 0))
    count = ask(asker, LinearQuery("t", ()))
    assert answer.source == "measurement" and abs(count.value - 10_000) < 300 < abs(count.value - answer.value)
    assert asker.states["t"].measured(on("a", 0, 1)) is None


def test_medians_say_whether_they_are_sampled() -> None:
    asker, _ = begun(policy("median"))
    ask(asker, on("a", 1, 0))
    notes = explanation(Statement("", (), None, None), [on("b", 1, 0, 0)], asker).notes
    assert any("sampled" in str(note) for note in notes)
    assert any("medians of candidate tables + net" in str(note) for note in notes)
