"""What a statement asks beyond the declared values, in words; the same by every way of reading it."""

from collections.abc import Sequence
from datetime import date, datetime
from fractions import Fraction
from time import process_time
from typing import Any

import pytest

from dpsql.domain import (
    BooleanDomain,
    CategoryDomain,
    DateDomain,
    IntegerDomain,
    NumberDomain,
    Parameters,
    TableDomain,
    TextDomain,
)
from dpsql.policy import Policy, Privacy
from dpsql.sql import FrontEnd
from dpsql.sql.undeclared_notes import notes_of
from tests.support.exact import public_sql

PEOPLE = TableDomain(
    "people",
    (
        IntegerDomain("age", 17, 90),
        CategoryDomain("gender", ("female", "male", "o'ther")),
        CategoryDomain("sure", ("yes", "no"), nullable=False),
        DateDomain("joined", date(2020, 1, 1), date(2020, 12, 31)),
        DateDomain("seen", datetime.fromisoformat("2020-01-01"), datetime.fromisoformat("2020-01-31 23:00"), "hour"),
        NumberDomain("hours", (0.0, 20.0, 99.5)),
        NumberDomain("weight", (0.0, 20.0, 99.0), outside="null"),
        BooleanDomain("member"),
        TextDomain("name"),
    ),
)
POLICY = Policy(Privacy(Fraction(1), Fraction(1, 10**6)), (PEOPLE,))


@pytest.fixture(scope="module")
def front() -> FrontEnd:
    """It has read the frame of a plain count already."""
    front = FrontEnd(POLICY, public_sql())
    for age in (20, 21, 22):
        front.lower(f"SELECT COUNT(*) FROM people WHERE age = {age}")
    return front


def said(front: FrontEnd, text: str, parameters: Parameters = None, table: TableDomain = PEOPLE) -> list[str]:
    """The notes on a statement; the same where it is read from the start and where parts of it were read before."""
    found = [
        [str(note) for note in notes_of(reader.lower(text, parameters).remarks)]
        for reader in (FrontEnd(Policy(POLICY.privacy, (table,)), public_sql()), front)
    ]
    assert found[0] == found[1]
    return found[0]


def where(front: FrontEnd, condition: str, parameters: Sequence[Any] | None = None) -> list[str]:
    return said(front, f"SELECT COUNT(*) FROM people WHERE {condition}", parameters)


MALE = "'Male' is not among the declared values of gender (did you mean 'male'?); rows with other values count as NULL"


@pytest.mark.parametrize(
    "condition",
    [
        "gender = 'Male'",
        "'Male' = gender",
        "gender <> 'Male'",
        "gender IN ('female', 'Male')",
        "gender NOT IN ('Male')",
        "NOT (gender = 'Male' OR member)",
        "(age > 20 AND gender = 'Male') OR member",
        "CASE WHEN gender = 'Male' THEN member END",
        "gender IS DISTINCT FROM 'Male'",
    ],
)
def test_a_string_that_is_not_declared(front: FrontEnd, condition: str) -> None:
    assert where(front, condition) == [MALE]


def test_what_surrounds_a_condition_is_remembered_with_it(front: FrontEnd) -> None:
    text = "SELECT COUNT(*) FILTER (WHERE gender = 'Male') AS a FROM people WHERE age = {}"
    for age in (20, 21, 22, 23):
        assert said(front, text.format(age)) == [MALE]


def test_parameters_are_literals_too(front: FrontEnd) -> None:
    assert where(front, "gender = ?", ["Male"]) == [MALE]
    assert where(front, "gender IN (?, ?) AND age >= ?", ["male", "Male", 18]) == [MALE]
    assert where(front, "gender = ?", ["male"]) == []


def test_everywhere_in_a_statement(front: FrontEnd) -> None:
    assert said(front, "SELECT COUNT(*) FILTER (WHERE gender = 'Male') AS a, COUNT(*) AS b FROM people") == [MALE]
    assert said(front, "SELECT COUNT(*) FROM (SELECT gender AS g FROM people WHERE member) WHERE g = 'Male'") == [MALE]
    assert said(front, "SELECT COUNT(*) FROM (SELECT * FROM people WHERE gender = 'Male')") == [MALE]
    assert MALE in said(front, "SELECT gender, COUNT(*) FROM people GROUP BY gender HAVING gender = 'Male'")
    assert said(front, "SELECT COUNT(*) AS n FROM people HAVING n > 200") == []
    assert said(front, "SELECT member, COUNT(*) AS age FROM people GROUP BY member HAVING age > 200") == []


