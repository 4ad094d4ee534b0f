"""Error bars of strings: what lists that were measured say of the others, and rows that are hardly expected."""

import numpy as np
import pytest

from dpsql.hypothesis import Axis, DenseHypothesis, Measurement, TableModel, keyed_error
from dpsql.hypothesis.rules import MODEL_RULES
from dpsql.hypothesis.strings.hidden_keys import drawn_by_row, hidden_key
from dpsql.query import Factor, Key, KeyedFactor, LinearQuery, linear_query
from tests.support.simulated import table_of

TABLE = table_of((50,))
ROWS, STRINGS, HIDDEN = 100_000, 2_001, 2_000
MOST = 700.0


def keys_of(count: int, name: str = "k") -> tuple[Key, ...]:
    return tuple((f"{name}{i}",) for i in range(count))


def counts(keys: tuple[Key, ...], rows: list[int], sigma: float) -> Measurement:
    return Measurement("t", (), np.array(rows, dtype=np.int64), sigma, ("w",), keys)


def started() -> TableModel:
    """One string was shown, with half of the rows; 2,000 others share the rest: 25 each."""
    model = TableModel(TABLE, Measurement("t", (), np.array(ROWS), 0.0), 100.0, DenseHypothesis)
    model.know_distinct(Measurement("t", (), np.array(STRINGS), 1.0, ("w",)), MOST)
    model.absorb(counts(keys_of(1, "shown"), [ROWS // 2], 5.0), selected=True)
    return model


def listing(keys: tuple[Key, ...], *factors: Factor) -> LinearQuery:
    found = linear_query(TABLE, factors, KeyedFactor(("w",), keys, (), np.ones(len(keys), dtype=np.int64)))
    assert found is not None
    return found


def evidence(sigma: float, number: int = 100, *, selected: bool = False) -> TableModel:
    """Strings that were not shown were measured: each has 25 rows, as drawn evenly."""
    model = started()
    model.absorb(counts(keys_of(number), [25] * number, sigma), selected=selected)
    return model


def test_lists_that_were_measured_tell_how_strings_are_drawn() -> None:
    before, after = started(), evidence(5.0)
    assert before.sparse(("w",)).unassigned > 60
    assert after.sparse(("w",)).unassigned == pytest.approx(25, rel=0.25)
    many = listing(tuple(sorted(keys_of(20, "new"))))
    wide, narrow = keyed_error(before, many, 1e9), keyed_error(after, many, 1e9)
    assert wide is not None
    assert narrow is not None
    assert narrow < 0.6 * wide


def test_lists_say_nothing_under_strong_noise_and_shown_strings_never() -> None:
    prior = started().sparse(("w",)).unassigned
    assert evidence(3000.0, 1).sparse(("w",)).unassigned == pytest.approx(prior, rel=0.02)
    # as many strings, but shown because they are frequent: that is how they were chosen
    assert evidence(5.0, selected=True).sparse(("w",)).unassigned > 0.8 * prior


@pytest.mark.parametrize("by_row", [0.1, 0.5, 0.9])
def test_the_share_drawn_by_row_follows_what_was_seen(by_row: float) -> None:
    even, row = (hidden_key(25.0, MOST, share).estimate for share in (0.0, 1.0))
    assert drawn_by_row(25.0, MOST, by_row, row, 0.01) == pytest.approx((1.0, 0.0), abs=1e-3)
    assert drawn_by_row(25.0, MOST, by_row, even, 0.01) == pytest.approx((0.0, 0.0), abs=1e-3)
    spread = (row - even) * (by_row * (1 - by_row)) ** 0.5
    middle, sd = drawn_by_row(25.0, MOST, by_row, row, spread)
    assert middle == pytest.approx((by_row + 1.0) / 2)
    assert sd * (row - even) == pytest.approx(spread * 0.5**0.5)


def test_rows_that_are_hardly_expected_have_a_short_bar() -> None:
    model = started()
    model.absorb(Measurement("t", (Axis.cells(("a",), (50,)),), np.array([ROWS - 49, *[1] * 49]), 0.1))
    rare, common = (np.zeros(50, dtype=np.int64) for _ in range(2))
    rare[7], common[0] = 1, 1
    (key,) = keys_of(1, "new")
    few = keyed_error(model, listing((key,), Factor(("a",), rare)), 3.0)
    most = keyed_error(model, listing((key,), Factor(("a",), common)), float(ROWS))
    assert few == 1
    assert most is not None
    assert most > 100
    # a limit of one row in 200 for the finite column alone: twenty times the rows expected, at most
    hidden = model.sparse(("w",))
    upper = hidden.unassigned + hidden.bias((key,))  # type: ignore[arg-type]
    bound = keyed_error(model, listing((key,), Factor(("a",), rare)), ROWS / 200)
    assert bound == pytest.approx(20 * upper / 200, abs=1)


def test_a_string_that_noise_took_below_none_has_a_bar_that_says_so() -> None:
    model, (key,) = started(), keys_of(1, "listed")
    model.absorb(counts((key,), [-12], 10.0))
    half = Factor(("a",), np.arange(50) % 2)
    bar, said = keyed_error(model, listing((key,), half), 1e9), model.estimate(listing((key,), half))
    assert bar is not None
    assert bar + said >= 3  # half of the rows that it may well have


def beside(counted: list[int], sigma: float, *, models: int = 31) -> tuple[int, int]:
    """What is said of a string's rows in half of fifty cells of which fifty others have no row, and its bar."""
    cells = Measurement("t", (Axis.cells(("a",), (50,)),), np.full(50, ROWS // 50), 1.0)
    model = TableModel(
        TABLE, Measurement("t", (), np.array(ROWS), 0.0), 100.0, DenseHypothesis, rules=MODEL_RULES[models]
    )
    model.absorb(cells)
    model.know_distinct(Measurement("t", (), np.array(STRINGS), 1.0, ("w",)), MOST)
    keys = keys_of(40, "s")
    model.absorb(counts(keys, [700] * 40, 1.0), selected=True)
    even = [np.full(50, 14) + np.rint(np.random.default_rng(i).normal(0, sigma, 50)) for i in range(39)]
    found = np.array([counted, *even], dtype=np.int64)
    model.absorb(Measurement("t", (Axis.cells(("a",), (50,)),), found, sigma, ("w",), keys))
    asked = listing(keys[:1], Factor(("a",), (np.arange(50) < 25).astype(np.int64)))
    bar = keyed_error(model, asked, 1e9)
    assert bar is not None
    return model.estimate(asked), bar


def test_a_bar_is_as_wide_as_a_measurement_that_contradicts_the_estimate() -> None:
    """Thirty-nine strings have rows as the table has; one has none in the first half, where no cell says so alone."""
    sigma = 20.0
    none = [0] * 25 + [28] * 25  # 350 fewer than expected, 3.5 sds of the noise of 25 cells
    said, bar = beside(none, sigma)
    assert said > 150 and said - bar <= 0  # as if it were like the others, but not sure of it
    said, bar = beside(none, sigma, models=30)
    assert said - bar > 0
    alike = [14] * 50
    assert beside(alike, sigma)[1] == beside(alike, sigma, models=30)[1] < 100


def test_a_contradicted_bar_reaches_the_far_end_of_what_was_measured() -> None:
    """Two strings, cells that count unevenly: worked out from the measurement and what the model says alone."""
    sigma, rng = 20.0, np.random.default_rng(3)
    model = started()
    model.absorb(Measurement("t", (Axis.cells(("a",), (50,)),), np.full(50, ROWS // 50), 1.0))
    keys = keys_of(40, "s")
    model.absorb(counts(keys, [700] * 40, 1.0), selected=True)
    found = np.rint(14.0 + rng.normal(0, sigma, (40, 50))).astype(np.int64)
    found[0, :25], found[1, :25] = found[0, :25] - 25, found[1, :25] - 16
    model.absorb(Measurement("t", (Axis.cells(("a",), (50,)),), found, sigma, ("w",), keys))
    weights = np.where(np.arange(50) < 25, 1 + np.arange(50) % 4, 0)
    asked = listing(keys[:2], Factor(("a",), weights, 4))
    cells = weights / 4
    apart = abs(float((found[:2] @ cells).sum()) - model.estimate(asked))
    sd = sigma * np.sqrt(2.0 * (cells**2).sum())
    assert apart > 2.5 * sd
    bar = keyed_error(model, asked, 1e9)
    assert bar is not None
    assert bar == pytest.approx(apart + 1.96 * sd, abs=2.0)
