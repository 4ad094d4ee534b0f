"""What a PIVOT has to know of the rows that it turns: their columns, and the values of some. Released or public."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp


@dataclass(frozen=True)
class Source:
    """An entry of FROM, as it was written, without an alias of the PIVOT's.

    ``columns`` names its columns; ``values`` gives the values of a SELECT of one column that reads it, as literals.
    """

    entry: exp.Expr
    columns: Callable[[], Sequence[str]]
    values: Callable[[exp.Select], Sequence[exp.Expr]]

    @property
    def clause(self) -> exp.From:
        """FROM this source."""
        return exp.From(this=self.entry.copy())