@pytest.mark.parametrize(
    ("condition", "parameters", "note"),
    [
        ("joined >= '2020-03-01 12:00:00'", None, "joined is compared with '2020-03-01 12:00:00' as the start of"),
        (
            "TIMESTAMP '2020-03-01 00:00:01' > joined",
            None,
            "joined is compared with '2020-03-01 00:00:01' as the start of",
        ),
        (
            "joined < ?",
            [datetime.fromisoformat("2020-03-01 12:00")],
            "joined is compared with '2020-03-01 12:00:00' as the start of",
        ),
        (
            "joined IN ('2020-03-01', '2020-03-02 09:30')",
            None,
            "joined is compared with '2020-03-02 09:30' as the start",
        ),
        (
            "seen < '2020-01-05 09:30:00'",
            None,
            "seen is compared with '2020-01-05 09:30:00' as the start of each row's hour, the finest that is declared",
        ),
        ("joined BETWEEN '2020-03-01' AND '2020-03-31 23:59:59.999'", None, None),
        ("joined >= '2020-03-01 00:00:00.000' AND joined < ?", [datetime.fromisoformat("2020-04-01")], None),
        ("seen BETWEEN '2020-01-05 09:00:00' AND '2020-01-05 11:59:59'", None, None),
    ],
)
def test_moments_finer_than_what_a_row_holds(
    front: FrontEnd, condition: str, parameters: list[Any] | None, note: str | None
) -> None:
    found = where(front, condition, parameters)
    assert len(found) == (note is not None) and all(n.startswith(str(note)) for n in found)


@pytest.mark.parametrize(
    ("condition", "asked"),
    [
        ("age > 200", "age > 200 goes"),
        ("200 < age", "age > 200 goes"),
        ("age = -1", "age = -1 goes"),
        ("age > 90", "age > 90 goes"),
        ("age >= 91", "age >= 91 goes"),
        ("age < 17", "age < 17 goes"),
        ("age <= 16", "age <= 16 goes"),
        ("age < 92", "age < 92 goes"),
        ("age IN (16, 20, 91)", "age = 16 and age = 91 go"),
        ("age BETWEEN 0 AND 30", "age BETWEEN 0 AND 30 goes"),
        ("age BETWEEN 95 AND 99", "age BETWEEN 95 AND 99 goes"),
        ("age > 1e3", "age > 1e3 goes"),
    ],
)
def test_beyond_a_range(front: FrontEnd, condition: str, asked: str) -> None:
    expected = f"{asked} beyond the declared values of age, 17 to 90; rows with other values count as NULL"
    assert where(front, condition) == [expected]


@pytest.mark.parametrize(
    "condition",
    [
        "age >= 17",
        "age < 91",
        "age > 16",
        "age <= 90",
        "age BETWEEN 17 AND 90",
        "age IN (17, 90)",
        "hours > 99",
        "hours >= 99.5",
        "joined < DATE '2021-01-01'",
        "joined >= '2020-01-01'",
        "gender = 'o''ther'",
        "gender = NULL",
        "age + 1 = NULL",
        "name = 'anything'",
        "member = true",
        "NOT member = member",
        "age % 2 = 1",
        "age * 2 > 50 OR lower(gender) = 'male'",
        "age > hours",
        "year(joined) + month(joined) = 2023",
        "abs(hours - 20) > 10 AND floor(weight / 10) = 3",
        "if(age > 20, member, FALSE)",
        "CASE WHEN age > 20 THEN member ELSE FALSE END",
        "CASE WHEN age <> 20 THEN 5 // (age - 20) > 0 END",
    ],
)
def test_within_what_is_declared(front: FrontEnd, condition: str) -> None:
    assert where(front, condition) == []


def test_dates_and_numbers(front: FrontEnd) -> None:
    dates = "the declared values of joined, 2020-01-01 to 2020-12-31; rows with other values count as NULL"
    for literal in ("DATE '2021-02-01'", "'2021-02-01'"):
        assert where(front, f"joined >= {literal}") == [f"joined >= '2021-02-01' goes beyond {dates}"]
    assert where(front, "joined >= ?", [date(2021, 2, 1)]) == [f"joined >= '2021-02-01' goes beyond {dates}"]
    (note,) = where(front, "hours > 99.5")
    clipped = "rows with other values count as the nearer end"
    assert note == f"hours > 99.5 goes beyond the declared values of hours, 0.0 to 99.5; {clipped}"
    (note,) = where(front, "weight > 99")
    assert (
        note == "weight > 99 goes beyond the declared values of weight, 0 to 99; rows with other values count as NULL"
    )


