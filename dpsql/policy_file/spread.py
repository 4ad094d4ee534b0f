"""Bins that a draft proposes for a column of numbers: equal ones, or ones that grow with the number's size.

Amounts of money, distances and durations crowd at the small end: in equal bins most of the rows are in the first one,
and the model knows nothing of where.
"""

import re
from math import isfinite

from dpsql.policy_file.schema import ColumnSchema

EQUAL_BINS = 20
GROWING_BINS = 50
CROWDED = 0.1
"""A range is skewed when its median is within this share of it from the end that is nearer to 0."""
_GROWING = re.compile(
    r"amount|amt|assets|balance|bytes|charges?|costs?|debt|delay|distance|duration|earnings|expenses?|fares?|fees?|gain|"
    r"income|loss|miles|paid|pay|payments?|population|premium|price|profit|revenue|salary|sales|spend|spent|tax|turnover|"
    r"wages?|worth"
)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def bins_of(column: ColumnSchema) -> str:
    """The value of ``bins``: from the median where rows were looked at, else from the column's name.

    >>> bins_of(ColumnSchema("x", "DOUBLE", low=0.0, high=808.0, middle=22.0)), bins_of(ColumnSchema("age", "DOUBLE"))
    ('{ count = 50, scale = "log" }', '20')
    >>> bins_of(ColumnSchema("x", "DOUBLE", low=0.0, high=100.0, middle=45.0)), bins_of(ColumnSchema("fare", "DOUBLE"))
    ('20', '{ count = 50, scale = "log" }')
    """
    skewed = _is_skewed(column) if column.middle is not None else _grows(column.name)
    return f'{{ count = {GROWING_BINS}, scale = "log" }}' if skewed else str(EQUAL_BINS)


def _is_skewed(column: ColumnSchema) -> bool:
    try:
        low, middle, high = (float(str(number)) for number in (column.low, column.middle, column.high))
    except ValueError:
        return False
    near = low if abs(low) <= abs(high) else high
    return isfinite(high - low) and low < high and abs(middle - near) < CROWDED * (high - low)


def _grows(name: str) -> bool:
    return any(_GROWING.fullmatch(word.lower()) for word in _WORD.findall(name))
