"""Extracts count as their sources do, whatever these are, and are complete or not there at all."""

import os
import signal
import sqlite3
import stat
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest

from dpsql.domain import BooleanDomain, CategoryDomain, DateDomain, IntegerDomain, NumberDomain, TableDomain, TextDomain
from dpsql.engine import MemoryEngine
from dpsql.engine.duckdb import DuckDbEngine
from dpsql.engine.extracting import Reading, Relation, Source, extract
from dpsql.engine.extracting.duckdb_file import DuckDbSource
from dpsql.engine.extracting.files import FilesSource
from dpsql.engine.extracting.frames import FrameSource
from dpsql.errors import EngineError, Error, PolicyError
from dpsql.policy import Policy, Privacy
from tests.contracts.engine_contract import policy_of

CANARY = "Zaphod-48842"
PEOPLE = TableDomain(
    "people",
    (
        IntegerDomain("age", 0, 40),
        NumberDomain("weight", (0.0, 1.0, 5.0, 9.0)),
        BooleanDomain("member", nullable=False),
        CategoryDomain("town", ("Brno", "Žilina", "")),
        DateDomain("since", date(2020, 1, 1), date(2021, 12, 31), "month"),
        TextDomain("name"),
    ),
    unit="Owner",
    max_rows_per_unit=2,
)
ONE_EACH = replace(PEOPLE, unit=None, max_rows_per_unit=1)


