from datetime import date

import numpy as np
import pyarrow as pa
import pytest

import dpsql
from dpsql import Connection, Cursor, Result
from tests.support.fake_session import EXPLANATION, FakeSession, counts

SQL = "SELECT g, COUNT(*) AS n FROM t GROUP BY g"


@pytest.fixture
def session() -> FakeSession:
    return FakeSession()


@pytest.fixture
def cur(session: FakeSession) -> Cursor:
    return Connection(session).cursor()


def test_a_row_at_a_time(cur: Cursor) -> None:
    assert cur.execute(SQL) is cur
    assert cur.rownumber == 0
    assert cur.fetchone() == ("g0", 10)
    assert cur.rownumber == 1
    assert list(cur) == [("g1", 20), ("g2", 30)]
    assert cur.fetchone() is None
    assert cur.fetchall() == [] and cur.fetchmany(5) == []
    assert cur.rownumber == 3 == cur.rowcount


def test_one_execution_however_it_is_fetched(cur: Cursor, session: FakeSession) -> None:
    cur.execute(SQL, [30])
    cur.fetchone(), cur.fetchall(), cur.df(), cur.pl(), cur.to_arrow_table(), pa.table(cur), cur.answers
    assert session.executed == [(SQL, [30])]
    assert session.explained == []


@pytest.mark.parametrize("parameters", [None, [], [30], (30, "a"), {"age": 30}])
def test_parameters_reach_the_session_as_they_are(cur: Cursor, session: FakeSession, parameters: object) -> None:
    cur.execute(operation=SQL, parameters=parameters)
    assert session.executed == [(SQL, parameters)]


@pytest.mark.parametrize("parameters", ["30", b"30", 30, {30}, object(), iter([30])])
def test_other_parameters_are_refused(cur: Cursor, session: FakeSession, parameters: object) -> None:
    with pytest.raises(dpsql.ProgrammingError) as caught:
        cur.execute(SQL, parameters)
    assert "[30]" in caught.value.hint
    assert session.executed == []


@pytest.mark.parametrize("operation", [None, 1, b"SELECT 1", ["SELECT 1"], object()])
def test_a_statement_is_a_string(cur: Cursor, session: FakeSession, operation: object) -> None:
    with pytest.raises(dpsql.ProgrammingError):
        cur.execute(operation)
    assert session.executed == []


def test_many_rows_cross_the_buffer() -> None:
    values = tuple(range(10_000))
    cur = Connection(FakeSession(default=counts(values=values))).execute(SQL)
    cur.arraysize = 4097
    got = [cur.fetchone(), *cur.fetchmany(np.int64(4094)), *cur.fetchmany(), *cur.fetchmany(0)]
    got += [cur.fetchone(), *cur.fetchall()]
    assert [row[1] for row in got if row is not None] == list(values)


@pytest.mark.parametrize("size", [-1, 1.5, "3", True, np.bool_(True), np.array([1, 2])])
def test_fetchmany_wants_a_number_of_rows(cur: Cursor, size: object) -> None:
    cur.execute(SQL)
    with pytest.raises(dpsql.ProgrammingError):
        cur.fetchmany(size)


def test_description_has_seven_items_and_type_codes() -> None:
    table = pa.table({"s": ["a"], "d": [date(2020, 1, 1)], "x": pa.array(["1.5"]).cast(pa.decimal128(18, 3))})
    cur = Connection(FakeSession(default=Result(table, ("VARCHAR", "DATE", "DECIMAL(18,3)")))).cursor()
    assert cur.description is None
    cur.execute(SQL)
    assert cur.description == (
        ("s", "VARCHAR", None, None, None, None, None),
        ("d", "DATE", None, None, None, None, None),
        ("x", "DECIMAL(18,3)", None, None, 18, 3, None),
    )
    codes = [column[1] for column in cur.description]
    assert codes == [dpsql.STRING, dpsql.DATETIME, dpsql.NUMBER]
    assert codes[0] != dpsql.NUMBER and codes[1] != dpsql.ROWID


def test_repeated_column_names_keep_their_values() -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["n", "n"])
    cur = Connection(FakeSession(default=Result(table, ("BIGINT", "BIGINT")))).execute(SQL)
    assert cur.fetchall() == [(1, 2)]


