"""What a statement returns: an Arrow table of released values, and an answer for each released number in it.

Rows can be sorted, filtered and cut by the outer statement; the answers must still lie beside the numbers they belong
to.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from dpsql.result.answer import Answer
from dpsql.result.note import Note


@dataclass(frozen=True, eq=False)
class Result:
    """A released table.

    ``types`` are DuckDB type names, one per column of ``table``. ``column_answers`` maps the index of an output
    column to one answer per row. ``block_answers`` is set instead when output rows cannot be lined up with released
    numbers (several blocks, DISTINCT, UNION ALL): the released numbers behind the result, block by block. ``notes`` are
    sentences that belong beside the numbers. ``paid``: epsilon that the session spent to answer, also for rows that
    HAVING or LIMIT dropped. ``within``: for each row whether it is a group whose counts and averages are all within
    their errors of no row at all; empty where rows are no groups.
    """

    table: pa.Table
    types: tuple[str, ...]
    column_answers: Mapping[int, Sequence[Answer]] = field(default_factory=dict)
    block_answers: tuple[Answer, ...] = ()
    notes: tuple[Note, ...] = ()
    paid: float = 0.0
    within: tuple[bool, ...] = ()

    def without_empty(self) -> "Result":
        """The rows but those of groups that may be empty, and a note that says how many these are.

        For showing only: what is computed of the rows is computed of all of them.

        >>> counts = {0: (Answer(5, 9.0, (0.0, 14.0), "exact", "measurement", True), Answer(40, 9.0, (31.0, 49.0),
        ...     "exact", "measurement", True))}
        >>> table = pa.table({"n": [5, 40]})
        >>> Result(table, ("BIGINT",), counts, within=(True, False)).without_empty().table.to_pylist()
        [{'n': 40}]
        """
        if not any(self.within):
            return self
        kept = [i for i, empty in enumerate(self.within) if not empty]
        answers = {c: tuple([found[i] for i in kept]) for c, found in self.column_answers.items()}
        hidden = f"{len(self.within) - len(kept):,} of {len(self.within):,} groups are hidden: their counts are"
        note = Note("few", f"{hidden} within their errors")
        within = (False,) * len(kept)
        table = self.table.take(kept) if kept else self.table.slice(0, 0)
        return replace(self, table=table, column_answers=answers, notes=(*self.notes, note), within=within)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.table.column_names)

    @property
    def answers(self) -> tuple[Answer, ...]:
        """One entry per released number, in row order (columns left to right within a row)."""
        if self.block_answers:
            return self.block_answers
        columns = [self.column_answers[i] for i in sorted(self.column_answers)]
        return tuple(a for row in zip(*columns, strict=True) for a in row)

    @property
    def charged(self) -> float:
        """Epsilon-equivalent that this statement charged, 0.0 when it was free."""
        return max(self.paid, sum(a.charged for a in self.answers))
