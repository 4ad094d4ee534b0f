"""Sums of products: one number is summed by value, what it is multiplied by weighs the rows."""

import pytest

from dpsql.domain import BooleanDomain, CategoryDomain, IntegerDomain, NumberDomain, TableDomain, TextDomain
from dpsql.sql import FrontEnd
from tests.support.contingency import Counted, seeded
from tests.support.exact import forms_of, front_of, off_by

TABLE = TableDomain(
    "t",
    (
        NumberDomain("price", (0.0, 1.0, 2.0, 5.0, 40.0)),
        NumberDomain("off", (0.0, 0.05, 0.1, 0.25, 0.5)),
        NumberDomain("gain", (-20.0, -10.0, 0.0, 30.0)),
        IntegerDomain("n", 1, 9),
        IntegerDomain("k", -3, 6),
        BooleanDomain("b"),
        CategoryDomain("g", ("x", "y")),
        TextDomain("w"),
    ),
)
EXACT = (
    "price * n", "n * price", "k * price", "gain * k", "2 * price * n", "price * n * 0.1", "price * n / 4",
    "n * (1 - off)", "(gain - 5) * (k - 2)", "price * k * n", "price * coalesce(k, 0)", "price * n * (k > 1)::INT",
    "(price * n)::DOUBLE", "n * k", "0.5 * (price * n)", "-(price * n)", "-(n * k)",
)  # fmt: skip
GUESSED = ("price * (1 - off)", "price * n * (1 - off)", "price * off", "price * floor(off * 10)")
OTHERS = ("gain * price * k", "CASE WHEN g = 'x' THEN n ELSE 0.5 END * price", "round(price * n, 1)")
CONDITIONS = ("TRUE", "g = 'x'", "n > 3", "price > 1.5", "off BETWEEN 0.02 AND 0.3", "k > 0 OR b", "b AND price < 30")


@pytest.fixture(scope="module")
def front() -> FrontEnd:
    return front_of(TABLE)


@pytest.fixture(scope="module")
def counted() -> Counted:
    rng = seeded(12)
    rows = [
        (
            rng.choice([None, 0.0, 1.0, 19.99, 40.0, rng.uniform(0, 40)]),
            rng.choice([None, 0.0, 0.0, 0.05, 0.2, 0.5, rng.uniform(0, 0.5)]),
            rng.choice([None, -20.0, 0.0, 30.0, rng.uniform(-20, 30)]),
            rng.choice([None, 1, 2, 5, 9]),
            rng.choice([None, -3, -1, 0, 2, 6]),
            rng.choice([None, True, False]),
            rng.choice([None, "x", "y"]),
            rng.choice([None, "one", "two"]),
        )
        for _ in range(1500)
    ]
    return Counted(TABLE, rows)


@pytest.mark.parametrize("by", ["NULL", "g", "b"])
@pytest.mark.parametrize("value", EXACT)
def test_whole_numbers_weigh_rows_and_nothing_is_guessed(
    front: FrontEnd, counted: Counted, value: str, by: str
) -> None:
    for gap, doubt in off_by(front, counted, f"SELECT {by} AS c, SUM({value}) FROM t WHERE g = 'x' OR b GROUP BY ALL"):
        assert doubt == 0.0 or "k" in value  # of what is tied to a condition
        assert gap <= doubt + 5e-2  # shares of values are in fixed point


@pytest.mark.parametrize("where", CONDITIONS)
@pytest.mark.parametrize("value", [*EXACT, *GUESSED, *OTHERS])
def test_products_are_what_is_said_of_them(front: FrontEnd, counted: Counted, value: str, where: str) -> None:
    for gap, doubt in off_by(front, counted, f"SELECT g, SUM({value}) FROM t WHERE {where} GROUP BY g"):
        assert gap <= doubt + 5e-2


@pytest.mark.parametrize("value", GUESSED)
def test_of_two_numbers_the_one_with_the_wider_bins_is_summed_by_value(
    front: FrontEnd, counted: Counted, value: str
) -> None:
    (form,) = forms_of(front, f"SELECT NULL AS c, SUM({value}) FROM t GROUP BY ALL").values()
    assert {t.query.value for t in form.terms} - {None} == {"price"}
    assert counted.doubt(form) > 0.0


def test_a_guess_is_nearer_than_one_of_the_cells_of_both(front: FrontEnd, counted: Counted) -> None:
    sql = "SELECT NULL AS c, SUM(price * (1 - off)) FROM t GROUP BY ALL"
    plain = front_of(TABLE, by_value=False)
    ((_, doubt),), ((_, before),) = off_by(front, counted, sql), off_by(plain, counted, sql)
    assert doubt < before / 3


