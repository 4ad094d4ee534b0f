"""Conditions on one number column as the stretch of its values that they leave: read once, by the ordinary way.

A count under such conditions and others that are decided column by column is the product of all of them.
"""

from collections.abc import Sequence

from dpsql.domain import NumberDomain, TableDomain
from dpsql.errors import Error
from dpsql.memo import Memo
from dpsql.sql.blocks.block import Services
from dpsql.sql.counting.key_source import KeyLookup
from dpsql.sql.counting.lower import Lowering
from dpsql.sql.expressions.bound import Bound
from dpsql.sql.shapes.conditions import Condition

STRETCHES = 8192
_NONE = False
"""Instead of a condition: no one stretch says it."""


class Stretches:
    """The stretches of the number columns of one policy's tables."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._known: Memo[Condition | bool] = Memo(STRETCHES)

    def of(self, table: TableDomain, column: str, bounds: Sequence[Bound]) -> Condition | None:
        """The conditions as one; ``None`` where they are not about a number column alone, or leave several stretches
        or weigh its rows."""
        key = (table.name, column, *(b.sql for b in bounds))
        known = self._known.get(key)
        if known is None:
            known = self._known.put(key, self._found(table, column, bounds) or _NONE)
        return known if isinstance(known, Condition) else None

    def _found(self, table: TableDomain, column: str, bounds: Sequence[Bound]) -> Condition | None:
        domain = table.by_name[column.lower()]
        if not isinstance(domain, NumberDomain) or any(b.columns != {column} for b in bounds):
            return None
        services = self._services
        rest = services.evaluator, services.answers, bounds, (), (), KeyLookup(None), services.most_cells
        try:
            (form,) = Lowering("", table, *rest, values=services.values).counts()
        except Error:
            return None
        if not form.terms:
            return Condition(tuple(bounds), column, table.order[column])
        (term, *others) = form.terms
        query = term.query
        counts = term.coefficient == 1.0 and not term.doubt and query.is_indicator and query.keyed is None
        if others or not counts or not {*query.scope, *(i.column for i in query.intervals)} <= {column}:
            return None
        return Condition(tuple(bounds), column, table.order[column], None, query.factors, intervals=query.intervals)
