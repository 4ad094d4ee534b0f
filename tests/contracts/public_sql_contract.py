"""What every ``PublicSql`` must do. ``seconds`` of the tested object is short, so that the limit can be met."""

import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from datetime import date, datetime
from time import monotonic

import numpy as np
import pyarrow as pa
import pytest

from dpsql.domain import Value
from dpsql.errors import DataError, Error, ProgrammingError, UnknownName, UnsupportedQuery
from dpsql.sql.public_sql import GridColumn, PublicSql

AGE = GridColumn("age", "BIGINT", (17, 18, 19, None))
SEX = GridColumn("sex", "VARCHAR", ("Female", "Male", None))
DAY = GridColumn("day", "DATE", (date(2020, 1, 31), date(2020, 2, 29), None))
FLAG = GridColumn("flag", "BOOLEAN", (False, True))
HOURS = GridColumn("hours", "DOUBLE", (0.0, 0.1, 20))
ZIPS = pa.table({"zip": ["01", "02"], "n": [1, 2]})


def public_table(name: str) -> pa.Table:
    if name.lower() != "zips":
        raise UnknownName(f"there is no public table {name}", name=name)
    return ZIPS


def refused(work: Callable[[], object]) -> Error:
    with pytest.raises(Error) as e:
        work()
    assert e.value.__cause__ is None and e.value.__context__ is None
    assert e.value.hint
    assert "\n" not in str(e.value)
    assert "dpsql_grid" not in "".join(traceback.format_exception_only(e.value))
    return e.value


def valued(sql: PublicSql, columns: list[GridColumn], expression: str) -> tuple[list[Value], str]:
    """The expression in every cell, and its type."""
    found = sql.codes(columns, expression)
    assert len(set(found.values)) == len(found.values)
    return [found.values[c] for c in found.codes], found.sql_type