def rows(owners: int = 60) -> pa.Table:
    number = range(owners * 4)
    return pa.table(
        {
            "since": pa.array([date(2020 + i % 3, 1 + i % 12, 1 + i % 28) if i % 9 else None for i in number]),
            "age": pa.array([i % 53 if i % 7 else None for i in number], pa.int16()),
            "secret": [f"{CANARY} {i}" for i in number],
            "weight": pa.array([i * 0.37 % 11 - 1 if i % 5 else float("nan") for i in number]),
            "member": [None if i % 13 == 0 else i % 2 == 0 for i in number],
            "town": [("Brno", "Žilina", "", "Wien")[i % 4] for i in number],
            "name": [f"n{i % 6}" if i % 8 else None for i in number],
            "owner": pa.array([i // 4 if i // 4 else None for i in number], pa.int32()),
        }
    )


def database(path: Path, table: pa.Table, name: str = "people") -> Path:
    with duckdb.connect(str(path)) as con:
        con.register("incoming", table)
        con.execute(f'CREATE TABLE "{name}" AS SELECT * FROM incoming').fetchall()
    return path


def parquet(folder: Path, table: pa.Table) -> Path:
    with duckdb.connect() as con:
        con.register("incoming", table)
        con.execute(f"COPY (FROM incoming) TO '{folder}' (FORMAT parquet, PARTITION_BY (town))").fetchall()
    return folder


def made(folder: Path, source: Source, table: TableDomain = PEOPLE, name: str = "x.duckdb") -> Path:
    extract({"people": source}, policy_of(table), folder / name)
    return folder / name


def source_of(kind: str, folder: Path, table: pa.Table) -> Source:
    match kind:
        case "duckdb":
            return DuckDbSource(database(folder / "source.duckdb", table))
        case "hive":
            return FilesSource(str(parquet(folder / "partitions", table)))
        case "csv":
            with duckdb.connect() as con:
                con.register("incoming", table)
                for part in (0, 1):
                    half = f"SELECT * FROM incoming WHERE coalesce(owner, 0) % 2 = {part}"
                    con.execute(f"COPY ({half}) TO '{folder}/part{part}.csv'").fetchall()
            return FilesSource(str(folder / "part*.csv"))
        case "pandas":
            return FrameSource(table.to_pandas(types_mapper=pd.ArrowDtype))
        case "polars":
            return FrameSource(pl.from_arrow(table))
        case "reader":
            return FrameSource(table.to_reader(max_chunksize=17))
        case _:
            return FrameSource(ds.dataset(table))


@pytest.mark.parametrize("table", [PEOPLE, ONE_EACH], ids=["units", "rows"])
@pytest.mark.parametrize("kind", ["duckdb", "hive", "csv", "pandas", "polars", "reader", "dataset"])
def test_an_extract_counts_as_its_source(tmp_path: Path, kind: str, table: TableDomain) -> None:
    data = rows()
    if kind == "csv":  # has no empty strings
        data = data.set_column(5, "town", pc.if_else(pc.equal(data["town"], ""), None, data["town"]))
    path = made(tmp_path, source_of(kind, tmp_path, data), table)
    twin, engine = MemoryEngine(policy_of(table), {"people": data}), DuckDbEngine(path, policy_of(table))
    for scope in (("age", "member"), ("town", "since"), ("weight", "town")):
        assert (
            engine.contingency("people", scope).reveal().tolist() == twin.contingency("people", scope).reveal().tolist()
        )
    assert engine.sums("people", "weight", ("town",)).reveal().tolist() == (
        twin.sums("people", "weight", ("town",)).reveal().tolist()
    )
    found, wanted = (e.key_counts("people", "name").reveal() for e in (engine, twin))
    assert (found.keys, found.counts.tolist()) == (wanted.keys, wanted.counts.tolist())
    engine.close()
    with duckdb.connect(str(path), read_only=True) as con:
        columns = [name for name, *_ in con.execute("DESCRIBE people").fetchall()]
    assert sorted(c.lower() for c in columns) == sorted(
        [c.name for c in table.columns] + (["owner"] if table.unit else [])
    )
    assert CANARY.encode() not in path.read_bytes()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not [p for p in tmp_path.iterdir() if ".new-" in p.name]


def content(path: Path) -> list[tuple[object, ...]]:
    with duckdb.connect(str(path), read_only=True) as con:
        return con.execute("SELECT * FROM people").fetchall()


def test_the_rows_of_a_unit_depend_on_that_unit_alone(tmp_path: Path) -> None:
    table = rows()
    everybody = content(made(tmp_path, FrameSource(table)))
    others = table.filter(pc.fill_null(pc.not_equal(table["owner"], 7), True))
    without = content(made(tmp_path, FrameSource(others), name="without.duckdb"))
    assert sorted(map(repr, without)) == sorted(repr(row) for row in everybody if row[-1] != 7)
    assert len(everybody) - len(without) == 2
    upside_down = content(
        made(tmp_path, FrameSource(table.take(list(range(table.num_rows))[::-1])), name="down.duckdb")
    )
    assert sorted(map(repr, upside_down)) == sorted(map(repr, everybody))


def test_rows_are_in_no_order_of_the_source(tmp_path: Path) -> None:
    table = pa.table({"age": [i % 40 for i in range(400)]})
    of = TableDomain("people", (IntegerDomain("age", 0, 40),))
    first, second = (content(made(tmp_path, FrameSource(table), of, name)) for name in ("a.duckdb", "b.duckdb"))
    assert first != second
    assert first != [(i % 40,) for i in range(400)]
    assert sorted(first) == sorted(second)  # type: ignore[type-var]


def test_another_choice_of_rows_is_refused(tmp_path: Path) -> None:
    path = made(tmp_path, FrameSource(rows()))
    DuckDbEngine(path, policy_of(replace(PEOPLE, name="People"))).close()
    for other in (
        replace(PEOPLE, max_rows_per_unit=3),
        replace(PEOPLE, unit=None, max_rows_per_unit=1),
        replace(PEOPLE, columns=PEOPLE.columns[1:]),
    ):
        with pytest.raises(PolicyError, match="rows of each unit") as caught:
            DuckDbEngine(path, policy_of(other))
        assert "extract again" in str(caught.value.hint)
    whole = made(tmp_path, FrameSource(rows()), ONE_EACH, "whole.duckdb")
    DuckDbEngine(whole, policy_of(replace(ONE_EACH, columns=PEOPLE.columns[1:]))).close()


@dataclass(frozen=True)
class Fails:
    """A source that ends in the middle."""

    source: Source
    error: BaseException

    holds_one_table = False

    @contextmanager
    def open(self, connection: duckdb.DuckDBPyConnection) -> Iterator[Reading]:
        with self.source.open(connection) as reading:
            yield _Failing(reading, self.error)


@dataclass(frozen=True)
class _Failing:
    reading: Reading
    error: BaseException

    address = snapshot = ""

    def relation(
        self,
        table: str,
        columns: Sequence[str] | None,
        *,
        unit: str | None = None,
        strings: Sequence[str] = (),
        private: bool = True,
    ) -> Relation:
        if table == "late":
            raise self.error
        return self.reading.relation(table, columns, unit=unit, strings=strings, private=private)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), EngineError("gone", hint="look")], ids=["ctrl-c", "error"])