@pytest.mark.parametrize(
    ("condition", "asked"),
    [
        ("age + 200 > 300", "no declared value of age, 17 to 90, fulfils age + 200 > 300"),
        ("300 < age + 200 OR member", "no declared value of age, 17 to 90, fulfils 300 < age + 200"),
        ("NOT (age + 0 > 500)", "no declared value of age, 17 to 90, fulfils age + 0 > 500"),
        ("age = 20.5", "no declared value of age, 17 to 90, fulfils age = 20.5"),
        ("age IN (20.5, 30.5)", "no declared value of age, 17 to 90, fulfils age IN (20.5, 30.5)"),
        ("-age BETWEEN 100 AND 200", "no declared value of age, 17 to 90, fulfils -age BETWEEN 100 AND 200"),
        ("age // 1 <> 7", "all declared values of age, 17 to 90, fulfil age // 1 <> 7"),
        ("age::VARCHAR = '200'", "no declared value of age, 17 to 90, fulfils CAST(age AS TEXT) = '200'"),
        ("lower(gender) = 'MALE'", "no declared value of gender fulfils lower(gender) = 'MALE'"),
        ("gender LIKE 'Male'", "no declared value of gender fulfils gender LIKE 'Male'"),
        ("starts_with(gender, 'M')", "no declared value of gender fulfils starts_with(gender, 'M')"),
        ("year(joined) = 2022", "no declared value of joined, 2020-01-01 to 2020-12-31, fulfils year(joined) = 2022"),
        (
            "year(joined) >= 2020",
            "all declared values of joined, 2020-01-01 to 2020-12-31, fulfil year(joined) >= 2020",
        ),
        (
            "weight * 100 = 1999",
            "no declared value of weight, 0 to 99, fulfils weight * 100 = 1999 (its values are doubles here, whatever "
            "the column's type, and arithmetic rounds them: use round)",
        ),
        ("isinf(weight)", "no declared value of weight, 0 to 99, fulfils isinf(weight)"),
        (
            "weight = 'inf' OR isnan(weight)",
            "no declared value of weight, 0 to 99, fulfils weight = 'inf' and isnan(weight)",
        ),
        ("isfinite(weight)", "all declared values of weight, 0 to 99, fulfil isfinite(weight)"),
    ],
)
def test_conditions_that_no_declared_value_fulfils_or_all_do(front: FrontEnd, condition: str, asked: str) -> None:
    assert where(front, condition) == [f"{asked}; rows with other values count as NULL"]


@pytest.mark.parametrize(
    ("condition", "asked"),
    [
        ("hours = 99.5", "hours = 99.5"),
        ("99.5 = hours", "hours = 99.5"),
        ("hours <> 0", "hours <> 0"),
        ("hours <= 99.5", "hours <= 99.5"),
        ("99.5 >= hours", "hours <= 99.5"),
        ("hours >= 0", "hours >= 0"),
        ("hours BETWEEN 0 AND 20", "hours BETWEEN 0 AND 20"),
        ("hours BETWEEN 20 AND 99.5", "hours BETWEEN 20 AND 99.5"),
        ("hours IN (1, 0)", "hours = 0"),
    ],
)
def test_an_end_to_which_rows_are_clipped(front: FrontEnd, condition: str, asked: str) -> None:
    """DuckDB's ``hours = 99.5`` takes no row with 120; here it takes all that are clipped to 99.5."""
    (note,) = where(front, condition)
    fate = "rows with other values count as the nearer end"
    assert note == f"{asked} asks about an end of what is declared of hours, 0.0 to 99.5; {fate}"


@pytest.mark.parametrize(
    "condition", ["hours >= 99.5", "hours < 99.5", "hours <= 0", "hours > 0", "hours BETWEEN 1 AND 99", "weight = 99"]
)
def test_an_end_that_is_asked_for_with_all_beyond_it(front: FrontEnd, condition: str) -> None:
    assert where(front, condition) == []


@pytest.mark.parametrize("condition", ["abs(hours) > 1500", "hours > 500 * 3", "hours + 0 > 1500", "-hours < -1500"])
def test_of_clipped_columns_too(front: FrontEnd, condition: str) -> None:
    asked = f"no declared value of hours, 0.0 to 99.5, fulfils {condition}"
    assert where(front, condition) == [f"{asked}; rows with other values count as the nearer end"]


