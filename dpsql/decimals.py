"""Exact decimal arithmetic, whatever the caller's own context says: its precision, rounding and traps are a program's.

Sizes of noise, charges and where cells end are worked out in decimals. Two sessions must find the same ones.
"""

from decimal import ROUND_HALF_EVEN, Context, DivisionByZero, InvalidOperation, Overflow

_WIDEST = 999_999


def exact(digits: int) -> Context:
    """A context of so many digits; ``exp`` and ``ln`` of ``decimal`` are correctly rounded in it.

    >>> from decimal import Decimal
    >>> str(exact(30).divide(Decimal(1), Decimal(3)))
    '0.333333333333333333333333333333'
    """
    traps = [InvalidOperation, DivisionByZero, Overflow]
    return Context(digits, ROUND_HALF_EVEN, Emin=-_WIDEST, Emax=_WIDEST, traps=traps)
