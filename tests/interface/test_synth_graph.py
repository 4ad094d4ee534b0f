"""``dpsql synth --method graph`` by command: the table it writes, what it says, and what it refuses at no charge."""

import json
from pathlib import Path

import duckdb
import numpy as np
import pytest
from click.testing import Result

from dpsql.interface.cli import cli
from dpsql.synthesis.graph.pairs import Vertices
from tests.support.command_line import runner
from tests.support.graphs import random_graph

VERTICES = Vertices("src", "dst", 40)
HEAD = "version = 1\n[privacy]\nepsilon = 4\ndelta = 1e-6\n[mechanism]\nstrategy = 'pmw'\n[tables.edges.columns]\n"
COLUMN = "{} = {{ type = 'integer', min = 0, max = 39, nullable = {} }}\n"


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))
    path = tmp_path / "edges.duckdb"
    ends = VERTICES.ends(np.flatnonzero(random_graph(VERTICES, np.random.default_rng(3))))
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE edges (src BIGINT, dst BIGINT)")
        connection.executemany("INSERT INTO edges VALUES (?, ?)", ends.tolist())
    declare(path)
    return path


def declare(path: Path, nullable: str = "false") -> None:
    columns = "".join(COLUMN.format(name, nullable) for name in ("src", "dst"))
    path.with_name("edges.dpsql.toml").write_text(HEAD + columns)


def synth(database: Path, *arguments: str) -> Result:
    return runner().invoke(cli, ["synth", str(database), "--method", "graph", *arguments], catch_exceptions=False)


def test_a_graph_is_written_and_the_same_command_is_free(database: Path, tmp_path: Path) -> None:
    out = tmp_path / "graph.parquet"
    wanted = ("--epsilon", "0.5", "--workload", "cuts:random:50", "-o", str(out))
    first = synth(database, *wanted)
    assert first.exit_code == 0, first.stderr
    assert "made by graph" in first.stdout and "charged epsilon" in first.stderr
    (edges, least, most, backwards, twice) = duckdb.sql(
        "SELECT count(*), min(src), max(dst), count(*) FILTER (src >= dst), count(*) - count(DISTINCT (src, dst)) "
        f"FROM '{out}'"
    ).fetchall()[0]
    assert 200 < edges < 500 and least >= 0 and most < 40 and (backwards, twice) == (0, 0)
    again = synth(database, *wanted, "--json")
    assert json.loads(again.stdout)["charged"] == 0


def test_what_is_no_graph_is_refused_at_no_charge(database: Path, tmp_path: Path) -> None:
    declare(database, "true")
    refused = synth(database, "--epsilon", "0.5", "-o", str(tmp_path / "graph.parquet"))
    assert refused.exit_code == 1
    assert "may be NULL" in refused.stderr and "nullable = false" in refused.stderr
    budget = runner().invoke(cli, ["budget", str(database), "--json"], catch_exceptions=False)
    assert json.loads(budget.stdout)["spent_epsilon"] == 0
    assert not (tmp_path / "graph.parquet").exists()