def test_nan_is_not_clipped(front: FrontEnd) -> None:
    (note,) = where(front, "isnan(hours)")
    assert note.endswith("fulfils isnan(hours); rows with other values count as the nearer end, NaN as NULL")


def test_days_without_end(front: FrontEnd) -> None:
    (note,) = where(front, "joined = DATE 'infinity'")
    assert note.startswith("no declared value of joined, 2020-01-01 to 2020-12-31, fulfils joined = CAST('infinity'")


def test_what_no_declared_value_fulfils_everywhere(front: FrontEnd) -> None:
    note = "no declared value of age, 17 to 90, fulfils {}; rows with other values count as NULL"
    asked = note.format("age + 200 > 300")
    assert said(front, "SELECT COUNT(*) FILTER (WHERE age + 200 > 300) AS a, COUNT(*) AS b FROM people") == [asked]
    assert said(front, "SELECT SUM(CASE WHEN age + 200 > 300 THEN 1 ELSE 0 END) FROM people") == [asked]
    inner = "SELECT age + 200 AS later FROM people"
    assert said(front, f"SELECT COUNT(*) FROM ({inner}) WHERE later > 300") == [note.format("later > 300")]
    assert said(front, "SELECT COUNT(*) AS n FROM people HAVING n + 0 > 200") == []
    (long,) = where(front, f"age + 200 > {' + '.join(['300'] * 200)}")
    assert len(long) < 200
    (listed,) = where(front, f"age * 10 IN ({', '.join(map(str, range(1, 100, 2)))})")
    assert listed == note.format("age * 10 IN (...)")


NULL_OF = "NULL of {} stands for values that are not declared, too"


@pytest.mark.parametrize(
    ("condition", "columns"),
    [
        ("coalesce(age, -1) < 0", ["age"]),
        ("ifnull(age, 0) = 0", ["age"]),
        ("(age + 1) IS NULL", ["age"]),
        ("year(joined) IS NOT NULL AND age % 2 IS NULL", ["age", "joined"]),
        ("age IS DISTINCT FROM 20", ["age"]),
        ("age % 2 IS DISTINCT FROM 1", ["age"]),
        ("age IS NOT DISTINCT FROM NULL", ["age"]),
        ("(age > 20) IS NOT TRUE", ["age"]),
        ("CASE WHEN age > 20 THEN member ELSE TRUE END", ["age"]),
        ("if(age > 20, member, TRUE)", ["age"]),
        ("greatest(age, weight) > 30", ["age", "weight"]),
        ("concat(gender, '!') = '!'", ["gender"]),
        ("coalesce(hours, 0) = 0", []),
        ("coalesce(member, TRUE)", []),
        ("name IS NULL", []),
        ("coalesce(sure, 'no') = 'no'", []),
        ("age IS NOT DISTINCT FROM 20", []),
    ],
)
def test_null_that_is_tested_or_made_a_value(front: FrontEnd, condition: str, columns: list[str]) -> None:
    assert sorted(where(front, condition)) == [NULL_OF.format(c) for c in columns]


@pytest.mark.parametrize(
    ("aggregate", "columns"),
    [
        ("COUNT(age)", ["age"]),
        ("COUNT(age + 1)", ["age"]),
        ("COUNT(*) - COUNT(weight)", ["weight"]),
        ("COUNT(age + weight)", ["age", "weight"]),
        ("MAX(age), MIN(age)", ["age"]),
        ("COUNT(DISTINCT gender)", ["gender"]),
        ("AVG(CASE WHEN age > 20 THEN 1.0 ELSE 0 END)", ["age"]),
        ("COUNT(member), COUNT(hours), COUNT(sure), COUNT(name)", []),
        ("COUNT(CASE WHEN age > 20 THEN 1 END)", []),
        ("SUM(CASE WHEN age > 20 THEN 1 ELSE 0 END)", []),
    ],
)
def test_null_that_is_counted_or_not(front: FrontEnd, aggregate: str, columns: list[str]) -> None:
    assert said(front, f"SELECT {aggregate} FROM people") == [NULL_OF.format(c) for c in columns]


