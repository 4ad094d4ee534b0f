"""The outer statement over many draws of its released tables at once.

How far a computed number can be off is found by computing it again from released tables that are off as much as theirs
can be. One statement with a lateral join does that for all draws: DuckDB plans it once. What only cuts or orders the
last rows is left out, so that a row near a threshold is there in every draw; and a denominator at or below 0 becomes 0,
so that its quotient is infinite in that draw instead of a number.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from sqlglot import exp

from dpsql.sql.aggregates.aggregates import is_aggregate
from dpsql.sql.blocks.lineage import Lineage, NotUnderstoodError, is_plain
from dpsql.sql.expressions.functions import LOWERED
from dpsql.sql.expressions.names import quoted
from dpsql.sql.expressions.operators import unwrap
from dpsql.sql.statement import DRAW, DRAWS, Block, Dependence, Redraw
from dpsql.sql.text.parse import parse, to_sql

_ROWS = "_released_rows"


class Redrawn(NamedTuple):
    """``redraw`` is ``None`` when no number is computed from released ones.

    ``counts_rows``: whether a number goes by how many groups there are, as that of COUNT and AVG does and that of SUM
    does not, where no condition on released numbers chooses among them.
    """

    redraw: Redraw | None
    counts_rows: bool


def redraw(
    tree: exp.Expr,
    blocks: Sequence[Block],
    public_columns: Callable[[str], Sequence[str]],
    shown: Sequence[str | None],
    numeric: Sequence[bool],
    *,
    numbered: bool,
) -> Redrawn:
    """The outer statement once more. ``tree`` is left as it is.

    ``shown``: for each output column the aggregate column that it shows unchanged (empty: none does). ``numeric``:
    which output columns hold numbers. ``numbered``: the first column is the row number.
    """
    tree = tree.copy()
    lineage = Lineage(blocks, public_columns)
    try:
        outputs = lineage.outputs(tree)[numbered:]
    except NotUnderstoodError:
        outputs = ()
    understood = len(outputs) == len(numeric)
    if not understood:
        outputs = _everything(blocks, numeric)
    unchanged = shown or [None] * len(outputs)
    counts_rows = understood and not lineage.dependent and any(_goes_by_rows(n) for n in tree.walk())
    if not any(d.sources and s is None for d, s in zip(outputs, unchanged, strict=True)):
        return Redrawn(None, counts_rows)
    _uncut(tree, lineage.dependent, tree)
    for division in list(tree.find_all(exp.Div, exp.IntDiv, exp.Mod)):
        _guard(division)
    by_name = {b.name: b for b in blocks}
    for table in list(tree.find_all(exp.Table)):
        if table.name in by_name:
            _draw(table, by_name[table.name])
    sql = f"SELECT {DRAWS}.{DRAW}, {_ROWS}.* FROM {DRAWS}, LATERAL ({to_sql(tree)}) AS {_ROWS}"
    return Redrawn(Redraw(sql, outputs), counts_rows)


def _goes_by_rows(node: exp.Expr) -> bool:
    """Whether it is an aggregate that one more group, with a count of 0, changes."""
    return isinstance(node, exp.Anonymous) and is_aggregate(node) and LOWERED.get(node.name.lower()) != "sum"


def _everything(blocks: Sequence[Block], numeric: Sequence[bool]) -> tuple[Dependence, ...]:
    """What the columns of a statement that is not understood are computed from: the numbers among them from all."""
    sources = frozenset((b.name, a.column) for b in blocks for a in b.aggregates)
    return tuple(Dependence(sources if n else frozenset(), local=False) for n in numeric)


def _uncut(node: exp.Expr, dependent: Sequence[exp.Expr], tree: exp.Expr) -> None:
    """Leaves out what only cuts or orders the rows of the last SELECT, and of those that it takes row by row."""
    if isinstance(node, exp.SetOperation):
        for key in ("order", "limit", "offset"):
            node.set(key, None)
    if not isinstance(node, exp.Select) or node.args.get("distinct") is not None:
        return
    for key in ("order", "limit", "offset", "qualify"):
        node.set(key, None)
    source, where = node.args.get("from_"), node.args.get("where")
    if source is None or not is_plain(node):
        return
    if where is not None:
        for condition in [c for c in where.walk() if any(c is d for d in dependent)]:
            condition.replace(exp.true())
    inner = source.this
    if isinstance(inner, exp.Table):
        name = inner.name.lower()
        once = sum(t.name.lower() == name for t in tree.find_all(exp.Table)) == 1
        inner = next((c for c in tree.find_all(exp.CTE) if once and c.alias.lower() == name), inner)
    if isinstance(inner, (exp.Subquery, exp.CTE)):
        _uncut(inner.this, dependent, tree)


def _guard(division: exp.Expr) -> None:
    """A denominator of released numbers counts as 0 (``//`` and ``%``: NULL) where a draw takes it to 0 or below.

    One that divides itself is left alone: it would be written twice, and what it divides by is guarded.
    """
    below = division.args["expression"]
    if not any(isinstance(n, (exp.Column, exp.Query)) for n in below.walk()) or below.find(exp.Div, exp.IntDiv):
        return
    floor = exp.Literal.number(0) if isinstance(division, exp.Div) else exp.Null()
    bare = unwrap(below)
    test = exp.LTE(this=exp.paren(bare.copy(), copy=False), expression=exp.Literal.number(0))
    case = exp.Case(ifs=[exp.If(this=test, true=floor)], default=bare.copy())
    below.replace(exp.paren(case, copy=False))


def _draw(table: exp.Table, block: Block) -> None:
    """A released table becomes its rows of one draw."""
    columns = ", ".join(quoted(name) for name in block.schema.names)
    rows = parse(f"SELECT {columns} FROM {block.name} WHERE {DRAW} = {DRAWS}.{DRAW}")
    alias = exp.TableAlias(this=exp.to_identifier(table.alias or block.name))
    table.replace(exp.Subquery(this=rows, alias=alias))