class PublicSqlContract(ABC):
    @abstractmethod
    def build(self, public_table: Callable[[str], pa.Table], seconds: float) -> PublicSql:
        """A fresh object."""

    @pytest.fixture
    def sql(self) -> PublicSql:
        return self.build(public_table, 0.4)

    def test_true_is_one_false_and_null_are_zero(self, sql: PublicSql) -> None:
        found = sql.truth([AGE], ["age >= 18", "age IS NULL", "NULL", "true", "age % 2 = 0 AND NULL"])
        assert [w.tolist() for w in found] == [[0, 1, 1, 0], [0, 0, 0, 1], [0] * 4, [1] * 4, [0] * 4]
        assert all(w.dtype == np.bool_ for w in found)

    def test_grids_are_row_major(self, sql: PublicSql) -> None:
        (found,) = sql.truth([AGE, SEX, FLAG], ["age = 18 AND sex = 'Male' AND flag"])
        assert found.shape == (4, 3, 2) and found.sum() == 1 and found[1, 1, 1] == 1
        (found,) = sql.truth([SEX, AGE], ["age > 17 OR sex = 'Female'"])
        assert found.tolist() == [[1, 1, 1, 1], [0, 1, 1, 0], [0, 1, 1, 0]]

    def test_a_large_grid(self, sql: PublicSql) -> None:
        many = [GridColumn(name, "BIGINT", tuple(range(250))) for name in ("a", "b")]
        (found,) = sql.truth(many, ["a * 250 + b = 31_313 OR a > b"])
        rows, columns = np.indices((250, 250))
        assert (found == ((rows * 250 + columns == 31_313) | (rows > columns))).all()

    def test_no_columns_and_no_values(self, sql: PublicSql) -> None:
        assert [w.tolist() for w in sql.truth([], ["1 = 1", "1 = 2"])] == [1, 0]
        assert sql.truth([], []) == []
        (found,) = sql.truth([AGE, GridColumn("name", "VARCHAR", ())], ["age > 0"])
        assert found.shape == (4, 0)
        assert valued(sql, [GridColumn("name", "VARCHAR", ())], "name") == ([], "VARCHAR")

    def test_types_are_duckdbs(self, sql: PublicSql) -> None:
        assert sql.truth([DAY], ["day = last_day(day)"])[0].tolist() == [1, 1, 0]
        assert sql.truth([HOURS], ["hours = 0.1"])[0].tolist() == [0, 1, 0]
        assert sql.truth([SEX], ["sex LIKE 'M%'"])[0].tolist() == [0, 1, 0]

    def test_odd_names_and_strings(self, sql: PublicSql) -> None:
        column = GridColumn('a "b" t0', "VARCHAR", ("", "x'y", "nul\0", "Žába", "\U0001f600"))
        (found,) = sql.truth([column], ['length("a ""b"" t0") BETWEEN 1 AND 3 AND "a ""b"" t0" <> \'x\'\'y\''])
        assert found.tolist() == [0, 0, 0, 0, 1]
        assert valued(sql, [column], '"a ""b"" t0"') == (list(column.values), "VARCHAR")

    def test_equal_names_with_other_values_do_not_mix(self, sql: PublicSql) -> None:
        for low in (0, 5, 0):
            column = GridColumn("age", "BIGINT", tuple(range(low, low + 3)))
            assert sql.truth([column], ["age = 5"])[0].tolist() == [int(v == 5) for v in column.values]
        for kind, values in (("BIGINT", (0, 1)), ("BOOLEAN", (False, True)), ("DOUBLE", (0.0, 1.0))):
            assert valued(sql, [GridColumn("x", kind, values)], "x") == (list(values), kind)

    def test_values_and_their_types(self, sql: PublicSql) -> None:
        assert valued(sql, [AGE], "age + 1") == ([18, 19, 20, None], "BIGINT")
        assert valued(sql, [AGE, FLAG], "flag")[0] == [False, True] * 4
        assert valued(sql, [HOURS], "hours / 2") == ([0.0, 0.05, 10.0], "DOUBLE")
        assert valued(sql, [AGE], "1.5")[0] == [1.5] * 4
        assert valued(sql, [DAY], "date_trunc('month', day)::DATE")[0] == [date(2020, 1, 1), date(2020, 2, 1), None]
        assert valued(sql, [DAY], "day::TIMESTAMP")[0][:1] == [datetime(2020, 1, 31)]  # noqa: DTZ001 - has no zone
        assert valued(sql, [], "upper('a')") == (["A"], "VARCHAR")
        assert valued(sql, [AGE], "NULL")[0] == [None] * 4

    @pytest.mark.parametrize("expression", ["[age]", "{'a': age}", "INTERVAL 1 DAY", "'2020-01-01'::TIMESTAMPTZ"])
    def test_values_that_are_no_scalars(self, sql: PublicSql, expression: str) -> None:
        assert isinstance(refused(lambda: valued(sql, [AGE], expression)), UnsupportedQuery)
        assert valued(sql, [AGE], "age")[0] == [17, 18, 19, None]

    def test_expressions_that_fail_on_public_values(self, sql: PublicSql) -> None:
        error = refused(lambda: sql.truth([SEX], ["sex::INTEGER > 3"]))
        assert isinstance(error, DataError) and "Female" in str(error)
        assert isinstance(refused(lambda: valued(sql, [AGE], "age + 9223372036854775807")), DataError)
        assert isinstance(refused(lambda: sql.truth([SEX], ["regexp_matches(sex, '(')"])), DataError)

    def test_expressions_that_mean_nothing(self, sql: PublicSql) -> None:
        for predicate in ("ago > 3", "age >", "nothing(age)", "age > (SELECT 1", "age = DATE '2020-01-01'"):
            assert isinstance(refused(lambda p=predicate: sql.truth([AGE], [p])), ProgrammingError | DataError)
        assert sql.truth([AGE], ["age > 18"])[0].tolist() == [0, 0, 1, 0]

    def test_slow_work_is_interrupted(self, sql: PublicSql) -> None:
        million = GridColumn("a", "BIGINT", tuple(range(1500)))
        slow = "md5(md5(md5(a::VARCHAR || b))) = 'x'"
        began = monotonic()
        error = refused(lambda: sql.truth([million, GridColumn("b", "BIGINT", tuple(range(3000)))], [slow] * 9))
        assert isinstance(error, UnsupportedQuery) and "0.4 s" in str(error)
        assert monotonic() - began < 5
        table = pa.table({"n": range(100_000)})
        error = refused(lambda: sql.run("SELECT count(*) FROM t a, t b WHERE a.n * b.n % 7 = 3", {"t": table}))
        assert isinstance(error, UnsupportedQuery)
        assert sql.run("SELECT 1 AS one", {}).to_pydict() == {"one": [1]}

    def test_nothing_outside_can_be_reached(self, sql: PublicSql) -> None:
        rows = pa.table({"n": [1]})
        assert rows.num_rows == 1
        for text in (
            "SELECT * FROM read_csv('/etc/hostname')",
            "SELECT * FROM '/etc/hostname'",
            "SELECT * FROM rows",
            "COPY (SELECT 1) TO 'never.csv'",
            "SET threads = 4",
            "ATTACH 'never.duckdb'",
            "INSTALL spatial",
            "CREATE TABLE x AS SELECT 1",
            "SELECT 1; SELECT 2",
            "",
        ):
            refused(lambda t=text: sql.run(t, {}))

    def test_run_over_released_and_public_tables(self, sql: PublicSql) -> None:
        released = pa.table({"zip": ["02", "01", "03"], "count": [20, 10, 30]})
        text = "SELECT r.zip, n, count FROM released r LEFT JOIN zips USING (zip) ORDER BY count DESC LIMIT 2"
        found = sql.run(text, {"released": released}, ["zips"])
        assert found.to_pydict() == {"zip": ["03", "02"], "n": [None, 2], "count": [30, 20]}

    def test_released_tables_do_not_stay(self, sql: PublicSql) -> None:
        for n in (1, 2):
            table: Mapping[str, pa.Table] = {'a "t"': pa.table({"n": [n]})}
            assert sql.run('SELECT n FROM "a ""t"""', table).to_pydict() == {"n": [n]}
        refused(lambda: sql.run('SELECT nothing FROM "a ""t"""', table))
        refused(lambda: sql.run('SELECT n FROM "a ""t"""', {}))

    def test_a_released_table_hides_a_public_one(self, sql: PublicSql) -> None:
        for _ in range(2):
            assert sql.run("SELECT count(*) AS c FROM zips", {}, ["Zips"]).to_pydict() == {"c": [2]}
            assert sql.run("SELECT * FROM zips", {"zips": pa.table({"n": [7]})}).to_pydict() == {"n": [7]}

    def test_an_unknown_public_table(self, sql: PublicSql) -> None:
        assert isinstance(refused(lambda: sql.run("SELECT 1", {}, ["people"])), UnknownName)

    def test_equal_column_names_stay(self, sql: PublicSql) -> None:
        assert sql.run("SELECT 1 AS a, 2 AS a", {}).column_names == ["a", "a"]

    def test_the_zone_is_utc(self, sql: PublicSql) -> None:
        found = sql.run("SELECT TIMESTAMPTZ '2020-01-01 00:00:00+02'::VARCHAR AS t", {})
        assert found.to_pydict() == {"t": ["2019-12-31 22:00:00+00"]}
