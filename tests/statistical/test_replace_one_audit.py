"""Audits under replace-one: row counts of views and of several tables keep the claim, published ones are flagged."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from unittest.mock import patch

import duckdb
import pytest

from dpsql.engine.duckdb import DuckDbEngine
from dpsql.ledger import MemoryLedger
from dpsql.planning import make_plan
from dpsql.policy_file import load_policy
from dpsql.query import linear_query
from dpsql.session.asker import Asker
from tests.statistical.audit import DELTA, EPSILON, Run, audit
from tests.support.asking import ask
from tests.support.coupled.scripts import VIEWS, VIEWS_NEIGHBOURS, VIEWS_SCHEMA
from tests.support.entropy import SeededEntropy

pytestmark = pytest.mark.statistical

RUNS = 200
RULES = load_policy(
    f'version = 1\n[privacy]\nepsilon = {EPSILON}\ndelta = {DELTA}\nneighbors = "replace-one"\n'
    f'planned_queries = 10\n[mechanism]\nstrategy = "pmw"\nhard_rounds = 1\n{VIEWS}'
)


@contextmanager
def published() -> Iterator[None]:
    """As if every table were a base table whose row count neighbours cannot change."""
    with (
        patch("dpsql.planning.sensitivity.row_count_obstacle", lambda table, neighbors: None),
        patch("dpsql.mechanism.public_row_count.row_count_obstacle", lambda table, neighbors: None),
        patch.object(DuckDbEngine, "is_base_table", lambda engine, table: True),
    ):
        yield


@cache
def engine(changes: tuple[str, ...]) -> DuckDbEngine:
    database = duckdb.connect()
    for statement in (*VIEWS_SCHEMA, *changes):
        database.execute(statement)
    return DuckDbEngine(database, RULES)


def row_counts(changes: tuple[str, ...], seed: int) -> float:
    """The sum of all released row counts, from the middle between what it can be."""
    plan = make_plan(RULES)
    found = Asker(RULES, plan, engine(changes), MemoryLedger({"plan": plan.to_json()}), SeededEntropy(seed))
    queries = [linear_query(table, []) for table in RULES.tables]
    values = [ask(found, query).value for query in queries if query is not None]
    return float(sum(value or 0 for value in values)) - 1249.5


def run(neighbour: str) -> Run:
    changes = VIEWS_NEIGHBOURS[neighbour]
    return lambda more, seed: row_counts(() if more else changes, seed)


NEIGHBOURS = ("an adult becomes a child", "a traveller becomes another person")


@pytest.mark.parametrize("neighbour", NEIGHBOURS)
def test_row_counts_of_views_keep_the_claim(neighbour: str) -> None:
    assert audit(run(neighbour), RUNS, 0.0) <= EPSILON


@pytest.mark.parametrize("neighbour", NEIGHBOURS)
def test_published_row_counts_are_flagged(neighbour: str) -> None:
    with published():
        assert audit(run(neighbour), RUNS, 0.0) > EPSILON


def test_a_person_in_several_tables_keeps_the_claim() -> None:
    gone = run("one without a trip")
    assert audit(gone, RUNS, -1.0) <= EPSILON
    with published():
        assert audit(run("one without a trip"), RUNS, -1.0) > EPSILON
