"""Comparing one column of numbers with numbers that are written out: decided value by value, without asking DuckDB.

Only where every conversion that DuckDB makes is exact: whole numbers of up to 15 digits, and, on columns of bins
(DOUBLE), decimals of up to 15 digits, which both round to the nearest double. Comparisons with NULL are NULL.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from dpsql.domain import FiniteDomain, IntegerDomain, NumberDomain
from dpsql.query import Weights

Number = int | float
_WHOLE = re.compile(r"[0-9]{1,15}")
_DECIMAL = re.compile(r"(?=[0-9.]{3,16}\Z)[0-9]+\.[0-9]+")

_FEW = 16
_Values = npt.NDArray[Any]
_COMPARE: dict[str, Callable[[_Values, Number], npt.NDArray[np.bool_]]] = {
    "=": lambda v, n: v == n,
    "<>": lambda v, n: v != n,
    "<": lambda v, n: v < n,
    "<=": lambda v, n: v <= n,
    ">": lambda v, n: v > n,
    ">=": lambda v, n: v >= n,
}
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_SYMBOLS: dict[type, str] = {exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}


class Compared(NamedTuple):
    """A predicate on the number ``column``: ``symbol`` compares with the only number, or is IN, or BETWEEN with two."""

    column: str
    symbol: str
    numbers: tuple[Number, ...]


def number(text: str) -> Number | None:
    """The number that a literal's text stands for; ``None`` when DuckDB might read it in another way.

    >>> number("20"), number("0.5"), number("1e3"), number("1234567890123456")
    (20, 0.5, None, None)
    """
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) else None


def comparison(kind: type, left: str | None, right: str | None, value: Number | None) -> Compared | None:
    """``left op value`` or ``value op right``, of which exactly one side is a column."""
    symbol = _SYMBOLS.get(kind)
    if symbol is None or value is None:
        return None
    if left is not None:
        return Compared(left, symbol, (value,))
    return None if right is None else Compared(right, _MIRRORED[symbol], (value,))


def listed(symbol: str, column: str | None, values: Sequence[Number | None]) -> Compared | None:
    """``column IN (values)`` or ``column BETWEEN low AND high``; ``None`` when something else is listed."""
    known = [v for v in values if v is not None]
    return None if column is None or len(known) < len(values) else Compared(column, symbol, tuple(known))


def one_cell(domain: FiniteDomain, code: int) -> Weights:
    """1 in one cell of a finite column."""
    weights = np.zeros(domain.size, dtype=np.int64)
    weights[code] = 1
    return weights


def truth_at(compared: Compared, numbers: Sequence[Any]) -> Weights:
    """1 where the predicate is TRUE among doubles and NULL (``None``), one entry each."""
    known = np.array([n for n in numbers if n is not None], dtype=np.float64)
    out = np.zeros(len(numbers), dtype=np.int64)
    out[[n is not None for n in numbers]] = _true(compared, known)
    return out


def truth_table(compared: Compared, domain: FiniteDomain) -> Weights | None:
    """1 where the predicate is TRUE, one entry per cell; ``None`` where DuckDB must be asked.

    >>> truth_table(Compared("age", "BETWEEN", (18, 19)), IntegerDomain("age", 17, 19)).tolist()
    [0, 1, 1, 0]
    """
    if not isinstance(domain, IntegerDomain | NumberDomain):
        return None
    if isinstance(domain, IntegerDomain) and not all(isinstance(n, int) for n in compared.numbers):
        return None
    values: _Values
    if isinstance(domain, IntegerDomain):
        values = np.arange(domain.low, domain.high + 1, dtype=np.int64)
    else:
        values = np.asarray(domain.values, dtype=np.float64)
    out = np.zeros(domain.size, dtype=np.int64)
    out[: len(values)] = _true(compared, values)
    return out


def _true(compared: Compared, values: _Values) -> npt.NDArray[np.bool_]:
    numbers = compared.numbers
    if compared.symbol == "BETWEEN":
        return np.asarray((values >= numbers[0]) & (values <= numbers[1]))
    if compared.symbol == "IN":
        true = np.asarray(values == numbers[0])
        if len(numbers) > _FEW:
            return np.isin(values, np.array(numbers, dtype=values.dtype))
        for n in numbers[1:]:
            true |= values == n
        return true
    return _COMPARE[compared.symbol](values, numbers[0])
