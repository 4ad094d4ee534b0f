"""Bars of computed numbers hold what they promise when those of the released numbers do, and not by being endless.

Released numbers are simulated around known truths with errors of known dependence: independent, all equal, or parts of
a whole that is known. Coverage is then counted over many releases. Bars that are too narrow must fail.
"""

from collections.abc import Callable
from math import sqrt

import numpy as np
import numpy.typing as npt
import pytest

from dpsql.result import Answer, Source
from dpsql.session.results import result
from dpsql.session.results.unasked import Unasked
from dpsql.sql import FrontEnd
from tests.support.contingency import TABLE, Counted, random_rows
from tests.support.exact import front_end, public_sql

Noise = npt.NDArray[np.float64]
RELEASES = 30
SD = 10.0
SCALE = 100
"""The simulated table has so many copies of each of 300 rows."""
G = "(SELECT age, COUNT(*) AS n, COUNT(*) FILTER (WHERE sex = 'Male') AS m FROM people GROUP BY age)"
MEN, WOMEN = (f"COUNT(*) FILTER (WHERE sex = '{sex}')" for sex in ("Male", "Female"))
BY_SEX = "(SELECT sex, COUNT(*) AS n FROM people WHERE sex IS NOT NULL GROUP BY sex)"


def independent(rng: np.random.Generator, size: int) -> Noise:
    return rng.standard_normal(size)


def equal(rng: np.random.Generator, size: int) -> Noise:
    return np.full(size, rng.standard_normal())


def parts_of_a_known_whole(rng: np.random.Generator, size: int) -> Noise:
    noise = rng.standard_normal(size)
    out: Noise = (noise - noise.mean()) / sqrt(1 - 1 / size)
    return out


@pytest.fixture(scope="module")
def front() -> FrontEnd:
    return front_end()


@pytest.fixture(scope="module")
def tables() -> dict[str, Counted]:
    return {"people": Counted(TABLE, random_rows(5, 300))}


def released(truths: dict[str, float], noise: Noise, shown: float, source: Source = "measurement") -> dict[str, Answer]:
    """Answers off by SD times ``noise``; their bars are ``shown`` times what they should be."""
    error = shown * 1.96 * SD
    out = {}
    for (digest, truth), z in zip(truths.items(), noise, strict=True):
        value = round(truth + SD * z)
        out[digest] = Answer(value, error, (value - error, value + error), "exact", source, True, error)
    return out


def ratios(
    front: FrontEnd,
    tables: dict[str, Counted],
    text: str,
    dependence: Callable[..., Noise],
    shown: float = 1.0,
    whole: float | None = None,
    source: Source = "measurement",
) -> Noise:
    """Distances from the truth in bars, over all rows and releases; ``whole``: the error of what groups make up."""
    statement = front.lower(text)
    truths = {q.digest: float(tables["people"].value(q)) * SCALE for q in statement.queries}
    rng, sql = np.random.default_rng(len(text)), public_sql()
    exact = result(statement, released(truths, np.zeros(len(truths)), 0.0), sql)
    truth = exact.table.columns[-1].to_pylist()
    out = []
    for _ in range(RELEASES):
        noise = dependence(rng, len(truths))
        found = result(statement, released(truths, noise, shown, source), sql, unasked=Unasked(lambda query: whole))
        answers = found.column_answers[len(found.names) - 1]
        for a, true in zip(answers, truth, strict=True):
            if true is None:
                continue
            assert a.value is not None
            assert a.error is not None
            out.append(abs(a.value - float(true)) / a.error)
    return np.array(out)


CASES = [
    (f"SELECT age, 100.0 * m / n AS p FROM {G}", (independent, equal)),
    (f"SELECT age, n - 2 * m AS d FROM {G}", (independent, equal, parts_of_a_known_whole)),
    (f"SELECT age, 100.0 * n / SUM(n) OVER () AS p FROM {G}", (independent, parts_of_a_known_whole)),
    (f"SELECT SUM(n * age) AS s FROM {G}", (independent, parts_of_a_known_whole)),
    (f"SELECT age, n - LAG(n) OVER (ORDER BY age) AS d FROM {G}", (independent, parts_of_a_known_whole)),
    (f"SELECT sex, n - LAG(n) OVER (ORDER BY sex) AS d FROM {BY_SEX}", (independent, parts_of_a_known_whole)),
    (f"SELECT SUM(n) AS s FROM {BY_SEX}", (independent, equal)),
    (f"SELECT {MEN} - {WOMEN} AS d FROM people", (independent, parts_of_a_known_whole)),
    (f"SELECT {MEN} * 1.0 / {WOMEN} AS d FROM people", (independent, parts_of_a_known_whole)),
]


