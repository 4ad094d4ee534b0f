import time
from datetime import date

import duckdb
import pytest

import dpsql

TYPES = {
    "STRING": ["VARCHAR", "UUID", "ENUM('a', 'b')", "JSON"],
    "NUMBER": ["TINYINT", "UHUGEINT", "BIGINT", "DOUBLE", "FLOAT", "DECIMAL(18,3)"],
    "DATETIME": ["DATE", "TIME", "TIMESTAMP", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE", "INTERVAL"],
    "BINARY": ["BLOB", "BIT"],
    None: ["BOOLEAN", "BIGINT[]", "STRUCT(a BIGINT)", "VARCHAR[3]", ""],
}


@pytest.mark.parametrize(("name", "code"), [(n, code) for n, codes in TYPES.items() for code in codes])
def test_each_type_code_equals_its_type_object_and_no_other(name: str | None, code: str) -> None:
    equal = {n for n in ("STRING", "BINARY", "NUMBER", "DATETIME", "ROWID") if getattr(dpsql, n) == code}
    assert equal == ({name} if name else set())
    for n in equal:
        assert code == getattr(dpsql, n)


@pytest.mark.parametrize("literal", ["1", "1.5", "1e0", "'a'", "DATE '2020-01-01'", "now()", "'a'::BLOB", "1::HUGEINT"])
def test_duckdb_s_own_type_names_are_known(literal: str) -> None:
    code = str(duckdb.sql(f"SELECT {literal}").types[0])
    assert any(getattr(dpsql, n) == code for n in ("STRING", "BINARY", "NUMBER", "DATETIME"))


def test_type_objects_compare_by_name_and_cannot_be_keys() -> None:
    assert dpsql.STRING != dpsql.NUMBER and dpsql.STRING == dpsql.STRING and dpsql.STRING != 3
    assert repr(dpsql.STRING) == "dpsql.STRING"
    with pytest.raises(TypeError):
        hash(dpsql.STRING)


def test_constructors_agree_with_ticks() -> None:
    ticks = time.mktime((2002, 12, 25, 13, 45, 30, 0, 0, -1))
    assert dpsql.DateFromTicks(ticks) == dpsql.Date(2002, 12, 25) == date(2002, 12, 25)
    assert dpsql.TimeFromTicks(ticks) == dpsql.Time(13, 45, 30)
    assert dpsql.TimestampFromTicks(ticks) == dpsql.Timestamp(2002, 12, 25, 13, 45, 30)
    assert dpsql.Binary(b"x") == b"x"


def test_globals() -> None:
    assert (dpsql.apilevel, dpsql.threadsafety, dpsql.paramstyle) == ("2.0", 1, "qmark")
    missing = [name for name in dpsql.__all__ if not hasattr(dpsql, name)]
    assert missing == []
