"""What of the values of number columns is asked about, by the rules of the ledger that a statement is for. Public."""

from typing import NamedTuple

FEW_STRETCHES = 4
"""Of earlier rules, and of ledgers that pay, or refuse, by each stretch."""


MOST_ASKED = 256
"""Questions of one statement, by groups and stretches: of more the stretches are fewer."""


class ValueRules(NamedTuple):
    """``by_value`` and what follows: as in ``ModelRules``; but ``stretches`` are few where each of them is paid.

    ``singly``: whether more than few are single values that a condition takes: sums beside strings know no others.
    ``passed``: whether what is rounded in too many places is looked at where it passes what it is compared with.
    """

    by_value: bool = True
    curves: bool = True
    cut_classes: int = 2
    listed_by_value: bool = True
    stretches: int = 32
    singly: bool = False
    passed: bool = True

    def of_statement(self, groups: int, *, strings: bool) -> "ValueRules":
        """The rules of a statement with so many groups, which asks about ``strings`` or does not.

        >>> [ValueRules().of_statement(n, strings=False).stretches for n in (1, 24, 400)]
        [32, 10, 4]
        """
        most = min(self.stretches, max(FEW_STRETCHES, MOST_ASKED // max(groups, 1)))
        return self._replace(stretches=most, singly=strings)


NEWEST = ValueRules()
