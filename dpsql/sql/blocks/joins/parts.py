"""Which relations of a join depend on each other, and which conditions say what they are for a private row.

Relations that are found by different columns of the row are looked up apart, so that these columns stay independent.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from dpsql.sql.blocks.joins.cells import is_key
from dpsql.sql.blocks.joins.sources import Sources
from dpsql.sql.expressions.operators import unwrap


@dataclass(eq=False)
class Part:
    """Relations that are looked up together: by these ``conditions``, and ``spare`` ones where they have no other.

    ``keyed``: whether some condition of theirs mentions the private row.
    """

    relations: list[int]
    conditions: list[exp.Expr] = field(default_factory=list)
    spare: list[exp.Expr] = field(default_factory=list)
    keyed: bool = False

    def add(self, mention: "Mention") -> None:
        """A conjunct that mentions these relations and no others."""
        if not mention.private or mention.links:
            self.conditions.append(mention.node)
            self.keyed |= mention.private
        elif mention.keys:
            self.spare.append(mention.node)


@dataclass(frozen=True)
class Mention:
    """A conjunct and what it mentions; ``keys``: of the private row, and only by columns whose values are known."""

    node: exp.Expr
    relations: frozenset[int]
    private: bool
    keys: bool

    @property
    def links(self) -> bool:
        """Whether it finds rows of one relation by the private row."""
        return type(self.node) is exp.EQ and self.private and self.keys and len(self.relations) == 1


def parts_of(text: str, sources: Sources, conjuncts: Sequence[exp.Expr]) -> tuple[list[Part], list[exp.Expr]]:
    """The parts of a join, and the conjuncts that are left to be conditions of its rows.

    ``conjuncts``: of WHERE. UnknownName for columns of ON that no entry has.
    """
    everywhere = (*sources.conditions, *conjuncts)
    mentions = [_mention(text, sources, c) for c in everywhere]
    matched = {i: [_mention(text, sources, c) for c in cs] for i, cs in sources.matched.items()}
    root = _roots(len(sources.relations), mentions, matched)
    parts = {r: Part([i for i, own in enumerate(root) if own == r]) for r in dict.fromkeys(root)}
    for i, found in matched.items():
        parts[root[i]].keyed |= any(m is not None and m.private for m in found)
    rest = []
    for node, m in zip(everywhere, mentions, strict=True):
        owners = set() if m is None else {root[i] for i in m.relations}
        if m is None or len(owners) != 1 or (m.private and not m.links):
            rest.append(node)
        if m is not None and len(owners) == 1:
            part = parts[owners.pop()]
            part.add(m)
    return list(parts.values()), rest


def _roots(
    count: int, mentions: Sequence[Mention | None], matched: Mapping[int, Sequence[Mention | None]]
) -> list[int]:
    """For each relation the first of those that it has to be looked up with."""
    root = list(range(count))

    def together(numbers: Iterable[int]) -> None:
        found = {root[i] for i in numbers}
        root[:] = [min(found) if r in found else r for r in root]

    linked = {i for m in mentions if m is not None and m.links for i in m.relations} | matched.keys()
    for i, found in matched.items():
        together([i, *(r for m in found if m is not None for r in m.relations)])
    for m in mentions:
        if m is not None and len(m.relations) > 1 and not m.private and not m.relations <= linked:
            together(m.relations)
    return root


def _mention(text: str, sources: Sources, node: exp.Expr) -> Mention | None:
    """What a conjunct mentions; ``None`` for one with a query, or with a name that no entry has: an alias, perhaps."""
    if node.find(exp.Query) is not None:
        return None
    numbers: set[int] = set()
    keys = True
    for column in node.find_all(exp.Column):
        number = sources.owner(text, column)
        if number is None:
            return None
        numbers.add(number)
        if number < 0:
            bound = sources.meaning(text, column)
            keys &= all(is_key(sources.private.table, c) for c in bound.columns)
    return Mention(unwrap(node), frozenset(numbers - {-1}), -1 in numbers, keys)