def test_an_empty_result_is_not_no_result() -> None:
    cur = Connection(FakeSession(default=counts(values=()))).execute("SELECT g FROM t LIMIT 0")
    assert cur.fetchone() is None and cur.fetchall() == [] and cur.rowcount == 0
    assert cur.description is not None and len(cur.description) == 2


def test_a_failed_statement_leaves_no_older_result() -> None:
    wrong = dpsql.UnsupportedQuery("no", line=1, column=8, hint="write something else")
    cur = Connection(FakeSession({"bad": wrong})).execute(SQL)
    with pytest.raises(dpsql.UnsupportedQuery) as caught:
        cur.execute("bad")
    assert caught.value is wrong
    assert cur.description is None and cur.rowcount == -1 and cur.rownumber is None
    with pytest.raises(dpsql.InterfaceError):
        cur.fetchall()


def test_a_value_without_a_python_form_is_a_dpsql_error_every_time() -> None:
    far = pa.table({"d": pa.array([0, 200_000_000], pa.int32()).cast(pa.date32())})
    cur = Connection(FakeSession(default=Result(far, ("DATE",)))).execute(SQL)
    for _ in range(2):  # not an error once and an empty list after it
        with pytest.raises(dpsql.DataError) as caught:
            cur.fetchall()
        assert caught.value.__cause__ is None and caught.value.__context__ is None
        assert "to_arrow_table" in caught.value.hint
    assert cur.to_arrow_table() is far


def test_executemany_is_refused_before_anything_is_asked(cur: Cursor, session: FakeSession) -> None:
    with pytest.raises(dpsql.ProgrammingError) as caught:
        cur.executemany(SQL, [[1], [2]])
    assert "execute" in caught.value.hint
    assert session.executed == []


def test_answers_come_with_the_rows(cur: Cursor) -> None:
    cur.execute(SQL)
    assert [a.value for a in cur.answers] == [10, 20, 30]
    assert cur.answers[0].charged == 0.125 and cur.result.charged == 0.125


def test_explanation_is_of_the_executed_statement(cur: Cursor, session: FakeSession) -> None:
    with pytest.raises(dpsql.InterfaceError):
        _ = cur.explanation
    cur.execute(SQL, [30])
    assert cur.explanation == EXPLANATION
    assert session.explained == [(SQL, [30])]


@pytest.mark.parametrize(
    "use",
    [
        lambda c: c.execute(SQL),
        lambda c: c.executemany(SQL, []),
        lambda c: c.fetchone(),
        lambda c: c.fetchmany(),
        lambda c: c.fetchall(),
        lambda c: c.answers,
        lambda c: c.df(),
        lambda c: c.pl(),
        lambda c: c.to_arrow_table(),
        lambda c: c.__arrow_c_stream__(),
        lambda c: c.explanation,
        lambda c: c.setinputsizes([1]),
        lambda c: c.setoutputsize(1),
        lambda c: iter(c).__next__(),
        lambda c: c.__enter__(),
    ],
)
@pytest.mark.parametrize("what", ["cursor", "connection"])
def test_closed_is_closed(use: object, what: str) -> None:
    con = Connection(FakeSession())
    cur = con.execute(SQL)
    (cur if what == "cursor" else con).close()
    (cur if what == "cursor" else con).close()
    with pytest.raises(dpsql.InterfaceError) as caught:
        use(cur)
    assert caught.value.hint


@pytest.mark.parametrize("name", ["fetchone", "fetchmany", "fetchall", "df", "pl", "to_arrow_table"])
def test_nothing_to_fetch_before_execute(cur: Cursor, name: str) -> None:
    with pytest.raises(dpsql.InterfaceError):
        getattr(cur, name)()


def test_with_closes_the_cursor(session: FakeSession) -> None:
    con = Connection(session)
    with con.cursor() as cur:
        assert cur.connection is con
        cur.execute(SQL)
    with pytest.raises(dpsql.InterfaceError):
        cur.fetchone()
    assert not con.closed


def test_what_a_notebook_shows_names_the_next_step(session: FakeSession) -> None:
    con = Connection(session)
    assert repr(con) == "<dpsql.Connection: private tables 'people'; execute(sql) asks, budget shows what is left>"
    cur = con.cursor()
    assert repr(cur) == "<dpsql.Cursor: nothing executed>"
    assert repr(cur.execute(SQL)).startswith("<dpsql.Cursor: ") and "'n'; fetchall() and df()" in repr(cur)
    con.close()
    assert repr(con) == "<dpsql.Connection: closed>" and repr(cur)
