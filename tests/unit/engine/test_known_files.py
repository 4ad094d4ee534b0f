"""Engines that share a memory of files: what DuckDB shows may differ from the file that lies at its path."""

from pathlib import Path

import duckdb
import pytest

from dpsql.domain import IntegerDomain, TableDomain
from dpsql.engine.duckdb import DuckDbEngine
from dpsql.engine.duckdb.identity import contents
from tests.contracts.engine_contract import policy_of

POLICY = policy_of(TableDomain("t", (IntegerDomain("a", 0, 9),)))


class Kept:
    """Remembers in a dictionary."""

    def __init__(self) -> None:
        self.digests: dict[tuple[str, str, str], str] = {}

    def get(self, path: str, state: str, table: str) -> str | None:
        return self.digests.get((path, state, table))

    def keep(self, path: str, state: str, table: str, digest: str) -> None:
        self.digests[path, state, table] = digest


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tables whose rows were read; files are taken for old."""
    monkeypatch.setattr("dpsql.engine.duckdb.identity.file_state.SETTLED", -(10**12))
    plain, scanned = contents.content_fingerprint, list[str]()

    def counted(*told: object) -> str:
        scanned.append(told[1].name)  # type: ignore[attr-defined]
        return plain(*told)  # type: ignore[arg-type]

    monkeypatch.setattr(contents, "content_fingerprint", counted)
    return scanned


def made(path: Path, sql: str) -> Path:
    with duckdb.connect(str(path)) as con:
        con.execute(sql)
    return path


def read(path: Path, kept: Kept) -> tuple[str, ...]:
    engine = DuckDbEngine(path, POLICY, None, kept)
    try:
        return engine.table_fingerprints()
    finally:
        engine.close()


def test_an_instance_of_a_file_that_is_gone_says_nothing_of_the_one_in_its_place(
    tmp_path: Path, scans: list[str]
) -> None:
    kept, path = Kept(), made(tmp_path / "t.duckdb", "CREATE TABLE t AS SELECT 1 AS a")
    earlier = DuckDbEngine(path, POLICY, None, kept)
    made(tmp_path / "u.duckdb", "CREATE TABLE t AS SELECT 2 AS a").replace(path)
    assert read(path, kept) == earlier.table_fingerprints()  # DuckDB goes on with what it has open
    earlier.close()
    assert read(path, kept) == read(path, Kept())
    assert kept.digests
    scans.clear()
    read(path, kept)
    assert scans == []


def test_an_owners_connection_leaves_nothing_behind(tmp_path: Path, scans: list[str]) -> None:
    kept, path = Kept(), made(tmp_path / "t.duckdb", "CREATE TABLE t AS SELECT 1 AS a")
    with duckdb.connect(str(path)) as con:
        DuckDbEngine(con, POLICY, None, kept).table_fingerprints()
    assert kept.digests == {}


@pytest.mark.parametrize(
    ("sql", "again"),
    [
        ("CREATE TABLE s AS SELECT 1 AS a; CREATE VIEW t AS SELECT a FROM s WHERE now() > DATE '2020-01-01'", ["t"]),
        ("CREATE TABLE t (b INTEGER, a INTEGER GENERATED ALWAYS AS (b + 1)); INSERT INTO t VALUES (1)", ["t"]),
        ("CREATE TABLE t (generated_at INTEGER DEFAULT 3, a INTEGER); INSERT INTO t VALUES (1, 2)", []),
    ],
)
def test_what_can_change_while_no_byte_does_is_read(
    tmp_path: Path, scans: list[str], sql: str, again: list[str]
) -> None:
    kept, path = Kept(), made(tmp_path / "t.duckdb", sql)
    first = read(path, kept)
    scans.clear()
    assert read(path, kept) == first
    assert scans == again
