"""Notes: what a reader must know beside the numbers, one sentence each. Public.

A number can be exact about the wrong rows: a cap drops some, a value that nobody declared is none. So whatever decides
which rows a number speaks of is said where the number is shown, and said in one place for all interfaces.
"""

from dataclasses import dataclass
from typing import Literal

from dpsql.domain import TableDomain, undeclared_become

NoteKind = Literal[
    "cap", "left out", "undeclared", "bins", "null", "strings", "computed", "plan", "statement", "beyond", "few",
    "step",
]  # fmt: skip
"""``cap``: rows of a unit beyond the cap. ``left out``: rows without a declared value where the policy requires one.
``undeclared``: a statement asks for what the policy does not declare. ``null``: what NULL stands for. ``strings``:
which strings are groups. ``computed``: which computed numbers have no error bar, and what else depends on released
numbers. ``plan``: how a statement would be answered. ``statement``: what it does not do, though it says so.
``beyond``: how many rows may lie beyond an extreme, and between which dates or strings one is. ``few``: groups whose
averages are NULL because there may be no row in them. ``step``: what a statement inside was answered before the one
around it was asked."""

_MOST_COLUMNS = 3


@dataclass(frozen=True)
class Note:
    """One sentence that depends on the policy, the statement and released numbers alone.

    >>> print(Note("strings", "only the frequent strings of name are groups"))
    only the frequent strings of name are groups
    """

    kind: NoteKind
    text: str

    def __str__(self) -> str:
        return self.text


def table_notes(table: TableDomain) -> tuple[Note, ...]:
    """Which rows of a table no number speaks of, whatever is asked.

    >>> print(*table_notes(TableDomain("pets", (), "owner_id", 3)))
    pets counts at most 3 rows of each owner_id; rows without one are together a single owner_id
    """
    out = []
    if table.unit is not None:
        count = table.max_rows_per_unit
        rows = f"{count:,} row{'' if count == 1 else 's'}"
        text = f"{table.name} counts at most {rows} of each {table.unit}"
        out.append(Note("cap", f"{text}; rows without one are together a single {table.unit}"))
    required = [c for c in table.columns if not c.nullable]
    if required:
        names = [c.name for c in required]
        listed = _or(names) if len(names) <= _MOST_COLUMNS else f"any of {len(names):,} columns"
        bare = all(undeclared_become(c) != "left out" for c in required)
        missing = "a NULL" if bare else "a NULL or undeclared value"
        out.append(Note("left out", f"{table.name} leaves out rows with {missing} in {listed}"))
    return tuple(out)


def _or(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
