"""Number columns whose owner says by which step values go: values that repeat are told, and others are counted, too."""

import warnings
from pathlib import Path

import duckdb
import pytest

import dpsql

ROWS = """\
CREATE TABLE flights AS SELECT [187, 229, 719, 1389, 2248, 2475, 2565, 4983][1 + (hash(i) % 8)::INT] AS distance,
  round([19.99, 20.49, 149.95][1 + (hash(i + 1) % 3)::INT] + (i % 50 = 0)::INT * .001, 3)::DECIMAL(9, 3) AS fare,
  i % 12 AS month
FROM range(24000) t(i)"""
POLICY = """\
version = 1
[privacy]
epsilon = 1.0
delta = 1e-6
[tables.flights.columns]
distance = {{ type = "number", min = 17, max = 4983{whole} }}
fare = {{ type = "number", min = 0, max = 500{cents} }}
month = {{ type = "integer", min = 0, max = 11 }}
"""
ASKED = (
    *("distance = 2475", "distance = 1389", "distance BETWEEN 700 AND 2400", "distance = 2474", "distance < 230"),
    *("fare = 19.99", "fare < 20.49", "fare = 149.95", "fare = 20"),
)


def policy(whole: str = "", cents: str = "") -> str:
    return POLICY.format(whole=whole, cents=cents)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("steps") / "flights.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute(ROWS)
    return path


def errors(path: Path, text: str) -> dict[str, tuple[float, float]]:
    """By condition how far the count is off, and its bar."""
    with duckdb.connect() as con:
        con.execute(ROWS)
        true = [con.execute(f"SELECT COUNT(*) FROM flights WHERE {asked}").fetchall()[0][0] for asked in ASKED]
    out = {}
    with dpsql.connect(path, policy=dpsql.load_policy(text), ledger=":memory:", new_budget=True) as con:
        for asked, n in zip(ASKED, true, strict=True):
            cursor = con.execute(f"SELECT COUNT(*) FROM flights WHERE {asked}", max_charge=1)
            ((said,),), (answer,) = cursor.fetchall(), cursor.answers
            assert answer.error is not None
            out[asked] = abs(said - n), float(answer.error)
    return out


def test_values_that_repeat_are_told_with_a_step(path: Path) -> None:
    """Without, a hard round is spent on each, for the model knows of a bin's rows only that none is at its marks."""
    told = [off for _ in range(3) for off in errors(path, policy(", step = 1", ", step = 0.01")).values()]
    assert all(e < 400 for e, _ in told), told
    assert sum(e <= bar for e, bar in told) >= 21, told  # of 27, the bars of most being those of their noise
    step, plain = errors(path, policy(", step = 1")), errors(path, policy())
    assert step["distance = 2475"][1] < 100 and plain["distance = 2475"][1] > 200


def test_a_step_is_part_of_the_policy_that_a_ledger_is_bound_to(path: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "steps.ledger"
    with dpsql.connect(path, policy=dpsql.load_policy(policy(", step = 1")), ledger=ledger, new_budget=True) as con:
        (said,) = con.execute("SELECT COUNT(*) FROM flights WHERE distance = 2475").fetchall()
    with pytest.raises(dpsql.Error, match="step"):
        dpsql.connect(path, policy=dpsql.load_policy(policy()), ledger=ledger)
    with dpsql.connect(path, policy=dpsql.load_policy(policy(", step = 1.0")), ledger=ledger) as con:
        assert con.execute("SELECT COUNT(*) FROM flights WHERE distance = 2475").fetchall() == [said]


def test_a_long_integer_column_is_told_of_steps(path: Path) -> None:
    text = policy().replace(
        'distance = { type = "number", min = 17, max = 4983', 'distance = { type = "integer", min = 0, max = 20000'
    )
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        dpsql.connect(path, policy=dpsql.load_policy(text), ledger=":memory:", new_budget=True).close()
    assert any('type = "number", step = 1' in str(w.message) for w in said)
