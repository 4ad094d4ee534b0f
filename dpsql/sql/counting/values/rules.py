"""What of the values of number columns is asked about, by the rules of the ledger that a statement is for. Public."""

from typing import NamedTuple

FEW_STRETCHES = 4
"""Of earlier rules, and of ledgers that pay, or refuse, by each stretch."""


class ValueRules(NamedTuple):
    """``by_value`` and what follows: as in ``ModelRules``; but ``stretches`` are few where each of them is paid."""

    by_value: bool = True
    curves: bool = True
    cut_classes: int = 2
    listed_by_value: bool = True
    stretches: int = 32


NEWEST = ValueRules()
