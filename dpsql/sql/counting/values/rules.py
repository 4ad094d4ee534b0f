"""What of the values of number columns is asked about, by the rules of the ledger that a statement is for. Public."""

from typing import NamedTuple


class ValueRules(NamedTuple):
    """``by_value`` and what follows: as in ``ModelRules``."""

    by_value: bool = True
    curves: bool = True
    cut_classes: int = 2
    listed_by_value: bool = True


NEWEST = ValueRules()