@pytest.mark.parametrize(("text", "dependence"), [(t, d) for t, dependences in CASES for d in dependences])
def test_bars_hold(front: FrontEnd, tables: dict[str, Counted], text: str, dependence: Callable[..., Noise]) -> None:
    off = ratios(front, tables, text, dependence)
    assert (off <= 1).mean() >= 0.95 - 2 * sqrt(0.95 * 0.05 / RELEASES)  # rows of one release may all be off
    assert np.median(off) >= 0.1  # a Gaussian's own bar is 2.9 medians


@pytest.mark.parametrize("made", ["{} % 7", "CASE WHEN {} % 2 = 0 THEN 1 ELSE 0 END", "sin({})"])
def test_bars_hold_where_arithmetic_turns_between_the_ends(
    front: FrontEnd, tables: dict[str, Counted], made: str
) -> None:
    """At both ends it may be what it is at the value: the bar was 0 then, beside a wrong number."""
    off = ratios(front, tables, f"SELECT {made.format(MEN)} AS d FROM people", independent)
    assert (off <= 1).mean() >= 0.95 - 2 * sqrt(0.95 * 0.05 / RELEASES)


@pytest.mark.parametrize("text", [CASES[0][0], CASES[2][0], CASES[3][0]])
def test_narrow_bars_are_found_out(front: FrontEnd, tables: dict[str, Counted], text: str) -> None:
    assert (ratios(front, tables, text, independent, 0.4) <= 1).mean() < 0.9


RUNNING = (
    "SELECT age, SUM(n) OVER (ORDER BY age) AS s FROM "
    "(SELECT age, COUNT(*) AS n FROM people WHERE age > 17 GROUP BY age)"
)


@pytest.mark.parametrize(
    ("dependence", "whole"), [(parts_of_a_known_whole, 3.0), (independent, 1.96 * SD * sqrt(8)), (independent, None)]
)
def test_bars_of_sums_follow_what_is_known_of_the_whole(
    front: FrontEnd, tables: dict[str, Counted], dependence: Callable[..., Noise], whole: float | None
) -> None:
    off = ratios(front, tables, RUNNING, dependence, whole=whole)
    assert (off <= 1).mean() >= 0.95 - 2 * sqrt(0.95 * 0.05 / RELEASES)


@pytest.mark.parametrize("whole", [1.96 * SD * 7, 1e6])
def test_a_whole_that_is_known_badly_does_not_tie_its_parts(
    front: FrontEnd, tables: dict[str, Counted], whole: float
) -> None:
    """Parts that were measured beside a model of their sum: their shares had the bars of errors that are all alike."""
    text = (
        "SELECT age, 100.0 * n / SUM(n) OVER () AS s FROM "
        "(SELECT age, COUNT(*) AS n FROM people WHERE age > 17 GROUP BY age)"
    )
    off = ratios(front, tables, text, independent, whole=whole)
    assert (off <= 1).mean() >= 0.95 - 2 * sqrt(0.95 * 0.05 / RELEASES)


def test_parts_that_are_off_alike_have_the_bar_of_their_whole(front: FrontEnd, tables: dict[str, Counted]) -> None:
    off = ratios(front, tables, RUNNING, equal, whole=1.96 * SD * 8)
    assert (off <= 1).mean() >= 0.95 - 2 * sqrt(0.95 * 0.05 / RELEASES)


def test_a_known_whole_narrows_the_bar_of_the_sum(front: FrontEnd, tables: dict[str, Counted]) -> None:
    statement, sql = front.lower(RUNNING), public_sql()
    truths = {q.digest: float(tables["people"].value(q)) * SCALE for q in statement.queries}
    shown = released(truths, np.zeros(len(truths)), 1.0)
    plain = result(statement, shown, sql).column_answers[1][-1].error
    known = result(statement, shown, sql, unasked=Unasked(lambda query: 1.0)).column_answers[1][-1].error
    assert plain is not None and known is not None
    assert known < plain / 5


def test_bounds_may_all_be_reached_together(front: FrontEnd, tables: dict[str, Counted]) -> None:
    """What a passed test certifies is no spread: a model may be off by it everywhere in the same direction."""
    off = ratios(front, tables, RUNNING, equal, source="hypothesis")
    assert (off <= 1).mean() >= 0.95 - 2 * sqrt(0.95 * 0.05 / RELEASES)
    assert (ratios(front, tables, RUNNING, equal) <= 1).mean() < 0.9
