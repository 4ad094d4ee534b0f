"""Hints of refused groups name steps that are answered: of the column's unit or range, its name as SQL has it."""

from datetime import date

import pytest

from dpsql.domain import DateDomain, DateUnit, NumberDomain, TableDomain
from dpsql.errors import UnsupportedQuery
from tests.support.exact import front_of


@pytest.mark.parametrize(
    ("low", "high", "steps"),
    [
        (0.0, 808.0, "floor(x / 10) * 10"),
        (-1000.0, 1000.0, "floor(x / 10) * 10"),
        (0.0, 1.0, "floor(x * 100) / 100"),
        (5.0, 30.0, "floor(x)"),
        (0.0, 5e6, "floor(x / 100000) * 100000"),
        (-1e308, 1e308, "floor(x / 1e+307) * 1e+307"),
    ],
)
def test_a_hint_names_steps_of_the_range(low: float, high: float, steps: str) -> None:
    table = TableDomain("t", (NumberDomain("x", (low, low / 2 + high / 2, high)),))
    front = front_of(table)
    with pytest.raises(UnsupportedQuery) as refused:
        front.lower("SELECT x, COUNT(*) FROM t GROUP BY x")
    assert refused.value.hint == f"group by steps of it, as in GROUP BY {steps}"
    (block,) = front.lower(f"SELECT {steps}, COUNT(*) FROM t GROUP BY 1").blocks
    assert 4 <= len(block.groups) <= 210


@pytest.mark.parametrize("unit", ["week", "quarter", "year"])
def test_a_hint_names_the_unit_and_quotes_names(unit: DateUnit) -> None:
    table = TableDomain("t", (DateDomain("group", date(2020, 1, 1), date(2023, 12, 31), unit),))
    front = front_of(table)
    for asked, start in (
        ("SELECT {}, COUNT(*) FROM t GROUP BY 1", ""),
        ("SELECT COUNT(DISTINCT {}) FROM t", "COUNT(DISTINCT "),
    ):
        with pytest.raises(UnsupportedQuery) as refused:
            front.lower(asked.format('"group"'))
        assert refused.value.hint is not None and f"as in {start or 'GROUP BY '}" in refused.value.hint
        assert f"date_trunc('{unit}', \"group\")" in refused.value.hint
        assert front.lower(asked.format(f"date_trunc('{unit}', \"group\")")).blocks