def test_what_ends_early_leaves_nothing(tmp_path: Path, error: BaseException) -> None:
    source = Fails(FrameSource(rows()), error)
    policy = policy_of(PEOPLE, replace(PEOPLE, name="late"))
    kept = made(tmp_path, FrameSource(rows()), name="kept.duckdb")
    before = kept.read_bytes()
    for output, again in (("x.duckdb", False), ("kept.duckdb", True)):
        with pytest.raises(type(error)):
            extract({"people": source, "late": source}, policy, tmp_path / output, replace=again)
    assert os.listdir(tmp_path) == ["kept.duckdb"] and kept.read_bytes() == before  # noqa: PTH208


def test_files_that_are_written_meanwhile_are_refused(tmp_path: Path) -> None:
    part = parquet(tmp_path / "parts", rows())
    with pytest.raises(EngineError, match="written to"), duckdb.connect() as con, FilesSource(str(part)).open(con):
        (part / "town=Wien" / "late.parquet").write_bytes(next((part / "town=Brno").iterdir()).read_bytes())


def test_an_output_is_never_lost(tmp_path: Path) -> None:
    path = made(tmp_path, FrameSource(rows()))
    with pytest.raises(EngineError, match="exists already"):
        made(tmp_path, FrameSource(rows(70)))
    extract({"people": FrameSource(rows(70))}, policy_of(PEOPLE), path, replace=True)
    assert len(content(path)) > len(content(made(tmp_path, FrameSource(rows()), name="y.duckdb")))
    (tmp_path / "z.duckdb.wal").write_bytes(b"rows of another database")
    for output, words in (("z.duckdb", "another database"), ("nowhere/x.duckdb", "cannot be written")):
        with pytest.raises(EngineError, match=words) as caught:
            made(tmp_path, FrameSource(rows()), name=output)
        assert caught.value.hint


def test_only_an_extract_is_replaced(tmp_path: Path) -> None:
    source = database(tmp_path / "source.duckdb", rows())
    mixed = made(tmp_path, FrameSource(rows()), name="mixed.duckdb")
    with duckdb.connect(str(mixed)) as con:
        con.execute("CREATE TABLE precious (a INTEGER)")
    with duckdb.connect(str(tmp_path / "empty.duckdb")):
        pass
    ledger = tmp_path / "x.dpsql.ledger"
    with closing(sqlite3.connect(ledger)) as record:
        record.execute("CREATE TABLE people (age)")
    (tmp_path / "people.csv").write_text("age\n1\n")
    for name in ("source.duckdb", "mixed.duckdb", "empty.duckdb", "x.dpsql.ledger", "people.csv"):
        before = (tmp_path / name).read_bytes()
        for rows_of in (FrameSource(rows()), DuckDbSource(source)):
            with pytest.raises(EngineError, match="not seen to be an earlier extract") as caught:
                extract({"people": rows_of}, policy_of(PEOPLE), tmp_path / name, replace=True)
            assert caught.value.hint and (tmp_path / name).read_bytes() == before


