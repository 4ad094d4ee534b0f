"""A benchmark question: a conjunction of lists of values, counted as a whole or by group. As SQL, and as what it means.

Peers without SQL read ``conditions`` and ``group``; those with SQL read ``sql``: all answer the same question.
"""

from dataclasses import dataclass
from datetime import date


def literal(value: object) -> str:
    """A value as SQL: strings quoted, dates as DATE '...'."""
    if isinstance(value, date):
        return f"DATE '{value.isoformat()}'"
    return "'" + str(value).replace("'", "''") + "'" if isinstance(value, str) else str(value)


@dataclass(frozen=True)
class Condition:
    """``column`` has one of ``values``; ``ranged``: they are neighbours in order, so BETWEEN says it."""

    column: str
    values: tuple[object, ...]
    ranged: bool = False

    @property
    def sql(self) -> str:
        """The condition as a SQL predicate.

        >>> Condition("age", (20, 25, 30), ranged=True).sql, Condition("sex", ("Male",)).sql
        ('age BETWEEN 20 AND 30', "sex = 'Male'")
        """
        if self.ranged:
            return f"{self.column} BETWEEN {literal(self.values[0])} AND {literal(self.values[-1])}"
        if len(self.values) == 1:
            return f"{self.column} = {literal(self.values[0])}"
        return f"{self.column} IN ({', '.join(literal(v) for v in self.values)})"


@dataclass(frozen=True)
class Question:
    """SELECT [group,] COUNT(*) FROM table WHERE conditions [GROUP BY group]."""

    table: str
    conditions: tuple[Condition, ...]
    group: str | None = None

    @property
    def sql(self) -> str:
        """The statement.

        >>> Question("adult", (Condition("sex", ("Male",)),), "income").sql
        "SELECT income, COUNT(*) FROM adult WHERE sex = 'Male' GROUP BY income"
        """
        text = f"SELECT {f'{self.group}, ' if self.group else ''}COUNT(*) FROM {self.table}"
        text += f" WHERE {' AND '.join(c.sql for c in self.conditions)}" if self.conditions else ""
        return text + (f" GROUP BY {self.group}" if self.group else "")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it touches, conditions first."""
        return (*(c.column for c in self.conditions), *([self.group] if self.group else []))

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for questions that mean the same, however written: a cache's key."""
        return (self.table, frozenset((c.column, frozenset(c.values)) for c in self.conditions), self.group)
