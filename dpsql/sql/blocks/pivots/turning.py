"""Where a PIVOT may stand, and what takes its place there."""

from collections.abc import Callable, Sequence

from sqlglot import exp

from dpsql.sql.blocks.pivots.pivot import pivoted
from dpsql.sql.blocks.pivots.source import Source
from dpsql.sql.blocks.pivots.unpivot import unpivoted

Sources = Callable[[exp.Expr], Source]
"""What is known of an entry of FROM."""


def turned(text: str, node: exp.Pivot, source: Source) -> exp.Query:
    """The query that a PIVOT or UNPIVOT of ``source`` stands for."""
    return unpivoted(text, node, source) if node.args.get("unpivot") else pivoted(text, node, source)


def turned_entry(text: str, entry: exp.Expr, sources: Sources) -> exp.Expr:
    """An entry of FROM with every PIVOT behind it, innermost first, as a subquery; itself where there is none."""
    pivots: Sequence[exp.Pivot] = entry.args.get("pivots") or ()
    if not pivots:
        return entry
    bare = entry.copy()
    bare.set("pivots", None)
    for node in pivots:
        alias = node.args.get("alias")
        made = turned(text, node, sources(bare))
        bare = exp.Subquery(this=made, alias=None if alias is None else alias.copy())
    return bare
