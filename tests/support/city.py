"""A small private database for tests of whole sessions: people, their visits, a public table of regions."""

import shutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import duckdb

from dpsql.policy_file import load_policy
from dpsql.public import DuckDbPublicSql
from dpsql.query import LinearQuery
from dpsql.sql import FrontEnd

PRIVACY = "epsilon = 1.0\ndelta = 1e-6\n"
TABLES = """\
[tables.people.columns]
age = { type = "integer", min = 0, max = 9 }
member = { type = "boolean" }
region = { type = "category", values = ["north", "south", "west"] }
joined = { type = "date", min = 2020-01-01, max = 2021-12-31, unit = "month" }
hours = { type = "number", bins = [0, 10, 20, 40, 80] }
name = { type = "text" }
[tables.visits]
unit = "person"
max_rows_per_unit = 2
[tables.visits.columns]
day = { type = "integer", min = 1, max = 7 }
kind = { type = "category", values = ["walk", "talk"] }
place = { type = "text" }
[public]
tables = ["regions"]
"""
SCHEMA = """\
CREATE TABLE people (age BIGINT, member BOOLEAN, region VARCHAR, joined DATE, hours DOUBLE, name VARCHAR,
  secret VARCHAR, salary BIGINT);
CREATE TABLE visits (person BIGINT, day INTEGER, kind VARCHAR, place VARCHAR, note VARCHAR);
CREATE TABLE regions (region VARCHAR, country VARCHAR);
INSERT INTO regions VALUES ('north', 'A'), ('south', 'A'), ('west', 'B');
"""
ROWS = """\
INSERT INTO people SELECT i % 10, i % 3 = 0, ['north', 'south', 'west', 'north'][1 + i % 4],
  DATE '2020-01-15' + to_days((i * 37 % 700)::INTEGER), (i * i) % 75, 'name' || (i % 40 * (i % 3)), NULL, NULL
  FROM range({rows}) t(i);
INSERT INTO visits SELECT i % ({rows} // 5), 1 + i % 7, if(i % 5 < 3, 'walk', 'talk'), 'place' || (i % 20), NULL
  FROM range({rows}) t(i);
"""


def policy_text(privacy: str = PRIVACY, mechanism: str = "") -> str:
    """A policy file for the city's tables."""
    return f"version = 1\n[privacy]\n{privacy}[mechanism]\n{mechanism}{TABLES}"


@cache
def front_end(policy: str) -> FrontEnd:
    """What lowers statements under a policy's text, public tables as ``build`` makes them."""
    with duckdb.connect() as connection:
        connection.execute(SCHEMA)
        regions = connection.sql("FROM regions").to_arrow_table()
    return FrontEnd(load_policy(policy), DuckDbPublicSql({"regions": regions}.__getitem__))


@cache
def queries(policy: str, text: str) -> tuple[LinearQuery, ...]:
    """The questions that a statement asks, in asking order."""
    return front_end(policy).lower(text).queries


def build(directory: Path, *, rows: int = 3000, extra: Sequence[str] = (), policy: str | None = None) -> Path:
    """``city.duckdb`` with its policy in the directory, emptied first; ``extra`` statements come after the rows."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    path = directory / "city.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(SCHEMA)
        connection.execute(ROWS.format(rows=rows))
        for statement in extra:
            connection.execute(statement)
    (directory / "city.dpsql.toml").write_text(policy_text() if policy is None else policy, encoding="utf-8")
    return path
