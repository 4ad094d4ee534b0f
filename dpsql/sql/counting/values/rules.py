"""What of the values of number columns is asked about, by the rules of the ledger that a statement is for. Public."""

from typing import NamedTuple


class ValueRules(NamedTuple):
    """``by_value``, ``curves`` and ``cut_classes``: as in ``ModelRules``."""

    by_value: bool = True
    curves: bool = True
    cut_classes: int = 2


NEWEST = ValueRules()
