"""Every example of docs/sql.md: accepted statements answer as DuckDB does, refused ones say why and what instead."""

import re
import runpy
from datetime import UTC, datetime
from decimal import Decimal
from math import isclose
from pathlib import Path
from typing import Any

import pytest

from dpsql.errors import Error
from dpsql.sql import FrontEnd
from dpsql.sql.text.spellings import quoted_names
from tests.support.contingency import STRINGS, TABLE, Counted, random_rows
from tests.support.exact import CITIES, PETS, answer, front_end
from tests.support.golden import refusal_line, summary
from tests.support.words import Released

ROOT = Path(__file__).parents[2]
PAGE = runpy.run_path(str(ROOT / "docs" / "generate_sql.py"))
ACCEPTED = list(PAGE["cases"]("accepted.sql"))
REFUSED = list(PAGE["cases"]("refused.sql"))
MOMENT = datetime(2020, 5, 17, tzinfo=UTC)
KEYS = Released(
    {
        "name": (*STRINGS, None),
        "animal_name": ("Max", "Rea", "Rex", None),
        "animal_name[:1]": ("M", "R", None),
        "animal_name[:2]": ("Ma", "Re", None),
    }
)
"""Every string of the tables below has been released."""


@pytest.fixture(scope="module")
def front() -> FrontEnd:
    return front_end()


@pytest.fixture(scope="module")
def tables() -> dict[str, Counted]:
    """Enough rows that no declared group of the fixtures is empty."""
    people = Counted(TABLE, random_rows(20, 3000))
    pets = [("Dog", "Rex"), ("Cat", "Rex"), ("Dog", "Max"), ("Cat", "Rea"), ("Dog", None)]
    people.connection.register("incoming", CITIES)
    people.connection.execute("CREATE TABLE cities AS FROM incoming")
    people.connection.execute("CREATE TABLE pets (species VARCHAR, animal_name VARCHAR)")
    people.connection.executemany("INSERT INTO pets VALUES (?, ?)", pets)
    return {"people": people, "pets": Counted(PETS, pets)}


def comparable(rows: list[tuple[Any, ...]], *, ordered: bool) -> list[tuple[Any, ...]]:
    """The rows with every number as a float, in an order that its last digits do not change."""

    def plain(value: Any) -> Any:
        number = isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)
        return float(value) if number else value

    def key(row: tuple[Any, ...]) -> str:
        return repr(tuple(round(v, 3) if isinstance(v, float) else v for v in row))

    out = [tuple(plain(v) for v in row) for row in rows]
    return out if ordered else sorted(out, key=key)


def close(one: Any, other: Any) -> bool:
    """Sums of fractions are computed in steps, so their last digits may differ."""
    if isinstance(one, float) and isinstance(other, float):
        return isclose(one, other, rel_tol=1e-6, abs_tol=1e-6)
    return bool(one == other)


@pytest.mark.parametrize("case", ACCEPTED, ids=lambda c: c.sql)
def test_accepted_statements_equal_duckdb(front: FrontEnd, tables: dict[str, Counted], case: Any) -> None:
    statement = front.lower(case.sql, keys=KEYS, moment=MOMENT)
    assert statement.awaited == ()
    assert summary(statement) == case.expected
    names, rows = answer(statement, tables)
    relation = tables["people"].connection.execute(re.sub(r"(?i)DP_INTERVAL_\w+", "", quoted_names(case.sql)))
    assert names == [d[0] for d in relation.description]
    ordered = re.search(r"ORDER BY [^()]*$", case.sql) is not None
    ours, theirs = comparable(rows, ordered=ordered), comparable(relation.fetchall(), ordered=ordered)
    assert len(ours) == len(theirs)
    assert all(close(a, b) for one, other in zip(ours, theirs, strict=True) for a, b in zip(one, other, strict=True)), (
        ours,
        theirs,
    )


@pytest.mark.parametrize("case", REFUSED, ids=lambda c: c.sql)
def test_refused_statements_say_why(front: FrontEnd, case: Any) -> None:
    with pytest.raises(Error) as caught:
        front.lower(case.sql, keys=KEYS, moment=MOMENT)
    assert refusal_line(caught.value) == case.expected
    assert caught.value.hint
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_the_page_is_up_to_date() -> None:
    assert (ROOT / "docs" / "sql.md").read_text(encoding="utf-8") == PAGE["page"]()


def test_a_statement_of_the_page_stands_once() -> None:
    statements = [c.sql for c in (*ACCEPTED, *REFUSED)]
    assert len(statements) == len(set(statements))
    assert len(ACCEPTED) > 70
    assert len(REFUSED) > 100
