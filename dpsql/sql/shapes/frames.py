"""What surrounds a WHERE: read once without a condition, then put around any condition.

A frame is one SELECT on one private table without queries inside; the rest of its lowering does not depend on WHERE:
the names of its columns, what it asks of the rows, the statement over the released table.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from dpsql.domain import FiniteDomain, TextDomain
from dpsql.errors import Error
from dpsql.sql.blocks.block import Asked
from dpsql.sql.blocks.reading import Reader
from dpsql.sql.counting.key_source import KeyLookup
from dpsql.sql.expressions.names import Scope, quoted
from dpsql.sql.statement import Block, Remark, Statement
from dpsql.sql.text.limits import check_text
from dpsql.sql.text.parse import parse

_MARK = "271828182845904"
MOST_GROUPS = 256


@dataclass(frozen=True, eq=False)
class Frame:
    """A statement but for its condition. ``group`` is set for a plain count by one finite column.

    ``counts``: it counts rows and asks nothing else, by no column or by ``group``. ``aliases`` are names that a
    condition must not mention: what they stand for could make it long.
    """

    scope: Scope
    asked: Asked
    statement: Statement
    aliases: frozenset[str]
    counts: bool
    group: FiniteDomain | None

    def around(self, text: str, block: Block, remarks: Sequence[Remark] = ()) -> Statement | None:
        """The statement of a text whose block was lowered; ``None`` if the types of its columns are others.

        ``remarks``: those on its condition.
        """
        known, remarked = self.statement.blocks[0], (*self.statement.remarks, *remarks)
        if self.statement.outer_sql is None:
            return Statement(text, (block,), self.statement.direct, None, remarks=remarked)
        if [a.sql_type for a in known.aggregates] != [a.sql_type for a in block.aggregates]:
            return None
        if known.group_types != block.group_types:
            return None
        return replace(self.statement, text=text, blocks=(block,), remarks=remarked)


def read_frame(head: str, tail: str, reader: Reader) -> Frame | None:
    """The frame; ``None`` for what the ordinary way has to read each time. ``head`` ends with WHERE."""
    if _MARK in head or _MARK in tail:
        return None
    bare = f"{head.rstrip()[: -len('WHERE')]} {tail}"
    try:
        tree = parse(check_text(f"{head}{_MARK} = {_MARK} {tail}"))
        if not _is_frame(tree):
            return None
        aliases = frozenset(i.alias.lower() for i in tree.expressions if isinstance(i, exp.Alias))
        tree.set("where", None)
        if tree != parse(bare):
            return None
        statement, asked = reader.read(bare, None, KeyLookup(None))
    except (Error, RecursionError):
        return None
    if len(statement.blocks) != 1 or len(asked) != 1 or statement.public_tables or statement.grouped:
        return None
    scope, group = asked[0].scope, _group(asked[0])
    if not scope.base or scope.condition or any(b.outside for b in asked[0].groups):
        return None
    counts = _counts(asked[0]) and (group is not None or not asked[0].groups)
    return Frame(scope, asked[0], statement, aliases, counts, group)


def _is_frame(tree: exp.Expr) -> bool:
    """Whether the condition is the whole WHERE of the only SELECT, with one table and no parameters."""
    where = tree.args.get("where")
    if type(tree) is not exp.Select or where is None or type(where.this) is not exp.EQ:
        return False
    sides = {s.name for s in (where.this.this, where.this.expression) if type(s) is exp.Literal}
    many = [n for n in tree.find_all(exp.Query, exp.Table, exp.CTE, exp.Placeholder, exp.Parameter) if n is not tree]
    return sides == {_MARK} and [type(n) for n in many] == [exp.Table]


def _counts(asked: Asked) -> bool:
    if len(asked.aggregations) != 1:
        return False
    (a,) = asked.aggregations
    only = a.numerator[0] if len(a.numerator) == 1 and a.denominator is None else None
    return a.integral and only is not None and only.coefficient == 1 and not only.conjuncts and only.value is None


def _group(asked: Asked) -> FiniteDomain | None:
    """The finite column that is the only group."""
    if len(asked.groups) != 1 or len(asked.groups[0].columns) != 1:
        return None
    (column,) = asked.groups[0].columns
    domain = asked.scope.table.by_name[column.lower()]
    if isinstance(domain, TextDomain) or asked.groups[0].sql != quoted(column) or domain.size > MOST_GROUPS:
        return None
    return domain
