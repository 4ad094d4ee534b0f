"""The DuckDB engine beyond the contract: opening, checking, errors without rows, caches, threads, identity."""

import multiprocessing
import threading
import traceback
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path

import duckdb
import numpy as np
import pytest

from dpsql.domain import (
    BooleanDomain,
    CategoryDomain,
    DateDomain,
    IntegerDomain,
    NumberDomain,
    TableDomain,
    TextDomain,
)
from dpsql.engine import Rules
from dpsql.engine.contingencies import Contingencies
from dpsql.engine.duckdb import DuckDbEngine, text_index
from dpsql.engine.duckdb import engine as duckdb_engine
from dpsql.engine.duckdb.reader import Reader
from dpsql.errors import EngineError, Error, PolicyError
from dpsql.policy import Policy
from tests.contracts.engine_contract import policy_of

PEOPLE = TableDomain("people", (IntegerDomain("age", 0, 9), BooleanDomain("member"), TextDomain("name")))
CREATE = "CREATE TABLE people AS SELECT (i % 12)::INTEGER AS age, i % 3 = 0 AS member, 'n' || (i % 50) AS name"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "census.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute(CREATE + " FROM range(1000) AS r(i)").fetchall()
        con.execute("CREATE VIEW adults AS SELECT * FROM people WHERE age > 3").fetchall()
        con.execute("CREATE TABLE zips AS SELECT 1 AS zip").fetchall()
    return path


@pytest.fixture
def owner() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as con:
        con.execute(CREATE + " FROM range(100) AS r(i)").fetchall()
        yield con


def refused(work: Callable[[], object]) -> Error:
    with pytest.raises(Error) as e:
        work()
    error = e.value
    assert error.__cause__ is None and error.__context__ is None
    assert error.hint
    return error


