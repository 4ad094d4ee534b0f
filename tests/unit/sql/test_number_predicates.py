"""Numbers that are compared without asking DuckDB: the truth is DuckDB's."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsql.domain import IntegerDomain, NumberDomain, cell_values
from dpsql.sql.expressions.number_predicates import Compared, number, truth_table
from dpsql.sql.public_sql import GridColumn
from tests.support.exact import public_sql

PUBLIC = public_sql()
WHOLE = IntegerDomain("x", -3, 12)
FAR = IntegerDomain("x", 10**15 - 3, 10**15 + 3)
BINS = NumberDomain("x", (-0.3, 0.0, 0.1, 0.30000000000000004, 1.0, 2.675, 1e15, 1e300))
SYMBOLS = ("=", "<>", "<", "<=", ">", ">=")
whole = st.one_of(st.integers(0, 15), st.integers(0, 10**15 - 1)).map(str)
decimal = st.one_of(
    st.sampled_from(["0.3", "0.30", "0.300000000000000", "2.675", "1.0", "00.1", "0.10000000000000"]),
    st.decimals(0, 1000, places=6).map(str),
)
literals = st.one_of(whole, decimal)


def check(domain: IntegerDomain | NumberDomain, compared: Compared, predicate: str) -> None:
    found = truth_table(compared, domain)
    if found is None:
        assert isinstance(domain, IntegerDomain) and any(isinstance(n, float) for n in compared.numbers)
        return
    grid = [GridColumn("x", domain.sql_type, cell_values(domain))]
    (expected,) = PUBLIC.truth(grid, [predicate])
    assert found.tolist() == expected.tolist(), predicate


@pytest.mark.parametrize("domain", [WHOLE, FAR, BINS], ids=["whole", "far", "bins"])
@settings(deadline=None)
@given(st.lists(literals, min_size=2, max_size=20), st.booleans())
def test_the_truth_is_duckdbs(domain: IntegerDomain | NumberDomain, texts: list[str], negative: bool) -> None:
    sign = "- " if negative else ""
    values = []
    for text in texts:
        value = number(text)
        if value is None:
            return
        values.append(-value if negative else value)
    signed = [sign + t for t in texts]
    for symbol in SYMBOLS:
        check(domain, Compared("x", symbol, (values[0],)), f"x {symbol} {signed[0]}")
    check(domain, Compared("x", "BETWEEN", tuple(values[:2])), f"x BETWEEN {signed[0]} AND {signed[1]}")
    check(domain, Compared("x", "IN", tuple(values)), f"x IN ({', '.join(signed)})")


def test_what_duckdb_might_read_otherwise_is_no_number() -> None:
    assert [number(t) for t in ("1e3", "1_000", "0x1F", ".5", "5.", "1234567890123456", "1.234567890123456", "")] == [
        None
    ] * 8


def test_null_is_never_true() -> None:
    for symbol in SYMBOLS:
        found = truth_table(Compared("x", symbol, (0,)), WHOLE)
        assert found is not None and found[-1] == 0


def test_a_long_list_is_the_union_of_its_numbers() -> None:
    found = truth_table(Compared("x", "IN", tuple(range(0, 100, 2))), WHOLE)
    assert found is not None
    assert np.flatnonzero(found).tolist() == [i for i, v in enumerate(range(-3, 13)) if v >= 0 and v % 2 == 0]
