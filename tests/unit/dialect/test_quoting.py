"""Names are quoted where DuckDB would read another word."""

import duckdb
import pytest

from dpsql.dialect.quoting import RESERVED, written


def test_reserved_words_are_those_of_duckdb() -> None:
    found = duckdb.sql("SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category = 'reserved'").fetchall()
    assert {word for (word,) in found} <= RESERVED


@pytest.mark.parametrize("name", ["age", "Age", "order", "left", "my table", 'a "b"', "2nd", "weird;name", "_x", "año"])
def test_a_name_is_read_as_it_was_written(name: str) -> None:
    assert duckdb.sql(f"SELECT t.{written(name)} FROM (SELECT 1 AS {written(name)}) AS t").columns == [name]
