"""What is left of a condition where every part that it cuts counts wholly in, or wholly out. Public."""

from enum import IntEnum

from dpsql.query import Factor


class ConditionKind(IntEnum):
    """What a condition on one column, brought to normal form, says of rows."""

    NONE = 0
    ALL = 1
    SOME = 2
    SHARE = 3

    @classmethod
    def of(cls, factors: tuple[Factor, ...] | None) -> "ConditionKind":
        if factors is None:
            return cls.NONE
        return cls.ALL if not factors else cls.SOME if factors[0].columns else cls.SHARE
