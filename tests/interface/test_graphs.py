"""Cuts of a graph through the front door, under the strategy made for them: connect, explain, shell, batch."""

import resource
from pathlib import Path

import duckdb
import numpy as np
import pytest

import dpsql
from dpsql.interface.cli import cli
from tests.support.command_line import runner

VERTICES = 40
RULES = """
version = 1
privacy = {{ epsilon = {epsilon}, delta = 1e-6, planned_queries = 1000 }}
mechanism = {{ strategy = "{strategy}" }}
[tables.edges.columns]
src = {{ type = "integer", min = 0, max = {last}, nullable = false }}
dst = {{ type = "integer", min = 0, max = {last}, nullable = false }}
"""
CUT = "SELECT COUNT(*) AS n FROM edges WHERE src IN ? AND dst IN ?"
HALF = list(range(VERTICES // 2))
OTHER = list(range(VERTICES // 2, VERTICES))
BOTH_WAYS = (
    "SELECT COUNT(*) FILTER (WHERE src IN ? AND dst IN ?) + COUNT(*) FILTER (WHERE src IN ? AND dst IN ?) FROM edges"
)


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))


def rules(strategy: str = "frieze-kannan", vertices: int = VERTICES, epsilon: float = 20.0) -> str:
    return RULES.format(strategy=strategy, last=vertices - 1, epsilon=epsilon)


def edges(path: str = ":memory:") -> duckdb.DuckDBPyConnection:
    """All edges from one half to the other, in both directions, five times over."""
    con = duckdb.connect(path)
    half = VERTICES // 2
    con.execute(
        f"CREATE TABLE edges AS SELECT i AS src, j + {half} AS dst "
        f"FROM range({half}) a(i), range({half}) b(j), range(5)"
    )
    con.execute("INSERT INTO edges SELECT dst, src FROM edges")
    return con


def test_cuts_are_learned_and_answered() -> None:
    with dpsql.connect(edges(), policy=dpsql.load_policy(rules()), ledger=":memory:") as con:
        assert con.explain(CUT, [HALF, OTHER]).plans[0].worst_charge > 0
        estimates = []
        for seed in range(60):  # equal questions are free, so each differs from the others
            chosen = np.random.default_rng(seed).permutation(HALF)[:18].tolist()
            answer = con.execute(CUT, [chosen, OTHER]).answers[0]
            if answer.source == "measurement":
                assert abs(answer.value - 5 * 18 * 20) <= 3 * answer.error
            else:
                estimates.append(answer.value)
        assert con.budget.hard_rounds_left < 12
        uniform = 4000 * 18 * 20 / VERTICES**2
        assert estimates[-1] > uniform + 20  # each step adds alpha / |X| to a cell, and no more
        (both,) = con.execute(BOTH_WAYS, [HALF, OTHER, OTHER, HALF]).fetchone()
        assert both > 2 * uniform + 20


def test_shell_and_batch_take_them(tmp_path: Path) -> None:
    path, policy, ledger = tmp_path / "g.duckdb", tmp_path / "g.toml", tmp_path / "g.ledger"
    edges(str(path)).close()
    policy.write_text(rules(), encoding="utf-8")
    statements = tmp_path / "q.sql"
    texts = [f"SELECT COUNT(*) AS n FROM edges WHERE src < {n} AND dst IN (20, 21, 22, 23);" for n in (5, 20)]
    statements.write_text("\n".join(texts), encoding="utf-8")
    given = [str(path), "--policy", str(policy), "--ledger", str(ledger)]
    ran = runner().invoke(cli, ["run", given[0], str(statements), *given[1:], "--format", "csv"])
    assert ran.exit_code == 0, ran.output
    shown = runner().invoke(cli, ["shell", *given], input=f"{texts[1]}\n\\budget\n")
    assert shown.exit_code == 0, shown.output
    assert "epsilon" in shown.output


def test_400_million_pairs_of_vertices_are_answered_without_a_grid() -> None:
    vertices = 20_000
    con = duckdb.connect()
    con.execute(f"CREATE TABLE edges AS SELECT i % {vertices} AS src, i * 7 % {vertices} AS dst FROM range(50000) t(i)")
    sides = [list(range(0, vertices, 2)), list(range(5000))]
    exact = con.execute(CUT, sides).fetchone()[0]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with dpsql.connect(con, policy=dpsql.load_policy(rules(vertices=vertices)), ledger=":memory:") as session:
        answer = session.execute(CUT, sides).answers[0]
        assert answer.error is not None
        assert abs(answer.value - exact) <= 2 * answer.error + 10
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 << 10  # a mask of bytes has 400 MB


@pytest.mark.parametrize("strategy", ["pmw", "sparse-pmw"])
def test_other_strategies_refuse_such_a_grid_before_a_charge(strategy: str) -> None:
    con = duckdb.connect()
    con.execute("CREATE TABLE edges AS SELECT i AS src, i AS dst FROM range(100) t(i)")
    with dpsql.connect(con, policy=dpsql.load_policy(rules(strategy, 20_000)), ledger=":memory:") as session:
        with pytest.raises(dpsql.UnsupportedQuery, match="400,000,000 cells") as caught:
            session.execute(CUT, [[1, 2], [3]])
        assert "frieze-kannan" in caught.value.hint
        assert session.budget.spent_epsilon == 0
