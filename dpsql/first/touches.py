"""The first touches of one table, each empty where the plan foresees none.

Empty ones in place of missing ones: nobody has to ask which of them a table has.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dpsql.first.listed import ListedStrings
from dpsql.first.row_count import RowCount
from dpsql.first.text_start import TextStarts
from dpsql.first.touch import Columns, FirstTouch
from dpsql.first.warm_start import WarmStart
from dpsql.planning import TablePlan


@dataclass(frozen=True, eq=False)
class Touches:
    """What is measured once for all sessions on one table. Public folds over the ledger's events."""

    row_count: RowCount
    warm: WarmStart
    texts: TextStarts
    listed: ListedStrings

    @classmethod
    def of(cls, plan: TablePlan) -> "Touches":
        """Nothing begun."""
        row_count, texts = RowCount(plan), TextStarts(plan)
        return cls(row_count, WarmStart(plan, row_count), texts, ListedStrings(texts))

    def __iter__(self) -> Iterator[FirstTouch]:
        return iter((self.row_count, self.warm, self.texts, self.listed))

    def first_units(self, scopes: Iterable[Columns], text_columns: Iterable[str] = ()) -> int:
        """Units that questions about ``scopes`` and text columns spend at most on what is measured first."""
        texts = sum(self.texts.next_units(column) for column in set(text_columns))
        warm = min(self.warm.unbegun_units(), self.warm.units_of(scopes))
        row_count = 0 if self.row_count.is_known else self.row_count.planned_units
        return row_count + warm + min(self.texts.unbegun_units(), texts)