def test_null_in_groups_of_expressions(front: FrontEnd) -> None:
    def remarked(group: str) -> list[tuple[str, bool]]:
        statement = front.lower(f"SELECT {group} AS g, COUNT(*) FROM people GROUP BY g")
        return [(r.column.name, r.grouped) for r in statement.remarks]

    assert remarked("age % 2") == [("age", True)]
    assert remarked("year(joined)") == [("joined", True)]
    assert remarked("CASE WHEN weight > 3 THEN 'heavy' END") == [("weight", True)]
    assert ("weight", False) in remarked("CASE WHEN weight > 3 THEN 'heavy' ELSE 'light' END")
    assert remarked("member AND hours > 3") == []


def test_a_column_is_said_to_be_null_once(front: FrontEnd) -> None:
    (note,) = where(front, "age > 200 OR age IS NULL OR coalesce(age, 0) = 0")
    assert note == "age > 200 goes beyond the declared values of age, 17 to 90; rows with other values count as NULL"


def test_sums_of_what_is_clipped_say_so(front: FrontEnd) -> None:
    text = "hours is clipped to its declared range, 0.0 to 99.5: what lies outside counts as the nearer end"
    assert said(front, "SELECT AVG(hours), SUM(hours + 1) FILTER (WHERE member) FROM people") == [text]
    null = "NULL of weight stands for values that are not declared, too"
    assert said(front, "SELECT SUM(weight), COUNT(hours) FROM people WHERE hours > 20") == [null]


def test_one_note_for_a_column_and_no_long_ones(front: FrontEnd) -> None:
    (note,) = where(front, "gender IN ('MALE', 'a', 'b', 'c', 'd') OR gender = 'e'")
    assert note.startswith("'MALE', 'a', 'b' and 3 more are not among the declared values of gender (did you mean")
    (note,) = where(front, f"gender = '{'x' * 5000}'")
    assert len(note) < 200


def test_values_that_are_declared_in_another_order_are_compared_as_text() -> None:
    codes, sizes = tuple(map(str, range(1, 13))), ("small", "medium", "large")
    table = TableDomain(
        "t", (CategoryDomain("code", codes), CategoryDomain("size", sizes), CategoryDomain("s", ("a", "b")))
    )
    front = FrontEnd(Policy(POLICY.privacy, (table,)), public_sql())
    text = "values of {} are compared as text, byte by byte: '{}' is the least and '{}' the greatest"
    code, size = text.format("code", 1, 9), text.format("size", "large", "small")
    for condition in ("code > '5'", "'5' >= code", "code BETWEEN '1' AND '5'"):
        assert said(front, f"SELECT COUNT(*) FROM t WHERE {condition}", table=table) == [code]
    assert size in said(front, "SELECT MAX(size), MIN(size) FROM t", table=table)
    for condition in ("code = '5'", "code::INT > 5", "s > 'a'", "code IN ('1', '2')", "length(size) < 6"):
        assert said(front, f"SELECT COUNT(*) FROM t WHERE {condition}", table=table) == []
    assert said(front, "SELECT MAX(s), COUNT(*) FROM t WHERE code = '3'", table=table) == [NULL_OF.format("s")]


def test_rows_that_are_left_out_are_not_called_null(front: FrontEnd) -> None:
    (note,) = where(front, "sure = 'maybe'")
    assert note == "'maybe' is not among the declared values of sure; rows with other values are not counted"


def test_null_stands_for_undeclared_values_too(front: FrontEnd) -> None:
    text = "NULL of gender stands for values that are not declared, too"
    assert where(front, "gender IS NULL") == [text]
    assert where(front, "gender IS NOT NULL AND age > 20") == [text]
    assert where(front, "sure IS NULL") == where(front, "member IS NULL") == where(front, "name IS NULL") == []
    statement = front.lower("SELECT gender, COUNT(*) FROM people GROUP BY gender")
    assert [(r.column.name, r.asked, r.grouped) for r in statement.remarks] == [("gender", (), True)]


def test_similar_values_are_not_sought_at_any_price() -> None:
    """Quadratic in the literal's length, linear in the number of values: a statement is free to write."""
    values = tuple(f"{i:06d}{'ab' * 16}" for i in range(50_000))
    table = TableDomain("t", (CategoryDomain("c", values), CategoryDomain("d", values[:900])))
    front = FrontEnd(Policy(POLICY.privacy, (table,)), public_sql())
    literals = [f"{i}{'ba' * 15}" for i in range(3000)]
    start = process_time()
    statement = front.lower("SELECT COUNT(*) FROM t WHERE c IN ? AND d IN ?", [literals, literals])
    assert len(notes_of(statement.remarks)) == 2
    assert process_time() - start < 3
