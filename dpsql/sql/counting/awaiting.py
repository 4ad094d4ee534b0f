"""How much a block asks at most once the strings are released without which it has no groups. Public.

Before that it asks nothing. What its strings will be is not known; beside which columns they are counted, and of how
many outlines its queries can be, is.
"""

from collections.abc import Sequence
from math import prod

from dpsql.domain import TableDomain
from dpsql.sql.aggregates.aggregation import Aggregation, CellsAsked, DistinctAsked
from dpsql.sql.counting.cluster_pieces import Answer
from dpsql.sql.counting.clusters import Cluster
from dpsql.sql.counting.lower import Lowering
from dpsql.sql.counting.summary_forms import by_cells
from dpsql.sql.expressions.bound import Bound
from dpsql.sql.statement import Awaiting
from dpsql.sql.text.parse import to_sql


def awaiting(
    table: TableDomain, groups: Sequence[Bound], aggregations: Sequence[Aggregation], lowering: Lowering
) -> Awaiting | None:
    """What those aggregates of a block ask at most that await strings; ``None`` where none does."""
    if not lowering.may_await:
        return None
    asked, distinct, texts = list[str](), list[str](), set[str]()
    outlines = part = 0
    for a in aggregations:
        if isinstance(a.summary, CellsAsked):
            value, _ = by_cells(a.summary, 1, to_sql(a.node, normalize_functions="lower"))
            inner = lowering.by(value, a.summary.conjuncts)
            if inner.awaits or lowering.awaits:
                asked += inner.asked
                texts.update(inner.texts)
                outlines += _outlines(table, (*groups, value), inner, -1)
        elif lowering.awaits and isinstance(a.summary, DistinctAsked):
            distinct.append(a.summary.column)
        elif lowering.awaits:
            asked += lowering.asked
            texts.update(lowering.texts)
            outlines += sum(_outlines(table, groups, lowering, part + i) for i in range(len(a.summands)))
        part += len(a.summands)
    if not (outlines or distinct or lowering.awaits):
        return None
    columns = tuple([c.name for c in table.finite if c.name in asked])
    listed = bool(groups) and all(g.text is not None for g in groups)
    starts = {(g.text.column, g.text.start) for g in groups if g.text is not None}
    together = len(texts) > 1 or len(starts) > 1
    return Awaiting(columns, outlines, tuple(distinct), listed, together, tuple(sorted(texts)))


def _outlines(table: TableDomain, groups: Sequence[Bound], lowering: Lowering, part: int) -> int:
    ways = lowering.ways(part)
    return max(prod(_of_cluster(table, groups, *both) for both in zip(*way, strict=True)) for way in ways)


def _of_cluster(table: TableDomain, groups: Sequence[Bound], c: Cluster, found: Answer) -> int:
    """Strings are counted as they are, by their starts, or, where a condition leaves them out, not told apart. Each
    column that is tied to them by a condition is told apart beside them or with them."""
    texts = [name for name in c.columns if table.by_name[name.lower()] in table.text]
    if not texts:
        return max(1, len({p.query.outline for here in found.values() for p in here}))
    grouped = [groups[g].text for g in c.groups]
    alone = {text.column for text in grouped if text is not None and text.start is None}
    starts = {name: sum(p.column == name for p in table.prefixes.values()) for name in texts}
    choices = prod(1 if name in alone else 2 + starts[name] for name in texts)
    tied = len(c.columns) - len(texts)
    return choices * (2 << tied if tied else 1)
