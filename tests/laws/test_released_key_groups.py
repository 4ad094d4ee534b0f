"""GROUP BY a text column lists the released keys, with DuckDB's own counts; without keys it says what it waits for."""

from dataclasses import replace
from math import isclose
from typing import Any

import pytest

from dpsql.domain import TextDomain
from dpsql.errors import Error, UnsupportedQuery
from dpsql.sql import FrontEnd
from tests.support.contingency import Counted
from tests.support.exact import answer
from tests.support.words import POLICY, STRINGS, WORDS, Released, front_end, random_rows

KEYS: dict[str, tuple[str | None, ...] | None] = {
    "word": ("other", "a", "ab", "é", "abc", "never", "🦆ab"),
    "word[:1]": ("a", "o", "🦆", None),
    "word[:2]": ("ab", "a", "b", "O'", "e\u0301"),
    "tag[:2]": ("ab", "bc", None),
    "tag": None,
    "note": ("x", None),
}
STRINGS_OF_WORD: tuple[str | None, ...] = ("a", "ab", "abc", "abx", "b", "other", "A", "é", None)


@pytest.fixture(scope="module")
def front() -> FrontEnd:
    return front_end()


@pytest.fixture(scope="module")
def counted() -> Counted:
    return Counted(WORDS, random_rows(40, 600))


GROUPED = (
    ("word", "SELECT word, COUNT(*) FROM words GROUP BY word"),
    ("word", "SELECT word, COUNT(*) FROM words WHERE n = 2 GROUP BY word ORDER BY 2 DESC, 1 LIMIT 3"),
    ("word", "SELECT word AS w, COUNT(*), SUM(n), AVG(n) FROM words WHERE word <> 'ab' OR old GROUP BY w"),
    ("word", "SELECT word, COUNT(*) FROM words WHERE length(word) > 1 AND upper(word) <> 'AB' GROUP BY word"),
    ("word", "SELECT word, COUNT(*) FROM words WHERE word LIKE 'a%' AND tag = 'ab' GROUP BY word"),
    ("word", "SELECT word, old, COUNT(*) FROM words GROUP BY word, old"),
    ("word", "SELECT word, upper(word), COUNT(*) FILTER (WHERE word LIKE '%b%') FROM words GROUP BY word, 2"),
    ("word", "SELECT word, left(word, 2), COUNT(*) FROM words GROUP BY ALL"),
    ("word", "SELECT word, COUNT(*) FILTER (WHERE word = 'zzz' OR word = 'a') FROM words GROUP BY word"),
    ("word", "SELECT DISTINCT word FROM words"),
    ("word", "SELECT w, COUNT(*) FROM (SELECT word AS w, n FROM words WHERE old) GROUP BY w"),
    ("word[:1]", "SELECT left(word, 1), COUNT(*) FROM words GROUP BY 1"),
    ("word[:1]", "SELECT substr(word, 1, 1) AS p, COUNT(*) FROM words WHERE word LIKE 'ab%' OR n = 1 GROUP BY p"),
    ("word[:2]", "SELECT left(word, 2), COUNT(*) FROM words WHERE n > 1 GROUP BY left(word, 2)"),
    ("word[:2]", "SELECT left(word, 2), COUNT(*) FROM words WHERE word NOT IN ('abx', 'b') GROUP BY ALL"),
    ("word[:2]", "SELECT left(word, 2), left(word, 1), COUNT(*) FROM words GROUP BY ALL"),
    ("word note", "SELECT word, note, COUNT(*) FROM words GROUP BY word, note"),
    ("word[:1] tag[:2]", "SELECT left(word, 1), left(tag, 2), COUNT(*) FROM words GROUP BY ALL"),
    ("", "SELECT word, COUNT(*) FROM words WHERE word IN ('abc', 'b') GROUP BY word"),
    ("", "SELECT word, COUNT(*) FROM words WHERE word IS NULL OR word = 'a' GROUP BY word"),
    ("", "SELECT left(word, 3), COUNT(*) FROM words WHERE word IN ('abc', 'abcd', 'b') GROUP BY 1"),
    ("", "SELECT left(word, 2), COUNT(*) FROM words WHERE word LIKE 'ab%' OR word LIKE 'bc%' GROUP BY 1"),
    ("", "SELECT left(word, 2), COUNT(*) FROM words WHERE word LIKE 'a%' AND left(word, 2) = 'ab' GROUP BY 1"),
    ("", "SELECT left(word, 1), COUNT(*) FROM words WHERE word LIKE 'ab%' OR word LIKE 'bcd%' GROUP BY 1"),
)  # the last but one lists 'bcd', whose length is not declared: see the refusals below


