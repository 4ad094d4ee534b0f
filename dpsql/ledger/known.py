"""What a registry tells of one ledger: where it lies, whose rows it is about, and what they have spent. Public.

A fingerprint knows the rows again while none of them changes. Paths, table names and columns know the people again
after that, and the spend says what another budget would be added to.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

VERSION = "1"


@dataclass(frozen=True)
class Place:
    """Where private rows are: the ``database`` (an absolute path or an address, "" for one that has none) and the
    columns of its ``tables``, those behind views included; all names in lower case. ``ledger``: where the ledger
    of that database lies when nobody names another path, or "". ``origins``: addresses of what it is a copy of.
    ``attached``: other files in which its rows are now. Any session may attach them: no ledger is known by them later.
    """

    database: str = ""
    tables: Mapping[str, frozenset[str]] = field(default_factory=dict)
    ledger: str = ""
    origins: tuple[str, ...] = ()
    attached: tuple[str, ...] = ()

    @property
    def addresses(self) -> tuple[str, ...]:
        """Every address by which the rows are known: of what they are a copy of, and of the database, if it has one."""
        return (*self.origins, *((self.database,) if self.database else ()))

    def shares_table(self, other: "Place") -> bool:
        """Whether a table of the same name is in both.

        >>> people = Place("/a", {"people": frozenset({"age"})})
        >>> people.shares_table(Place("/b", {"people": frozenset()})), people.shares_table(Place("/a"))
        (True, False)
        """
        return not self.tables.keys().isdisjoint(other.tables)

    def looks_like(self, other: "Place") -> bool:
        """Whether a table of the same name has the same columns in both, or more of them in one."""
        both = self.tables.keys() & other.tables.keys()
        return any(self.tables[t] <= other.tables[t] or self.tables[t] >= other.tables[t] for t in both)


NOWHERE = Place()


@dataclass(frozen=True)
class Known:
    """A ledger as it was last seen. ``databases``: every place where its rows were. ``epsilon``: its whole budget and
    ``spent`` that share of it which is gone, both ``None`` where nobody wrote them down. ``forgotten``: nothing was
    spent when another ledger took its place."""

    ledger: str
    path: str
    sequence: int = 0
    databases: tuple[str, ...] = ()
    tables: Mapping[str, frozenset[str]] = field(default_factory=dict)
    epsilon: float | None = None
    spent: float | None = None
    forgotten: bool = False

    @property
    def is_unspent(self) -> bool:
        """Nothing was ever reserved under it, so that no private row was looked at for it."""
        return self.sequence == 0

    def place(self) -> Place:
        """Its tables, without their database: there may be several."""
        return Place("", self.tables)

    def as_words(self) -> str:
        """Its path and its spend.

        >>> Known("1f", "/a.ledger", 3, epsilon=2.0, spent=0.523456).as_words()
        '/a.ledger (epsilon 0.523 of 2 is spent)'
        """
        return f"{self.path} ({self.spend})"

    @property
    def spend(self) -> str:
        if self.is_unspent:
            return "nothing is spent"
        if self.epsilon is None or self.spent is None:
            return "what is spent can be seen by opening it"
        return f"epsilon {self.spent:.3g} of {self.epsilon:g} is spent"

    def to_json(self) -> str:
        tables = {name: sorted(columns) for name, columns in self.tables.items()}
        told = {name: getattr(self, name) for name in ("ledger", "path", "sequence", "epsilon", "spent", "forgotten")}
        return json.dumps({"version": VERSION, **told, "databases": self.databases, "tables": tables}, indent=1)

    @classmethod
    def from_json(cls, text: str) -> "Known":
        """ValueError, TypeError, KeyError or AttributeError for a text that ``to_json`` did not write."""
        told: dict[str, Any] = json.loads(text)
        if told.pop("version") != VERSION:
            raise ValueError("a later version")
        tables = {str(name): frozenset(columns) for name, columns in told.pop("tables").items()}
        return cls(tables=tables, databases=tuple(told.pop("databases")), **told)


def budget_of(header: Mapping[str, str]) -> tuple[Fraction, int] | None:
    """(epsilon, all units) of a ledger's plan; ``None`` for a header that does not tell."""
    try:
        plan = json.loads(header.get("plan", ""))
        epsilon, units = Fraction(plan["epsilon"]), plan["total_units"]
    except (ValueError, TypeError, KeyError, ZeroDivisionError):
        return None
    return (epsilon, units) if isinstance(units, int) and units > 0 else None


def price(earlier: Iterable[Known], epsilon: float | None, who: str = "the same people") -> str:
    """What a new ledger of ``epsilon`` costs the people of ``earlier`` ones, as an owner should read it.

    >>> price([Known("1f", "/a.ledger", 3, epsilon=1.0, spent=0.5)], 2.0)
    'the same people can then lose epsilon 1 + 2 = 3 in all'
    >>> price([Known("1f", "/a.ledger", 3)], 2.0)
    'the losses of the same people add up, to epsilon 2 more'
    """
    budgets = [known.epsilon for known in earlier]
    if epsilon is None:
        return "the losses of the same people add up"
    known = [budget for budget in budgets if budget is not None]
    if not known or len(known) < len(budgets):
        return f"the losses of the same people add up, to epsilon {epsilon:g} more"
    parts = " + ".join(f"{budget:g}" for budget in (*known, epsilon))
    return f"{who} can then lose epsilon {parts} = {sum(known) + epsilon:.6g} in all"
