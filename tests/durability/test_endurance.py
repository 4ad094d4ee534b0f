"""A session that goes on: what it holds in memory does not grow with the statements it has answered.

``benchmarks/endurance.py`` runs the real thing, a million statements. Here every bound is lowered, so that a cache
without one shows after some thousand statements.
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import count
from pathlib import Path

import duckdb
import pytest

import dpsql
import dpsql.mechanism
from dpsql import memo
from dpsql.domain import CategoryDomain, IntegerDomain, TableDomain
from dpsql.hypothesis import model as hypothesis_model
from dpsql.memo import Memo
from dpsql.policy import Policy, Privacy
from dpsql.session import given
from dpsql.session.model import error_bars
from dpsql.sql import frontend
from dpsql.sql.blocks.block import Services
from dpsql.sql.counting import evaluate
from dpsql.sql.shapes import conditions, shapes
from tests.support.entropy import SeededEntropy
from tests.support.held import held
from tests.support.lessons import learned_briefly

KINDS = tuple(f"k{i}" for i in range(20))
NARROW = (IntegerDomain("age", 0, 59), CategoryDomain("kind", KINDS), CategoryDomain("side", ("a", "b")))
WIDE = (*NARROW, *(CategoryDomain(f"c{i}", tuple("abcdefgh")) for i in range(5)))
STATEMENTS, FEW = 200, 60
"""In each third of a session; a cache without a bound, which grows with each statement, shows with few."""
MOST = 0.75
"""Objects for each further statement; an entry of a cache without a bound is one at least. What hard rounds
measure by chance stays in the model, so it is not 0."""


def endless(columns: int) -> Iterator[str]:
    """New statements, most of them plain counts; every tenth repeats an old one."""
    number = 0
    while True:
        number += 1
        low, high = number * 7 % 29, 30 + number * 11 % 30
        some = ", ".join(f"'k{i}'" for i in sorted({number % 20, number * 3 % 20, number * 13 % 17}))
        condition = f"age BETWEEN {low} AND {high} AND kind IN ({some}) AND age <> {number}"
        if columns > 3:
            condition += f" AND c{number % 5} IN ('a', '{'bcdefgh'[number % 7]}')"
        match number % 10:
            case 0:
                yield "SELECT COUNT(*) FROM t WHERE age BETWEEN 7 AND 41"
            case 1:
                yield f"SELECT side, COUNT(*) AS n FROM t WHERE {condition} GROUP BY side ORDER BY n"
            case 2 | 4 | 6:
                yield f"SELECT COUNT(*) FROM t WHERE age * {number} % 17 > 3 OR kind = 'k{number % 20}'"
            case 3:
                yield f"SELECT SUM(age) AS s{number} FROM t WHERE {condition}"
            case _:
                yield f"SELECT COUNT(*) FROM t WHERE {condition}"


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))
    seeds = count(1)  # which rounds are hard is the same each time, and another for each session of a test
    monkeypatch.setattr(dpsql.mechanism, "SystemEntropy", lambda: SeededEntropy(next(seeds)))
    learned_briefly(monkeypatch)
    monkeypatch.setattr(given, "RECENT", 32)
    monkeypatch.setattr(error_bars, "KEPT_BARS", 32)
    monkeypatch.setattr(hypothesis_model, "KEPT_ANSWERS", 32)
    monkeypatch.setattr(frontend, "STATEMENTS", 32)
    monkeypatch.setattr(conditions, "CACHED_CELLS", 4096)
    monkeypatch.setattr(conditions, "SHAPES", 64)
    monkeypatch.setattr(shapes, "FRAMES", 32)
    monkeypatch.setattr(evaluate, "CACHED_CELLS", 4096)
    monkeypatch.setattr(memo.Memo.__init__, "__defaults__", (32,))
    made = Services.__init__

    def services(self: Services, *given: object, **named: object) -> None:
        made(self, *given, **named)  # type: ignore[arg-type]
        self.answers = Memo(4096)

    monkeypatch.setattr(Services, "__init__", services)
    return monkeypatch


def growth(directory: Path, columns: tuple[IntegerDomain | CategoryDomain, ...], statements: int) -> float:
    """Objects held more for each statement of the second and the third ``statements``: the least, for what a hard round
    teaches the model is hundreds at once, and a cache without a bound grows in both.
    """
    path = directory / "t.duckdb"
    others = "".join(f", chr((97 + hash(i + {j}) % 8)::INTEGER) AS c{j}" for j in range(5))
    with duckdb.connect(str(path)) as con:
        con.execute(
            "CREATE TABLE t AS SELECT (hash(i) % 60)::BIGINT AS age, 'k' || (hash(i + 1) % 20) AS kind, "
            f"if(hash(i + 2) % 3 = 0, 'a', 'b') AS side{others} FROM range(20000) r(i)"
        )
    policy = Policy(Privacy(Fraction(1), Fraction(1, 10**6), planned_queries=10_000), (TableDomain("t", columns),))
    with dpsql.connect(path, policy=policy, ledger=directory / "t.dpsql.ledger") as con:
        asked = endless(len(columns))
        sizes = []
        for _ in range(3):
            for _ in range(statements):
                assert con.execute(next(asked)).answers
            assert con.budget.spent_epsilon <= 1.0  # looking writes out the answers that wait for it
            sizes.append(held(con))
    return min(sizes[1] - sizes[0], sizes[2] - sizes[1]) / statements


@pytest.mark.parametrize("columns", [NARROW, WIDE], ids=["narrow", "wide"])
def test_memory_does_not_grow(
    tmp_path: Path, small: pytest.MonkeyPatch, columns: tuple[IntegerDomain | CategoryDomain, ...]
) -> None:
    assert growth(tmp_path, columns, STATEMENTS) < MOST


@pytest.mark.parametrize("unbounded", ["recent", "statements", "conditions", "truths"])
def test_a_cache_without_a_bound_is_noticed(tmp_path: Path, small: pytest.MonkeyPatch, unbounded: str) -> None:
    module, name = {
        "recent": (given, "RECENT"),
        "statements": (frontend, "STATEMENTS"),
        "conditions": (conditions, "CACHED_CELLS"),
        "truths": (evaluate, "CACHED_CELLS"),
    }[unbounded]
    small.setattr(module, name, 1 << 40)
    folders = [tmp_path / str(i) for i in range(3)]
    for folder in folders:
        folder.mkdir()
    # a hard round empties what models hold, and may hide what grew meanwhile
    assert any(growth(folder, NARROW, FEW) > MOST for folder in folders)