@pytest.mark.parametrize(("asked", "sql"), GROUPED[:-1])
def test_groups_are_the_released_keys(front: FrontEnd, counted: Counted, asked: str, sql: str) -> None:
    released = Released(KEYS)
    statement = front.lower(sql, keys=released)
    assert {c for _, c in released.asked} == set(asked.split()) and statement.awaited == ()
    assert set(released.asked) <= {("words", c) for c in KEYS}
    names, ours = answer(statement, {"words": counted})
    limited = "LIMIT" in sql
    relation = counted.connection.execute(sql.replace(" LIMIT 3", ""))
    assert names == [d[0] for d in relation.description]
    theirs = relation.fetchall()
    groups = len(theirs[0]) - sum(n.split("(")[0] in ("count", "sum", "avg", "count_star") for n in names)
    by_key = {row[:groups]: row[groups:] for row in theirs}
    wanted = [KEYS[c] or () for c in asked.split()]
    for row in ours:
        values = by_key.get(row[:groups])
        if values is None:
            assert not any(row[groups:])
        else:
            assert all(
                a == b or (b is None and a == 0) or isclose(a, b) for a, b in zip(row[groups:], values, strict=True)
            )
        if wanted and groups == len(wanted):
            assert all(value in keys for value, keys in zip(row, wanted, strict=False))
    shown = {row[:groups] for row in ours}
    assert len(shown) == len(ours) > 0
    for key in by_key:
        allowed = all(v in keys for v, keys in zip(key, wanted, strict=False))
        assert limited or (key in shown) == allowed, key


def test_a_statement_waits_for_keys_that_are_not_released(front: FrontEnd) -> None:
    statement = front.lower("SELECT tag, COUNT(*) FROM words GROUP BY tag", keys=Released({}))
    assert statement.awaited == (("words", "tag"),)
    (block,) = statement.blocks
    assert block.groups == () and block.aggregates[0].numerator == ()
    several = front.lower("SELECT left(tag, 2), word, COUNT(*) FROM words GROUP BY ALL", keys=Released({}))
    assert set(several.awaited) == {("words", "word"), ("words", "tag[:2]")}
    sql = "WITH a AS (SELECT tag, COUNT(*) AS n FROM words GROUP BY tag) SELECT tag, n / 2 FROM a WHERE n > 3"
    assert front.lower(sql, keys=Released({})).awaited == (("words", "tag"),)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT tag, COUNT(*) FROM words WHERE nothing = 1 GROUP BY tag",
        "SELECT tag, COUNT(*), missing FROM words GROUP BY tag",
        "SELECT tag, LIST(n) FROM words GROUP BY tag",
        "SELECT tag, COUNT(*) AS c FROM words GROUP BY tag ORDER BY c + DATE '2020-01-01' + 'x'",
    ],
)
def test_other_errors_come_before_keys_are_awaited(front: FrontEnd, sql: str) -> None:
    for keys in (Released({}), Released({"word[:1]": ("a",), "tag": ("x",)})):
        with pytest.raises(Error) as caught:
            front.lower(sql, keys=keys)
        assert caught.value.hint


@pytest.mark.parametrize(
    ("sql", "place"),
    [
        ("SELECT word, COUNT(*) FROM words GROUP BY word", (1, 8)),
        ("SELECT 'word', COUNT(*) -- word\nFROM words WHERE n = 1\n  AND word LIKE '%b%'", (3, 7)),
        ('SELECT COUNT(*) FROM words AS w WHERE length(w."word") > 1', (1, 49)),
        ("SELECT left(word, 3), COUNT(*) FROM words GROUP BY 1", (1, 13)),
        ("SELECT left(word, 1), word, COUNT(*) FROM words GROUP BY ALL", (1, 13)),
    ],
)
def test_strings_that_can_never_be_shown_are_refused_without_being_looked_up(sql: str, place: tuple[int, int]) -> None:
    columns = [TextDomain("word", (1, 2), max_rows_per_value=7) if c.name == "word" else c for c in WORDS.columns]
    front = front_end(replace(POLICY, tables=(replace(WORDS, columns=tuple(columns)),)))
    keys = Released({"word": STRINGS, "word[:1]": ("a",)}, never={"word": 51})
    with pytest.raises(UnsupportedQuery, match=r"about 51 rows.* more than 7") as caught:
        front.lower(sql, keys=keys)
    assert (caught.value.line, caught.value.column) == place
    assert "GROUP BY left(word, 1)" in caught.value.hint and ("words", "word") not in keys.asked
    for listed in ("word IN ('a', 'b')", "word LIKE 'ab%'", "NOT (word = 'a')"):
        assert front.lower(f"SELECT COUNT(*) FROM words WHERE {listed}", keys=keys).queries
    assert front.lower("SELECT left(word, 1), COUNT(*) FROM words GROUP BY 1", keys=keys).blocks[0].groups == (("a",),)


