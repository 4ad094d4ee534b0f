"""What a column's domain says of its codes."""

from datetime import date

import pytest

from dpsql.domain import (
    BooleanDomain,
    CategoryDomain,
    DateDomain,
    FiniteDomain,
    IntegerDomain,
    NumberDomain,
    cell_values,
)

DOMAINS: tuple[FiniteDomain, ...] = (
    IntegerDomain("i", -2, 3),
    NumberDomain("n", (0.0, 1.5, 4.0)),
    DateDomain("d", date(2020, 1, 1), date(2020, 5, 1), "month"),
    CategoryDomain("c", ("b", "a")),
    BooleanDomain("b"),
)


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda d: d.kind)
def test_codes_of_ordered_domains_are_in_order_of_value(domain: FiniteDomain) -> None:
    values = [v for v in cell_values(domain) if v is not None]
    assert domain.ordered == (domain.kind in ("integer", "number", "date"))
    assert not domain.ordered or values == sorted(values)  # type: ignore[type-var]


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda d: d.kind)
def test_order_is_no_part_of_a_policys_digest(domain: FiniteDomain) -> None:
    """It follows from the kind; a digest that had it would part ledgers from their policies."""
    assert "ordered" not in repr(domain)


def test_what_a_digest_is_made_of_says_nothing_new_of_days() -> None:
    """Policies of earlier versions keep their digests, and so their ledgers."""
    joined = DateDomain("joined", date(2019, 1, 15), date(2019, 3, 1), "month")
    assert repr(joined) == (
        "DateDomain(name='joined', low=datetime.date(2019, 1, 15), high=datetime.date(2019, 3, 1), unit='month', "
        "nullable=True, kind='date', sql_type='DATE')"
    )