class TestOpening:
    def test_path_view_and_public_table(self, database: Path) -> None:
        adults = TableDomain("adults", PEOPLE.columns)
        engine = DuckDbEngine(database, policy_of(PEOPLE, adults, public=("zips",)))
        assert int(engine.contingency("people", ()).reveal()) == 1000
        assert int(engine.contingency("adults", ()).reveal()) == 664
        assert engine.public_table("zips").to_pydict() == {"zip": [1]}

    def test_the_file_is_opened_read_only_and_locked(self, database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        opened: list[duckdb.DuckDBPyConnection] = []
        original = duckdb_engine.open_read_only
        monkeypatch.setattr(duckdb_engine, "open_read_only", lambda path: opened.append(original(path)) or opened[-1])
        DuckDbEngine(str(database), policy_of(PEOPLE))
        (connection,) = opened
        with pytest.raises(duckdb.Error):
            connection.execute("DELETE FROM people")
        with pytest.raises(duckdb.Error):
            connection.execute("SELECT * FROM read_csv('/etc/hostname')")
        with pytest.raises(duckdb.Error):
            connection.execute("SET enable_external_access = true")

    def test_what_cannot_be_opened_is_told_apart(self, tmp_path: Path, database: Path) -> None:
        junk = tmp_path / "junk.duckdb"
        junk.write_bytes(b"secret row" * 1000)
        said = {
            str(refused(lambda p=p: DuckDbEngine(p, policy_of(PEOPLE)))).replace(str(p), "FILE")
            for p in (tmp_path / "missing.duckdb", tmp_path, junk, ":memory:", "a\0b")
        }
        assert len(said) == 5
        assert not any("secret" in s for s in said)
        with duckdb.connect(str(database)):
            error = refused(lambda: DuckDbEngine(database, policy_of(PEOPLE)))
            assert isinstance(error, EngineError) and "already open in this process" in str(error)

    def test_a_writer_in_another_process(self, database: Path) -> None:
        context = multiprocessing.get_context("spawn")
        ready, done = context.Event(), context.Event()
        writer = context.Process(target=hold_open, args=(str(database), ready, done))
        writer.start()
        try:
            assert ready.wait(30)
            error = refused(lambda: DuckDbEngine(database, policy_of(PEOPLE)))
            assert "another process" in str(error)
        finally:
            done.set()
            writer.join()

    def test_a_closed_connection(self) -> None:
        con = duckdb.connect()
        con.close()
        assert "closed" in str(refused(lambda: DuckDbEngine(con, policy_of(PEOPLE))))

    def test_the_owners_connection_stays_open(self, owner: duckdb.DuckDBPyConnection) -> None:
        DuckDbEngine(owner, policy_of(PEOPLE)).close()
        assert owner.execute("SELECT count(*) FROM people").fetchall() == [(100,)]

    def test_python_variables_are_no_tables(self, owner: duckdb.DuckDBPyConnection) -> None:
        strangers = owner.execute("SELECT 1 AS age").fetchnumpy()
        assert strangers
        with pytest.raises(PolicyError):
            DuckDbEngine(owner, policy_of(TableDomain("strangers", (IntegerDomain("age", 0, 9),))))


def hold_open(path: str, ready: object, done: object) -> None:
    with duckdb.connect(path):
        ready.set()  # type: ignore[attr-defined]
        done.wait(30)  # type: ignore[attr-defined]


class TestPolicyAgainstTheCatalog:
    def refusal(self, owner: duckdb.DuckDBPyConnection, policy: Policy) -> PolicyError:
        error = refused(lambda: DuckDbEngine(owner, policy))
        assert isinstance(error, PolicyError)
        return error

    def test_did_you_mean(self, owner: duckdb.DuckDBPyConnection) -> None:
        error = self.refusal(owner, policy_of(TableDomain("peple", PEOPLE.columns)))
        assert (error.path, error.hint) == ("tables.peple", "did you mean people?")
        error = self.refusal(owner, policy_of(TableDomain("people", (BooleanDomain("membr"),))))
        assert (error.path, error.hint) == ("tables.people.columns.membr", "did you mean member?")
        error = self.refusal(owner, policy_of(TableDomain("people", PEOPLE.columns, unit="nam")))
        assert (error.path, error.hint) == ("tables.people.unit", "did you mean name?")

    @pytest.mark.parametrize(
        "column",
        [
            IntegerDomain("name", 0, 9),
            BooleanDomain("age"),
            NumberDomain("member", (0.0, 1.0)),
            DateDomain("name", date(2020, 1, 1), date(2020, 2, 1)),
        ],
    )
    def test_types_that_do_not_fit(self, owner: duckdb.DuckDBPyConnection, column: IntegerDomain) -> None:
        error = self.refusal(owner, policy_of(TableDomain("people", (column,))))
        assert error.path == f"tables.people.columns.{column.name}"
        assert column.kind in str(error)

    def test_a_public_table_must_exist_and_not_be_private(self, owner: duckdb.DuckDBPyConnection) -> None:
        for name in ("nowhere", "people", "PEOPLE"):
            assert self.refusal(owner, policy_of(PEOPLE, public=(name,))).path == "public.tables"

    def test_names_are_matched_in_any_case_and_quoted(self, owner: duckdb.DuckDBPyConnection) -> None:
        owner.execute('CREATE TABLE "My ""Table" AS SELECT 3 AS "Select from"').fetchall()
        table = TableDomain('my "table', (IntegerDomain("SELECT FROM", 0, 9),))
        engine = DuckDbEngine(owner, policy_of(table))
        assert engine.contingency('my "table', ("SELECT FROM",)).reveal()[3] == 1


class TestErrorsCarryNoRows:
    """A view whose evaluation fails on a row: DuckDB's message quotes the value, ours must not."""

    CANARY = "canary-7713"

    def engine(self, con: duckdb.DuckDBPyConnection, secret: str, **keywords: object) -> DuckDbEngine:
        con.execute(f"CREATE TABLE raw AS SELECT '{secret}' AS v").fetchall()
        con.execute("CREATE VIEW t AS SELECT v::INTEGER AS age, v::INTEGER AS u, v::INTEGER::VARCHAR AS w FROM raw")
        con.fetchall()
        columns = (IntegerDomain("age", 0, 9), TextDomain("w"))
        return DuckDbEngine(con, policy_of(TableDomain("t", columns, **keywords)))  # type: ignore[arg-type]

    def test_every_question_fails_alike(self) -> None:
        said: list[list[str]] = []
        for secret in (self.CANARY, "other"):
            with duckdb.connect() as con, duckdb.connect() as with_units:
                engine = self.engine(con, secret)
                units = self.engine(with_units, secret, unit="u")
                said.append([])
                for ask in (
                    lambda e=engine: e.contingency("t", ("age",)),
                    lambda e=engine: e.keyed_counts("t", ("w",), (("1",),), ("age",)),
                    engine.fingerprint,
                    lambda e=engine: e.out_of_domain("t"),
                    lambda e=units: e.contingency("t", ()),
                ):
                    error = refused(ask)
                    assert isinstance(error, EngineError)
                    text = "".join(traceback.format_exception(error))
                    assert secret not in text
                    said[-1].append(f"{error} {error.hint}")
        assert said[0] == said[1]


class TestBytesAndZones:
    def test_collations_merge_nothing(self, owner: duckdb.DuckDBPyConnection) -> None:
        owner.execute("CREATE TABLE t (c VARCHAR COLLATE NOCASE, w VARCHAR COLLATE NOCASE)").fetchall()
        owner.execute("INSERT INTO t VALUES ('a', 'a'), ('A', 'A'), ('A', 'A')").fetchall()
        owner.execute("SET default_collation = 'NOCASE'").fetchall()
        for unit in (None, "w"):
            table = TableDomain("t", (CategoryDomain("c", ("a", "A")), TextDomain("w")), unit, 9)
            engine = DuckDbEngine(owner, policy_of(table))
            assert engine.contingency("t", ("c",)).reveal().tolist() == [1, 2, 0]
            for scope in ((), ("c",)):
                counts = engine.keyed_counts("t", ("w",), (("a",), ("A",)), scope).reveal()
                assert counts.reshape(2, -1).sum(axis=1).tolist() == [1, 2]

    def test_days_of_time_stamps_with_zone_are_utc(self, owner: duckdb.DuckDBPyConnection) -> None:
        sql = "CREATE TABLE t AS SELECT unnest(['2020-01-01 23:30:00+00', 'infinity', '-infinity'])::TIMESTAMPTZ AS d"
        owner.execute(sql).fetchall()
        table = TableDomain("t", (DateDomain("d", date(2020, 1, 1), date(2020, 1, 2)),))
        found = set()
        for zone in ("UTC", "Asia/Tokyo"):
            owner.execute(f"SET GLOBAL TimeZone = '{zone}'").fetchall()
            engine = DuckDbEngine(owner, policy_of(table))
            assert engine.contingency("t", ("d",)).reveal().tolist() == [1, 0, 2]
            found.add(engine.fingerprint())
        assert len(found) == 1

    @pytest.mark.parametrize("kind", ["DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"])
    @pytest.mark.parametrize("unit", ["day", "week", "month", "quarter", "year"])
    def test_infinite_and_far_dates_are_outside(self, owner: duckdb.DuckDBPyConnection, kind: str, unit: str) -> None:
        owner.execute(f"CREATE TABLE t (d {kind})").fetchall()
        owner.execute("INSERT INTO t VALUES ('infinity'), ('-infinity'), ('2020-05-17'), (NULL)").fetchall()
        table = TableDomain("t", (DateDomain("d", date(2020, 5, 17), date(2020, 5, 17), unit),))  # type: ignore[arg-type]
        assert DuckDbEngine(owner, policy_of(table)).contingency("t", ("d",)).reveal().tolist() == [1, 3]


class TestCaches:
    def test_one_scan_serves_a_small_universe(self, database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        engine = DuckDbEngine(database, policy_of(PEOPLE))
        scans: list[str] = []
        original = Reader.integers
        monkeypatch.setattr(Reader, "integers", lambda own, what, sql: scans.append(sql) or original(own, what, sql))
        for scope in (("age",), (), ("member", "age"), ("member",), ("age",)):
            engine.contingency("people", scope)
        assert len(scans) == 1

    @pytest.mark.parametrize("limit", [1, 40, 1 << 22])
    @pytest.mark.parametrize("room", [1, 1 << 20])
    def test_limits_change_no_count(
        self, database: Path, monkeypatch: pytest.MonkeyPatch, limit: int, room: int
    ) -> None:
        monkeypatch.setattr(duckdb_engine, "WHOLE_CELLS", limit)
        monkeypatch.setattr(duckdb_engine, "CACHE_BYTES", room)
        monkeypatch.setattr(text_index, "INDEX_BYTES", room)
        engine = DuckDbEngine(database, policy_of(PEOPLE))
        for scope in (("age",), ("member", "age"), ("member",), (), ("age",)):
            assert engine.contingency("people", scope).reveal().sum() == 1000
            counts = engine.keyed_counts("people", ("name",), (("n3",), ("n7",), ("m",)), scope).reveal()
            assert counts.reshape(3, -1).sum(axis=1).tolist() == [20, 20, 0]

    def test_room_is_bounded_and_the_oldest_goes(self) -> None:
        cache = Contingencies(max_bytes=100 * 8)
        for name in "abcd":
            cache.put("t", (name,), np.ones(40, dtype=np.int64))
        assert [cache.get("t", (n,)) is None for n in "abcd"] == [True, True, False, False]
        cache.put("t", ("e",), np.ones(101, dtype=np.int64))
        assert cache.get("t", ("e",)) is None and cache.get("t", ("d",)) is not None
        cache.put("t", ("d",), np.ones(50, dtype=np.int64))
        assert cache.get("t", ("c",)) is not None

    def test_a_lookup_costs_its_support(
        self, owner: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """No statement is run by a repeated question: neither rows nor strings are scanned."""
        engine = DuckDbEngine(owner, policy_of(PEOPLE))
        engine.keyed_counts("people", ("name",), (("n1",),), ("age",))
        for question in ("rows", "arrays", "integers", "arrow"):
            monkeypatch.setattr(Reader, question, None)
        assert engine.keyed_counts("people", ("name",), (("n2",), ("n3",)), ("age",)).reveal().sum() == 4
        assert engine.keyed_counts("people", ("name",), (("n2",),), ()).reveal().tolist() == [2]


def test_threads_share_one_engine(database: Path) -> None:
    engine = DuckDbEngine(database, policy_of(PEOPLE))
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for i in range(25):
                scope = (("age",), ("member",), (), ("age", "member"))[(i + number) % 4]
                assert engine.contingency("people", scope).reveal().sum() == 1000
                counts = engine.keyed_counts("people", ("name",), ((f"n{i}",),), scope).reveal()
                assert counts.sum() == 20
        except BaseException as e:  # noqa: BLE001 - a thread hands its failure to the test
            failures.append(e)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures


def test_fingerprint_is_frozen() -> None:
    """Ledgers are bound to both: they must not change with the version of DuckDB or of dpsql."""
    con = duckdb.connect()
    con.execute(
        "CREATE TABLE t AS SELECT unnest([1, -2, NULL]) AS i, unnest([0.1::DOUBLE, -0.0, 'nan']) AS n, "
        "unnest(['a', 'Ä,:', '']) AS c, unnest([true, false, NULL]) AS b, "
        "unnest([DATE '2020-02-29', 'infinity', NULL]) AS d, "
        "unnest([1.50::DECIMAL(5,2), 2, NULL]) AS m, unnest(['\\xFF'::BLOB, '', NULL]) AS u, "
        "unnest([TIMESTAMPTZ '2020-01-01 00:00:00.5+02', 'infinity', NULL]) AS z"
    ).fetchall()
    days = date(2020, 1, 1), date(2020, 12, 31)
    columns = (
        IntegerDomain("i", 0, 1),
        NumberDomain("n", (0.0, 1.0)),
        CategoryDomain("c", ("a",)),
        BooleanDomain("b"),
        DateDomain("d", *days),
        NumberDomain("m", (0.0, 9.0)),
        DateDomain("z", *days),
    )
    policy = policy_of(TableDomain("t", columns, "u"))
    first = DuckDbEngine(con, policy, Rules(fingerprint=1))
    assert first.fingerprint() == "ada274bd2cb06d4ffea74f32aecaf3500d64a9a1cc65042a0fbc6b79ee4b57df"
    newest = DuckDbEngine(con, policy)
    assert newest.fingerprint() == "659ead01722a0afdc12102377bf990f4c2d72efda50fd3fe1e1fe7c7ab571e78"
    assert first.other_table_fingerprints() == newest.table_fingerprints() != first.table_fingerprints()
    assert newest.other_table_fingerprints() == first.table_fingerprints()


@pytest.mark.parametrize(
    ("rule", "kept"),
    [
        (
            1,  # as commit 5384e10 kept them: ledgers without a rule speak of these rows
            [
                [1, 2, 1, 1, 1, 0],
                [0, 0, 0, 0, 0, 0],
                [1, 0, 1, 2, 0, 0],
                [1, 2, 0, 2, 1, 0],
                [0, 1, 0, 1, 1, 0],
                [0, 1, 0, 1, 0, 0],
            ],
        ),
        (
            2,
            [
                [1, 1, 1, 2, 1, 0],
                [0, 1, 1, 0, 0, 0],
                [1, 0, 0, 0, 1, 0],
                [0, 1, 1, 1, 1, 0],
                [2, 0, 1, 0, 0, 0],
                [0, 0, 2, 2, 0, 0],
            ],
        ),
    ],
)
def test_the_rows_that_are_kept_of_a_unit_are_frozen(rule: int, kept: list[list[int]]) -> None:
    with duckdb.connect() as con:
        con.execute(
            "CREATE TABLE t AS SELECT i % 7 AS u, i % 5 AS a, 'n' || (i % 6) AS s FROM range(200) r(i)"
        ).fetchall()
        table = TableDomain("t", (IntegerDomain("a", 0, 4), TextDomain("s")), "u", 3)
        engine = DuckDbEngine(con, policy_of(table), Rules(unit_rows=rule))
        keys = tuple((f"n{i}",) for i in range(6))
        assert engine.keyed_counts("t", ("s",), keys, ("a",)).reveal().tolist() == kept


class TestTheTablesBehindViews:
    def test_a_view_is_registered_with_the_people_behind_it(self, owner: duckdb.DuckDBPyConnection) -> None:
        owner.execute("CREATE TABLE folk AS SELECT unnest([1, 2, 3]) AS age, 'x' AS name").fetchall()
        owner.execute("CREATE VIEW grown AS SELECT age FROM folk WHERE age > 1").fetchall()
        owner.execute('CREATE VIEW "g 2" AS SELECT age + 1 AS age FROM grown').fetchall()
        owner.execute("CREATE TABLE copied AS SELECT * FROM grown").fetchall()
        columns = (IntegerDomain("age", 0, 9),)

        def found(name: str) -> set[str]:
            return set(DuckDbEngine(owner, policy_of(TableDomain(name, columns))).table_fingerprints())

        assert found("folk") < found("grown")
        assert found("folk") < found("g 2")
        assert found("copied") < found("grown")
        assert len(found("g 2")) == 2

    def test_a_public_table_behind_a_view_is_nobodys_budget(self, owner: duckdb.DuckDBPyConnection) -> None:
        owner.execute("CREATE TABLE folk AS SELECT 1 AS age, 7 AS zip").fetchall()
        owner.execute("CREATE TABLE zips AS SELECT 7 AS zip").fetchall()
        owner.execute("CREATE VIEW v AS SELECT age FROM folk JOIN zips USING (zip)").fetchall()
        table = TableDomain("v", (IntegerDomain("age", 0, 9),))
        policy = policy_of(table)
        with_public = Policy(policy.privacy, (table,), public_tables=("zips",))
        assert len(DuckDbEngine(owner, policy).table_fingerprints()) == 3
        assert len(DuckDbEngine(owner, with_public).table_fingerprints()) == 2

    def test_a_public_view_of_a_private_table_is_refused(self, owner: duckdb.DuckDBPyConnection) -> None:
        owner.execute("CREATE TABLE folk AS SELECT 1 AS age, 7 AS zip").fetchall()
        owner.execute("CREATE VIEW v AS SELECT age FROM folk").fetchall()
        owner.execute("CREATE VIEW w AS SELECT DISTINCT zip FROM folk").fetchall()
        for private in ("folk", "v"):
            table = TableDomain(private, (IntegerDomain("age", 0, 9),))
            with pytest.raises(PolicyError, match="reads a private table"):
                DuckDbEngine(owner, Policy(policy_of(table).privacy, (table,), public_tables=("w",)))

    def test_nested_columns_count_by_name(self, owner: duckdb.DuckDBPyConnection) -> None:
        found = set()
        for zone in ("UTC", "Asia/Tokyo"):
            owner.execute(f"SET GLOBAL TimeZone = '{zone}'").fetchall()
            owner.execute("CREATE OR REPLACE TABLE t AS SELECT 1 AS i, [TIMESTAMPTZ '2020-01-01 00:00:00+00'] AS z")
            table = TableDomain("t", (IntegerDomain("i", 0, 1),))
            found.add(DuckDbEngine(owner, policy_of(table)).table_fingerprints())
        assert len(found) == 1
