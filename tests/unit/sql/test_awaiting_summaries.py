"""Aggregates of binned columns beside strings that are not released yet: they are asked in cells, as afterwards."""

from datetime import date
from fractions import Fraction

import pytest

from dpsql.domain import DateDomain, NumberDomain, TableDomain, TextDomain
from dpsql.errors import UnsupportedQuery
from dpsql.policy import Policy, Privacy
from dpsql.sql import FrontEnd
from tests.support.exact import public_sql

COLUMNS = (
    NumberDomain("x", (0.0, 10.0, 20.0, 40.0)),
    DateDomain("day", date(2024, 1, 1), date(2024, 12, 31), "month"),
    TextDomain("word"),
)
POLICY = Policy(Privacy(Fraction(1), Fraction(1, 10**6)), (TableDomain("w", COLUMNS),))


class Words:
    """The strings of ``word``, or that they are not released."""

    def __init__(self, *released: str) -> None:
        self._released = released or None

    def keys(self, table: str, text_column: str) -> tuple[str, ...] | None:
        return self._released

    def shown_from(self, table: str, text_column: str) -> None:
        return None


@pytest.mark.parametrize(
    "text",
    [
        "SELECT MIN(day), mode(word) FROM w",
        "SELECT median(x), COUNT(*) FILTER (WHERE word LIKE 'a%') FROM w",
        "SELECT word, quantile_cont(x, 0.9), COUNT(*) FROM w GROUP BY word",
        "SELECT word, mode(day) FROM w GROUP BY word",
    ],
)
def test_they_are_read_before_and_after_the_strings_are_released(text: str) -> None:
    """They were refused before: "x has more values than can be groups"."""
    front = FrontEnd(POLICY, public_sql())
    first, then = (front.lower(text, keys=words) for words in (Words(), Words("a", "b")))
    (awaiting,) = [block.awaiting for block in first.blocks]
    assert awaiting is not None
    assert [block.awaiting for block in then.blocks] == [None]
    known, asked = ({q.outline for q in statement.queries} for statement in (first, then))
    assert awaiting.outlines >= len(asked - known) > 0


def test_what_is_counted_one_by_one_is_refused_before_and_after() -> None:
    front = FrontEnd(POLICY, public_sql())
    for words in (Words(), Words("a")):
        with pytest.raises(UnsupportedQuery, match="x has more values than can be counted one by one"):
            front.lower("SELECT COUNT(DISTINCT x), mode(word) FROM w", keys=words)
