"""Sums of what cells count, beside the counts of the same rows that their own statement asks for."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import dpsql
import dpsql.mechanism
import dpsql.session.given
from dpsql.hypothesis.rules import MODEL_RULES, NEWEST
from dpsql.query import Factor, LinearQuery
from dpsql.session.own.by_value.counted import NO_COUNTS, counts_among
from tests.support.entropy import SeededEntropy
from tests.support.lessons import learned_briefly

G, H = Factor(("g",), np.array([0, 1, 0])), Factor(("g",), np.array([1, 0, 0]))
STARS = Factor(("stars",), np.array([3, 4, 5, 0]), unit=5)  # NULL is the last cell
RATED = Factor(("stars",), np.array([1, 1, 1, 0]))
SUM = LinearQuery("t", (G, STARS))


@pytest.mark.parametrize(
    ("count", "same"),
    [
        (LinearQuery("t", (G, RATED)), True),
        (LinearQuery("t", (G,)), True),  # NULL adds nothing
        (LinearQuery("t", (H, RATED)), False),
        (LinearQuery("t", (G, Factor(("stars",), np.array([1, 1, 0, 0])))), False),
        (LinearQuery("t", (G, H, RATED)), False),
        (SUM, False),
    ],
)
def test_a_sum_finds_the_count_of_its_rows_among_the_queries(count: LinearQuery, same: bool) -> None:
    other = LinearQuery("t", (H, STARS))
    asked = [SUM, other, LinearQuery("t", (Factor(("x",), np.array([1, 0])),)), count]
    found = counts_among(asked, NO_COUNTS, NEWEST)
    assert found.get(SUM.digest) == (count if same else None)
    assert counts_among(asked, NO_COUNTS, MODEL_RULES[25]) == NO_COUNTS


def test_what_an_average_says_is_its_count_stays_and_products_have_none() -> None:
    counted, product = LinearQuery("t", (G, RATED)), LinearQuery("t", (STARS, Factor(("x",), np.array([2, 3]), unit=3)))
    asked = [LinearQuery("t", (G,)), SUM, product, counted, LinearQuery("t", ())]
    assert counts_among(asked, {SUM.digest: counted}, NEWEST) == {SUM.digest: counted}
    by_value = LinearQuery("t", (G,), None, "x")
    found = {by_value.digest: asked[0], SUM.digest: counted}
    for order in ([by_value, *asked], [*reversed(asked), by_value]):  # that which leaves out NULL, wherever it stands
        assert counts_among(order, NO_COUNTS, NEWEST) == found


def reviews(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A table of 7,000 rows, and the words of its policy."""
    monkeypatch.setenv("DPSQL_STATE_HOME", str(folder / "state"))
    learned_briefly(monkeypatch)
    monkeypatch.setattr(dpsql.mechanism, "SystemEntropy", lambda: SeededEntropy(5))
    with duckdb.connect(str(folder / "reviews.duckdb")) as con:
        con.execute(
            "CREATE TABLE reviews AS SELECT 3 + i % 5 AS stars, i % 4 AS shop, i % 7 AS day, i * 11 % 24 AS hour "
            "FROM range(7000) t(i)"
        )
    return (
        "version = 1\n[privacy]\nepsilon = 4\ndelta = 1e-6\n[tables.reviews.columns]\n"
        'stars = { type = "integer", min = 3, max = 7, nullable = false }\n'
        'shop = { type = "integer", min = 0, max = 3, nullable = false }\n'
        'day = { type = "integer", min = 0, max = 6, nullable = false }\n'
        'hour = { type = "integer", min = 0, max = 23, nullable = false }\n'
    )


@pytest.mark.parametrize(
    "text", ["SELECT SUM(stars), COUNT(*) FROM reviews", "SELECT COUNT(stars), SUM(stars) FROM reviews"]
)
def test_a_sum_of_whole_numbers_is_of_as_many_rows_as_its_statement_counts(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a release has counted twice the rows, SUM / COUNT was below the least of the numbers."""
    policy = reviews(tmp_path, monkeypatch)
    given, where = dpsql.session.given.Given.of, " WHERE shop <> 2 AND day < 3"
    with dpsql.connect(tmp_path / "reviews.duckdb", policy=dpsql.load_policy(policy), ledger=":memory:") as con:
        con.execute("SELECT COUNT(*) FROM reviews" + where)

        def twice(known: Any, queries: Any) -> Any:
            return {name: replace(a, value=2 * a.value) for name, a in given(known, queries).items()}

        monkeypatch.setattr(dpsql.session.given.Given, "of", twice)
        cursor = con.execute(text + where)
        ((left, right),) = cursor.fetchall()
    total, rows = max(left, right), min(left, right)
    assert rows == pytest.approx(2 * 2250, rel=0.1) and isinstance(total, int)
    assert total / rows == pytest.approx(5.0, rel=0.05)


@pytest.mark.parametrize("limit", [{}, {"max_charge": 0.0}])
def test_a_sum_is_within_the_range_of_what_is_counted_in_the_same_cells(
    limit: dict[str, float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A condition on what is added up makes one release, or one answer of the model, of both: (1, 0) and (205, 1636)
    were sums of numbers from 6 on."""
    policy = reviews(tmp_path, monkeypatch).replace("epsilon = 4", "epsilon = 1\nplanned_queries = 200000")
    asked = "SELECT SUM(stars), COUNT(*) FROM reviews WHERE stars >= 6 GROUP BY shop, day, hour"
    with dpsql.connect(tmp_path / "reviews.duckdb", policy=dpsql.load_policy(policy), ledger=":memory:") as con:
        con.execute("SELECT COUNT(*) FROM reviews WHERE stars > 3 AND shop = 1 AND day = 1")
        cursor = con.execute(asked, **limit)
        rows, sources = cursor.fetchall(), {a.source for a in cursor.answers}
    assert len(rows) == 672 and sources == {"hypothesis"}
    assert all(6 * count - 0.5 <= total <= 7 * count + 0.5 for total, count in rows)
