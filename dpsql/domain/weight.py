"""What an owner says of how important tables and strings are beside others: weights. Public."""

from fractions import Fraction

from dpsql.errors import PolicyError

WEIGHTS = (Fraction(1, 100), Fraction(100))
"""From the least weight to the largest: beyond these nothing would be left for one of two."""


def check_weight(weight: Fraction, path: str) -> None:
    """PolicyError at ``path`` for a weight out of range.

    >>> check_weight(Fraction(3), "tables.visits")
    """
    low, high = WEIGHTS
    exact = isinstance(weight, int | Fraction) and not isinstance(weight, bool)  # a policy compares by value
    if not exact or not low <= weight <= high:
        hint = "write weight = 2 for twice as much as without"
        what = "" if exact else "a whole number or a Fraction "
        raise PolicyError(f"weight must be {what}from {float(low)} to {high}", path=path, hint=hint)