def test_sources_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text(f'age,member\n1,"{CANARY}\n"x"y,2\n')
    (tmp_path / "bad.parquet").write_text(CANARY)
    (tmp_path / "bad.db").write_text(CANARY)
    (tmp_path / "mixed").mkdir()
    (tmp_path / "mixed" / "a.csv").write_text("a\n1\n")
    (tmp_path / "mixed" / "b.parquet").write_text("")
    sources: list[Source] = [
        FilesSource(str(tmp_path / n)) for n in ("bad.csv", "bad.parquet", "none.csv", "mixed", "*.x")
    ]
    for source in (*sources, DuckDbSource(tmp_path / "bad.db"), FrameSource(3)):
        with pytest.raises(Error) as caught:
            made(tmp_path, source)
        assert caught.value.hint and CANARY not in str(caught.value)
        assert caught.value.__cause__ is None and CANARY not in repr(caught.value.__context__)
    with pytest.raises(PolicyError, match="no such column") as missing:
        made(tmp_path, FrameSource(rows().drop_columns("town")))
    assert missing.value.path == "tables.people.columns.town"
    assert not (tmp_path / "x.duckdb").exists()


def test_views_stay_views(tmp_path: Path) -> None:
    """A replaced row can change a view's number of rows, and a view may show a private table as a public one."""
    path = database(tmp_path / "source.duckdb", rows(), "base")
    with duckdb.connect(str(path)) as con:
        con.execute("CREATE VIEW people AS SELECT * FROM base WHERE age IS NOT NULL").fetchall()
        con.execute("CREATE TABLE towns AS SELECT 'Brno' AS town").fetchall()
    plain = policy_of(ONE_EACH, public=("towns",))
    extract(dict.fromkeys(("people", "towns"), DuckDbSource(path)), plain, tmp_path / "x.duckdb")
    engine = DuckDbEngine(tmp_path / "x.duckdb", plain)
    assert not engine.is_base_table("people") and engine.origins == (str(path.resolve()),)
    assert engine.public_table("towns").to_pylist() == [{"town": "Brno"}]
    engine.close()
    privacy = Privacy(plain.privacy.epsilon, plain.privacy.delta, "replace-one")
    counted = Policy(privacy, (replace(ONE_EACH, row_count="public", columns=ONE_EACH.columns[:2]),))
    for refuse in (
        lambda: extract({"people": DuckDbSource(path)}, counted, tmp_path / "y.duckdb"),
        lambda: DuckDbEngine(tmp_path / "x.duckdb", counted),
    ):
        with pytest.raises(PolicyError, match="view"):
            refuse()
    with pytest.raises(PolicyError, match="view"):
        shows = policy_of(replace(ONE_EACH, name="base"), public=("people",))
        extract(dict.fromkeys(("base", "people"), DuckDbSource(path)), shows, tmp_path / "y.duckdb")
    with pytest.raises(EngineError, match="extract itself"):
        extract({"people": DuckDbSource(tmp_path / "x.duckdb")}, policy_of(ONE_EACH), tmp_path / "y.duckdb")


def test_a_view_over_files_is_extracted_and_the_error_says_so(tmp_path: Path) -> None:
    part = parquet(tmp_path / "parts", rows())
    with duckdb.connect(str(tmp_path / "lake.duckdb")) as con:
        con.execute(
            f"CREATE VIEW people AS SELECT * FROM read_parquet('{part}/**/*.parquet', hive_partitioning = true)"
        )
    with pytest.raises(EngineError, match="view people") as caught:
        DuckDbEngine(tmp_path / "lake.duckdb", policy_of(PEOPLE))
    assert "dpsql extract" in str(caught.value.hint)
    engine = DuckDbEngine(made(tmp_path, DuckDbSource(tmp_path / "lake.duckdb")), policy_of(PEOPLE))
    assert int(engine.contingency("people", ()).reveal()) > 100
    engine.close()