OF_STRINGS = (
    ("word LIKE '%b%'", "COUNT(*)", ""),
    ("NOT (word LIKE '%b%')", "COUNT(*), SUM(n)", "old"),
    ("word ~ '^[a-c]' OR n > 2", "COUNT(*)", "n"),
    ("length(word) > 1 AND word LIKE 'a%'", "COUNT(*)", ""),
    ("word LIKE 'ab%' AND upper(word) <> 'ABC'", "COUNT(*)", "left(word, 1)"),
    ("old", "COUNT(*) FILTER (WHERE word LIKE '_b%'), AVG(length(word))", "n"),
    ("n > 1", "COUNT(*)", "upper(word)"),
    ("n > 1", "COUNT(*), SUM(length(word))", "CASE WHEN word LIKE '%a%' THEN 'with' ELSE 'without' END"),
    ("word > 'a' OR word IS NULL", "COUNT(*)", "length(word), old"),
)


@pytest.mark.parametrize(("condition", "aggregates", "group"), OF_STRINGS)
def test_what_depends_on_strings_counts_rows_with_released_ones(
    front: FrontEnd, counted: Counted, condition: str, aggregates: str, group: str
) -> None:
    """As DuckDB counts the rows whose string was released or is NULL."""
    first, last = (f"{group}, ", f" GROUP BY {group} ORDER BY ALL") if group else ("", "")
    keys = Released({**KEYS, "word": STRINGS_OF_WORD, "word[:1]": ("a", "A", "b", "o", None)})
    statement = front.lower(f"SELECT {first}{aggregates} FROM words WHERE {condition}{last}", keys=keys)
    assert statement.blocks[0].matched == ("word",)
    listed = ", ".join("'" + s.replace("'", "''") + "'" for s in STRINGS_OF_WORD if s is not None)
    text = f"WHERE ({condition}) AND (word IN ({listed}) OR word IS NULL)"
    theirs = counted.connection.execute(f"SELECT {first}{aggregates} FROM words {text}{last}").fetchall()
    found, groups = answer(statement, {"words": counted})[1], len(statement.blocks[0].group_columns)
    ours = [row for row in found if not groups or any(row[groups:])]
    assert [tuple(map(str, r)) for r in ours] == [tuple(map(str, r)) for r in theirs]


def test_a_condition_waits_for_strings_that_are_not_released(front: FrontEnd) -> None:
    for text in ("COUNT(*) FROM words WHERE tag LIKE '%b'", "upper(tag), COUNT(*) FROM words GROUP BY 1"):
        statement = front.lower(f"SELECT {text}", keys=Released({}))
        assert statement.awaited == (("words", "tag"),)
        assert statement.blocks[0].matched == ("tag",)
    with pytest.raises(UnsupportedQuery, match="every possible string"):
        front.lower("SELECT COUNT(*) FROM words WHERE tag LIKE '%b'")


def test_without_a_source_such_groups_are_refused(front: FrontEnd) -> None:
    for group in ("word", "left(word, 2)"):
        sql = f"SELECT {group}, COUNT(*) FROM words GROUP BY 1"
        for keys in (Released(KEYS), Released({})):  # whatever the cache holds
            front.lower(sql, keys=keys)
            with pytest.raises(UnsupportedQuery, match="every possible string"):
                front.lower(sql)


def test_the_cache_knows_the_keys(front: FrontEnd) -> None:
    sql = "SELECT word, COUNT(*) FROM words GROUP BY word"

    def groups(*keys: str | None) -> Any:
        return front.lower(sql, keys=Released({"word": keys})).blocks[0].groups

    assert groups("a") == (("a",),)
    assert groups("b", "a") == (("a",), ("b",))
    assert groups("b", None) == (("b",), (None,))
    assert groups() == ()
    first = front.lower(sql, keys=Released({}))
    assert first.awaited and front.lower(sql, keys=Released({})) is first
    same = Released({"word": ("a", "b")})
    assert front.lower(sql, keys=same) is front.lower(sql, keys=same)
    assert not front.lower(sql, keys=same).awaited


def test_thousands_of_keys(front: FrontEnd, monkeypatch: pytest.MonkeyPatch) -> None:
    many = tuple(f"{s}{i}" for i in range(5_000) for s in STRINGS[1:2])
    sql = "SELECT word, COUNT(*) FROM words WHERE n = 1 GROUP BY word ORDER BY 2 DESC LIMIT 10"
    (block,) = front.lower(sql, keys=Released({"word": many})).blocks
    assert len(block.groups) == len(block.aggregates[0].numerator) == 5_000
    monkeypatch.setattr("dpsql.sql.counting.groups.MAX_GROUPS", 10_000)
    too_many = tuple(f"{i}" for i in range(10_001))
    with pytest.raises(UnsupportedQuery, match="GROUP BY would make") as caught:
        front.lower(sql, keys=Released({"word": too_many}))
    assert caught.value.hint and caught.value.line == 1
    with pytest.raises(UnsupportedQuery, match="GROUP BY would make"):
        front.lower("SELECT word, n, COUNT(*) FROM words GROUP BY ALL", keys=Released({"word": many}))
