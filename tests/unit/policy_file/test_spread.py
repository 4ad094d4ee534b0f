"""Which columns of numbers get bins that grow, in drafts that looked at rows and in those that did not."""

from decimal import Decimal

import pytest

from dpsql.domain import NumberDomain
from dpsql.policy_file import ColumnSchema, TableSchema, draft_policy, parse_policy
from dpsql.policy_file.spread import bins_of

GROWING = '{ count = 50, scale = "log" }'


@pytest.mark.parametrize(
    ("low", "middle", "high", "growing"),
    [
        (0.01, 22.3, 808.0, True),
        (Decimal("0.01"), Decimal("22.30"), Decimal("808.00"), True),
        (-43, -2, 1301, True),
        (-1301, -20, 0, True),
        (0, 45, 100, False),
        (0, 790, 808, False),  # crowded at the far end: growing bins would be widest there
        (-100, 0, 100, False),
        (0, 80, 808, True),
        (0, 81, 808, False),
        (5, 5, 5, False),
        (0.0, 1.0, float("inf"), False),
        (0.0, float("nan"), 1.0, False),
        ("a", "b", "c", False),
    ],
)
def test_the_median_decides_where_rows_were_looked_at(low: object, middle: object, high: object, growing: bool) -> None:
    """Whatever the name says."""
    for name in ("amount", "age"):
        column = ColumnSchema(name, "DOUBLE", low=low, middle=middle, high=high)
        assert bins_of(column) == (GROWING if growing else "20")


@pytest.mark.parametrize(
    ("name", "growing"),
    [
        ("amount", True),
        ("total_amount_usd", True),
        ("unitPrice", True),
        ("SALARY", True),
        ("dep_delay", True),
        ("distance", True),
        ("age", False),
        ("prices_are_ok", False),
        ("happiness", False),
        ("loan_to_value", False),
        ("x", False),
    ],
)
def test_the_name_decides_where_nobody_looked(name: str, growing: bool) -> None:
    assert bins_of(ColumnSchema(name, "DOUBLE")) == (GROWING if growing else "20")


@pytest.mark.parametrize(
    "column",
    [
        ColumnSchema("amount", "DECIMAL(10,2)"),
        ColumnSchema("c", "DOUBLE", low=0.4, middle=22.0, high=807.2),
        ColumnSchema("c", "BIGINT", low=0, middle=300, high=10**9),
    ],
)
def test_a_draft_with_growing_bins_loads_and_is_marked(column: ColumnSchema) -> None:
    text = draft_policy([TableSchema("t", (column,))])
    (line,) = [line for line in text.splitlines() if GROWING in line]
    assert "CHECK" in line and ("FROM THE DATA" in line) == (column.middle is not None)
    (domain,) = parse_policy(text).tables[0].columns
    assert isinstance(domain, NumberDomain) and len(domain.edges) == 51
    widths = [high - low for low, high in zip(domain.edges, domain.edges[1:], strict=False)]
    assert widths == sorted(widths) and widths[-1] > 20 * widths[0]
