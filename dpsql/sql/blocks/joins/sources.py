"""What the entries of FROM are, and which of them a column belongs to.

The private rows come first, whatever the order in which they were written: rows that are combined with all others, or
that are looked up for each, do not depend on it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from dpsql.errors import UnsupportedQuery
from dpsql.sql.expressions.bound import Bound
from dpsql.sql.expressions.names import Scope, unknown, unknown_column
from dpsql.sql.expressions.operators import flatten, unwrap
from dpsql.sql.text.position import refusal

_JOIN_ARGUMENTS = frozenset({"this", "side", "kind", "on", "using", "method"})


@dataclass(frozen=True, eq=False)
class Relation:
    """Public or released rows: ``sql`` names or selects them, ``columns`` has (name, DuckDB type) by lower-cased name.

    ``entry``: where it stands.
    """

    qualifier: str
    sql: str
    columns: Mapping[str, tuple[str, str]]
    entry: exp.Expr


@dataclass(frozen=True, eq=False)
class Sources:
    """The private rows and the relations that they are joined with.

    ``matched`` has, for a relation that is joined by LEFT JOIN, its conditions: rows that find nothing stay, with NULL.
    ``conditions``: what every row of the result fulfils, by JOIN ... ON. ``shared``: for a column that USING or NATURAL
    makes one of several, which of them it is (-1: the private one). ``optional``: a relation's rows stay that no
    private row finds.
    """

    private: Scope
    relations: tuple[Relation, ...]
    matched: Mapping[int, tuple[exp.Expr, ...]]
    conditions: tuple[exp.Expr, ...]
    shared: Mapping[str, int] = field(default_factory=dict)
    optional: bool = False

    def owner(self, text: str, column: exp.Column) -> int | None:
        """The number of the relation that a column belongs to, -1 for the private rows; ``None`` for no column.

        UnsupportedQuery for one that could be of several, UnknownName for one that its relation does not have.
        """
        qualifier, name = column.args.get("table"), column.name.lower()
        if qualifier is not None:
            wanted = qualifier.name.lower()
            if wanted == self.private.qualifier:
                return -1
            number = next((i for i, r in enumerate(self.relations) if r.qualifier == wanted), None)
            if number is not None and name not in self.relations[number].columns:
                known = [n for n, _ in self.relations[number].columns.values()]
                raise unknown(text, column, "column", column.name, known, qualifier.name)
            return number
        found = self.holders(name)
        if len(found) > 1 and name not in self.shared:
            raise ambiguous(text, column)
        return self.shared.get(name, found[0] if found else None)

    def meaning(self, text: str, column: exp.Column) -> Bound:
        """What a column of the private rows stands for."""
        found = self.private.names.get(column.name.lower())
        if found is None:
            raise unknown_column(text, column, self.private)
        return found[1]

    def holders(self, name: str) -> list[int]:
        """The entries that have a column of this lower-cased name."""
        own = [-1] if name in self.private.names else []
        return own + [i for i, r in enumerate(self.relations) if name in r.columns]


def ambiguous(text: str, column: exp.Column) -> UnsupportedQuery:
    """The refusal of a name that several entries of FROM have."""
    reason = f"{column.name[:80]} is a column of several tables here"
    return refusal(text, column, reason, "write the table's name and a dot before it")


def read_sources(
    text: str, joins: Sequence[exp.Join], private: Scope, where: int, relations: Sequence[Relation]
) -> Sources:
    """The sources of FROM, in which the private rows stand at position ``where`` among the ``relations``.

    Raises UnsupportedQuery for a kind of join that has no meaning row by row.
    """
    reading = _Reading(text, private, list(relations))
    for position, join in enumerate(joins, start=1):
        reading.add(join, position, where)
    names = [private.qualifier, *(r.qualifier for r in reading.relations)]
    if len(set(names)) < len(names):
        raise refusal(text, joins[-1], "two tables here have one name", "give each an alias: FROM t AS a, t AS b")
    return Sources(
        private, tuple(reading.relations), reading.matched, tuple(reading.conditions), reading.shared, reading.optional
    )


class _Reading:
    def __init__(self, text: str, private: Scope, relations: list[Relation]) -> None:
        self._text, self._private = text, private
        self.relations = relations
        self.matched: dict[int, tuple[exp.Expr, ...]] = {}
        self.conditions: list[exp.Expr] = []
        self.shared: dict[str, int] = {}
        self.optional = False

    def add(self, join: exp.Join, position: int, where: int) -> None:
        """One join; ``position`` is that of its entry, ``where`` the private entry's."""
        side, kind = (join.args.get("side") or "").upper(), (join.args.get("kind") or "").upper()
        method = (join.args.get("method") or "").upper()
        plain = kind in ("", "INNER", "OUTER", "CROSS") and method in ("", "NATURAL") and side in ("", "LEFT", "RIGHT")
        if not plain or any(v for k, v in join.args.items() if k not in _JOIN_ARGUMENTS):
            raise self._refused(join, " ".join(w for w in (method, side, kind) if w))
        conditions = self._conditions(join, position, where)
        if not side:
            self.conditions += conditions
            return
        keeps_private = (side == "LEFT") == (position != where)
        if (side == "RIGHT" or position == where) and (len(self.relations) > 1 or position > 1):
            raise self._refused(join, f"{side} JOIN of several tables")
        if keeps_private:
            self.matched[0 if position == where else position - (position > where)] = conditions
        else:
            self.conditions += conditions
            self.optional = True

    def _refused(self, join: exp.Join, words: str) -> UnsupportedQuery:
        reason = f"{words} with rows of {self._private.table.name} is not answered"
        hint = "write FROM the private table LEFT JOIN or JOIN the public one"
        if (join.args.get("kind") or "").upper() in ("SEMI", "ANTI"):
            hint = "write WHERE key IN (SELECT key FROM the public table), or NOT EXISTS (SELECT 1 FROM it WHERE ..)"
        return refusal(self._text, join, reason, hint)

    def _conditions(self, join: exp.Join, position: int, where: int) -> tuple[exp.Expr, ...]:
        """The conjuncts of ON, USING or NATURAL."""
        on = join.args.get("on")
        if on is not None:
            return tuple(unwrap(c) for c in flatten(on, exp.And))
        using = [i.name for i in join.args.get("using") or ()]
        # entries to the left, as numbers: the private rows are -1, relations keep their order
        left = [-1 if p == where else p - (p > where) for p in range(position)]
        own = -1 if position == where else position - (position > where)
        if (join.args.get("method") or "").upper() == "NATURAL":
            using = [n for n in self._names(own) if any(n in self._names(i) for i in left)]
            if not using:
                raise refusal(self._text, join, "NATURAL JOIN finds no common column", "write JOIN ... ON a.x = b.x")
        return tuple(self._equality(join, name, left, own) for name in using)

    def _equality(self, join: exp.Join, name: str, left: Sequence[int], own: int) -> exp.Expr:
        lower = name.lower()
        holders = [i for i in left if lower in self._names(i)]
        first = self.shared.get(lower, holders[0] if holders else None)
        if first is None or lower not in self._names(own):
            raise refusal(self._text, join, f"USING ({name[:80]}) needs this column on both sides", "write JOIN ... ON")
        if len(holders) > 1 and lower not in self.shared:
            raise refusal(self._text, join, f"{name[:80]} is a column of several tables here", "write JOIN ... ON")
        self.shared[lower] = min(first, own)
        sides = [exp.column(name, table=self._qualifier(i)) for i in (first, own)]
        found = exp.EQ(this=sides[0], expression=sides[1])
        found.meta.update(join.this.meta)
        return found

    def _names(self, number: int) -> Mapping[str, object]:
        return self._private.names if number < 0 else self.relations[number].columns

    def _qualifier(self, number: int) -> str:
        return self._private.qualifier if number < 0 else self.relations[number].qualifier