@pytest.mark.parametrize("where", ["w = 'one'", "w IN ('one', 'two') AND n > 2", "price * n > 20", "price > n"])
def test_beside_strings_and_what_ties_both_the_cells_are_looked_at_together(
    front: FrontEnd, counted: Counted, where: str
) -> None:
    for value in ("price * n", "price * (1 - off)"):
        ((gap, doubt),) = off_by(front, counted, f"SELECT NULL AS c, SUM({value}) FROM t WHERE {where} GROUP BY ALL")
        assert gap <= doubt + 5e-2


def test_weights_of_many_cells_are_rounded_and_say_so(front: FrontEnd, counted: Counted) -> None:
    """Two fractions beside a value have 18 bits together."""
    value = "price * (0.1 + n / 7.0) * (k / 11.0 + 1)"
    ((gap, doubt),) = off_by(front, counted, f"SELECT NULL AS c, SUM({value}) FROM t GROUP BY ALL")
    assert gap <= doubt + 5e-2
    assert 0.0 < doubt < 100.0


def test_averages_and_covariances_are_of_the_same_sums(front: FrontEnd, counted: Counted) -> None:
    (block,) = front.lower("SELECT AVG(price * n), COVAR_POP(gain, n) FROM t").blocks
    average, covariance = block.aggregates
    assert {t.query.value for t in average.numerator[0].terms} == {"price"}
    assert covariance.summary is not None
    ((expected,),) = counted.connection.execute("SELECT SUM(price * n) FROM t").fetchall()
    assert counted.exact(average.numerator[0]) == pytest.approx(expected, abs=5e-2)


@pytest.mark.parametrize(
    "where",
    [
        "price * n > 20", "price / n < 3", "price + 10 * n > 40", "price > 5 * n", "n * price BETWEEN 10 AND 50",
        "price - n <= 0", "2 * n - price > 1", "NOT price * k > 4", "gain / (k - 1) > 2", "floor(price * n / 10) = 2",
        "price * (n - 5) = 0", "greatest(price * n, 30) > 40", "price = 4 * n", "n > price",
    ],
)  # fmt: skip
def test_conditions_on_both_cut_few_bins(front: FrontEnd, counted: Counted, where: str) -> None:
    """For each whole number a number is compared with a known place: bins without one are in or out as a whole."""
    ((rows,),) = counted.connection.execute("SELECT COUNT(price) FROM t").fetchall()
    ((gap, doubt),) = off_by(front, counted, f"SELECT NULL AS c, COUNT(*) FROM t WHERE {where} GROUP BY ALL")
    assert gap <= doubt + 1e-6
    assert doubt < 0.6 * rows  # nearly all of them where nothing is known


@pytest.mark.parametrize("by", ["floor(price * n / 50)", "price > 4 * n", "round(gain / n)"])
def test_groups_of_both_are_counted_where_their_bins_say(front: FrontEnd, counted: Counted, by: str) -> None:
    for gap, doubt in off_by(front, counted, f"SELECT {by} AS c, COUNT(*) FROM t GROUP BY c"):
        assert gap <= doubt + 1e-6


def test_a_product_that_weighs_rows_by_too_many_columns_is_of_all_its_cells() -> None:
    """As it was answered before: 18 bits beside a value are not enough for two fractions and a whole number."""
    numbers = [IntegerDomain(name, 0, 70) for name in ("a", "b", "c")]
    table = TableDomain("t", (NumberDomain("price", (0.0, 1.0, 40.0)), *numbers, IntegerDomain("n", 1, 9)))
    front = front_of(table)
    rng = seeded(5)
    rows = [(rng.uniform(0, 40), *(rng.randint(0, 70) for _ in numbers), rng.randint(1, 9)) for _ in range(200)]
    counted = Counted(table, rows)
    for value in ("price * sqrt(a) * sqrt(b)", "price * sqrt(a) * sqrt(b) * n"):
        ((gap, doubt),) = off_by(front, counted, f"SELECT NULL AS c, SUM({value}) FROM t GROUP BY ALL")
        assert gap <= doubt + 1.0
    (form,) = forms_of(front, "SELECT NULL AS c, SUM(a * b * c) FROM t WHERE price > 3 GROUP BY ALL").values()
    assert form.terms


@pytest.mark.parametrize("value", ["(n * k)::DOUBLE", "2 * (n * k)::DOUBLE", "(n * k)::DOUBLE * b::INT"])
def test_a_product_of_whole_numbers_that_is_cast_to_double_is_summed_as_doubles(front: FrontEnd, value: str) -> None:
    kinds = [front.lower(f"SELECT SUM({v}) FROM t").blocks[0].aggregates[0].sql_type for v in (value, "n * k")]
    assert kinds == ["DOUBLE", "BIGINT"]


def test_the_opposite_of_a_product_is_the_same_question(front: FrontEnd) -> None:
    found = [
        forms_of(front, f"SELECT NULL AS c, SUM({v}) FROM t GROUP BY ALL")[None] for v in ("price * n", "-(price * n)")
    ]
    assert len({t.query.digest for form in found for t in form.terms}) == 1
    assert [t.coefficient for form in found for t in form.terms] == [360.0, -360.0]
