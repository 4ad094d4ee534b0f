"""Text columns: strings that no list declares, and what their owner may say of them beforehand. Public."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from dpsql.domain.weight import check_weight
from dpsql.errors import PolicyError

MOST_ROWS_OF_A_VALUE = 10**12


@dataclass(frozen=True)
class TextDomain:
    """Strings without a declared list; ``prefixes`` are the lengths for which LIKE 'ab%' may be answered.

    ``max_rows_per_value``: the owner's word that no string is in more rows; ``None``: none is given. Nothing makes it
    true: it may decide which questions are asked of the rows, and what is said without asking them, and no more.
    ``weight``: how much more its strings have of what is measured first than they would have beside the table's other
    columns.

    >>> TextDomain("code", max_rows_per_value=10).words
    'any string, each in at most 10 rows'
    """

    name: str
    prefixes: tuple[int, ...] = ()
    nullable: bool = True
    max_rows_per_value: int | None = field(default=None, repr=False)  # ledgers are bound to the repr of earlier fields
    weight: Fraction = field(default=Fraction(1), repr=False)
    kind: Literal["text"] = field(default="text", init=False)
    sql_type: Literal["VARCHAR"] = field(default="VARCHAR", init=False)

    def __post_init__(self) -> None:
        check_weight(self.weight, self.name)
        most = self.max_rows_per_value
        if most is not None and not 1 <= most <= MOST_ROWS_OF_A_VALUE:
            raise PolicyError(
                f"max_rows_per_value must be from 1 to {MOST_ROWS_OF_A_VALUE:,}",
                path=self.name,
                hint="write max_rows_per_value = 10",
            )

    @property
    def words(self) -> str:
        """What is declared of its strings."""
        most = self.max_rows_per_value
        return "any string" if most is None else f"any string, each in at most {most:,} row{'' if most == 1 else 's'}"
