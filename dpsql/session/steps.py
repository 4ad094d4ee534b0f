"""Statements in steps: what statements inside one were answered, before it is asked.

The order is that in which they stand. What is around them depends on released values only, so each step is a question
chosen after the answers before it, which is what the accountant composes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from dpsql.errors import UnsupportedQuery
from dpsql.result import Explanation, Note, Result
from dpsql.shortened import shortened

_SHOWN = 80
"""Characters of a statement that a note shows."""


@dataclass(frozen=True, eq=False)
class FirstSteps:
    """The results of the statements inside one, by their texts, and what they ``charged`` together."""

    results: Mapping[str, Result]
    charged: float

    @property
    def rows(self) -> dict[str, pa.Table]:
        """Their released rows."""
        return {text: result.table for text, result in self.results.items()}

    @property
    def notes(self) -> tuple[Note, ...]:
        """What each of them was taken as, and what is to be known of it."""
        found = []
        for text, result in self.results.items():
            found += [Note("step", _taken_as(text, result.table)), *result.notes]
        return tuple(found)


def explained_in_steps(first: Mapping[str, Explanation], remaining: float) -> Explanation:
    """The plans of the statements inside one; what is around them is chosen by their answers, and not foreseen."""
    parts = list(first.values())
    words = [Note("plan", f"asked first: {shortened(text, _SHOWN)}") for text in first]
    rest = "what is asked around it depends on that answer: its plan and charge are not foreseen"
    notes = [*words, Note("plan", rest), *(n for p in parts for n in p.notes)]
    return replace(
        parts[0],
        plans=tuple(q for p in parts for q in p.plans),
        worst_charge=sum(p.worst_charge for p in parts),
        remaining=remaining,
        notes=tuple(dict.fromkeys(notes)),
        statements_left=None,
    )


def no_terms_in_steps() -> UnsupportedQuery:
    """The refusal of a bound or a charge for a statement in steps: it would be one for each."""
    return UnsupportedQuery(
        "within and max_charge are for one question, and this statement asks several in turn",
        hint="ask the inner statement first, and write its answer into the outer one",
    )


def _taken_as(text: str, rows: pa.Table) -> str:
    if rows.num_rows == rows.num_columns == 1:
        value = rows.column(0)[0].as_py()
        shown = f"{value:,.6g}" if isinstance(value, float) else "NULL" if value is None else str(value)[:_SHOWN]
        taken = shown
    else:
        taken = f"the {rows.num_rows:,} row{'' if rows.num_rows == 1 else 's'} that were released"
    asked = shortened(text, _SHOWN)
    return f"{asked} was answered first and is taken as {taken}: bars do not count how far that may be off"