def test_times_with_a_zone_stay_the_same_moments(tmp_path: Path) -> None:
    of = TableDomain("people", (DateDomain("since", date(2020, 1, 1), date(2020, 1, 9)),))
    moments = pa.array([datetime(2020, 1, 3, 23, 30, tzinfo=UTC)] * 3, pa.timestamp("us", "America/New_York"))
    path = made(tmp_path, FrameSource(pa.table({"since": moments})), of)
    engine = DuckDbEngine(path, policy_of(of))
    assert engine.contingency("people", ("since",)).reveal().tolist() == [0, 0, 3, 0, 0, 0, 0, 0, 0, 0]
    engine.close()


def test_a_stream_that_breaks_off_is_no_shorter_table(tmp_path: Path) -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        yield from rows().to_batches()
        raise OSError(f"{CANARY} is gone")

    reader = pa.RecordBatchReader.from_batches(rows().schema, batches())
    with pytest.raises(EngineError) as caught:
        made(tmp_path, FrameSource(reader))
    assert CANARY not in str(caught.value) + repr(caught.value.__context__)
    assert not list(tmp_path.iterdir())


def test_ctrl_c_is_heard_while_rows_are_copied(tmp_path: Path) -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        yield from rows().to_batches()
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(10_000):
            time.sleep(0.001)
            yield from rows().to_batches()

    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        made(tmp_path, FrameSource(pa.RecordBatchReader.from_batches(rows().schema, batches())))
    assert time.monotonic() - begun < 5
    assert not list(tmp_path.iterdir())


class Starting(ThreadPoolExecutor):
    """Ctrl-C is heard while its thread starts, which it then knows nothing of."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        Thread(target=fn, daemon=True).start()
        time.sleep(0.2)
        raise KeyboardInterrupt


def test_ctrl_c_is_heard_while_the_copying_thread_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        for _ in range(1_000):
            time.sleep(0.001)
            yield from rows().to_batches()

    monkeypatch.setattr(import_module("dpsql.engine.extracting.extract"), "ThreadPoolExecutor", Starting)
    with pytest.raises(KeyboardInterrupt):
        made(tmp_path, FrameSource(pa.RecordBatchReader.from_batches(rows().schema, batches())))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("other", ["", "x,0\n"], ids=["alike", "one other row"])
def test_strings_of_csv_files_are_read_as_they_are_written(tmp_path: Path, other: str) -> None:
    """No guess makes 'yes' a boolean or 1.50 a number, and no row decides how the others are read."""
    for day in ("2020-01-01", "2020-01-02"):
        folder = tmp_path / "rows" / f"Day={day}"
        folder.mkdir(parents=True)
        (folder / "part.csv").write_text(f"Member,code\nyes,1.50\nno,1.5\n{other}")
    table = TableDomain(
        "t",
        (CategoryDomain("member", ("yes", "no")), TextDomain("Code"), CategoryDomain("day", ("2020-01-01",))),
    )
    extract({"t": FilesSource(str(tmp_path / "rows"))}, policy_of(table), tmp_path / "x.duckdb")
    engine = DuckDbEngine(tmp_path / "x.duckdb", policy_of(table))
    more = 1 if other else 0
    assert engine.contingency("t", ("member",)).reveal().tolist() == [2, 2, 2 * more]
    assert engine.contingency("t", ("day",)).reveal().tolist() == [2 + more, 2 + more]
    strings = engine.key_counts("t", "Code").reveal()
    assert dict(zip(strings.keys, strings.counts.tolist(), strict=True)).items() >= {"1.50": 2, "1.5": 2}.items()
    engine.close()


def test_a_frame_with_a_type_that_duckdb_does_not_have(tmp_path: Path) -> None:
    half = pa.table({"age": pa.array([1, 2], pa.int16()), "h": pa.array([1.0, 2.0]).cast(pa.float16())})
    table = TableDomain("t", (IntegerDomain("age", 0, 9),))
    with pytest.raises(EngineError, match="cannot be read") as caught:
        extract({"t": FrameSource(half)}, policy_of(table), tmp_path / "x.duckdb")
    assert "float16" in (caught.value.hint or "") and not list(tmp_path.iterdir())
