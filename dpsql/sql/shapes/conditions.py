"""The conjuncts of a WHERE: each shape is read once, then its values are bound.

A shape is trusted when sqlglot read it, alone behind WHERE and with made-up values, as an expression of the nodes
below. Among these no literal's text decides how it is read, and none binds less tightly than AND: so with other values,
and between other conjuncts, the same tree is read.
"""

from collections.abc import Callable, Hashable
from threading import Lock
from typing import NamedTuple

from sqlglot import exp

from dpsql.domain import TableDomain, TextDomain, cell_values
from dpsql.errors import Error
from dpsql.memo import Memo
from dpsql.query import Factor, Interval, Weights, linear_query
from dpsql.sql.counting.evaluate import Evaluator
from dpsql.sql.counting.fulfilled import settled
from dpsql.sql.expressions import number_predicates, string_predicates
from dpsql.sql.expressions.bind import Binder
from dpsql.sql.expressions.bound import Bound
from dpsql.sql.expressions.names import Scope
from dpsql.sql.shapes.cut import Given
from dpsql.sql.statement import Remark
from dpsql.sql.text.limits import MAX_LIST_ITEMS, check_text
from dpsql.sql.text.parse import parse

CACHED_CELLS = 1 << 20
SHAPES = 2048

_ROOTS = frozenset(
    {exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.In, exp.Between, exp.Is, exp.Like, exp.Not, exp.Paren}
)
_NODES = _ROOTS | {exp.Boolean, exp.Column, exp.Identifier, exp.Literal, exp.Neg, exp.Null}
_MADE_UP = 900_000_000


class Condition(NamedTuple):
    """A conjunct in one scope. Decided on one finite column: ``weights`` of its cells, and their canonical factors.

    ``factors`` are ``None`` when all weights are 0, and for a conjunct that is not decided (``weights`` is ``None``).
    ``position`` is the column's in its table. Of a stretch of a number column's values there are no weights, but the
    factors of the bins that it touches and the ``intervals`` by which it cuts them, if it does.
    """

    bounds: tuple[Bound, ...]
    column: str = ""
    position: int = 0
    weights: Weights | None = None
    factors: tuple[Factor, ...] | None = None
    remarks: tuple[Remark, ...] = ()
    intervals: tuple[Interval, ...] = ()


class _Shape(NamedTuple):
    """The tree of a conjunct, and how to put each value into it."""

    tree: exp.Expr
    places: tuple[exp.Literal | exp.In, ...]
    """Where each value stands: a literal, or the IN of a list."""


class Conditions:
    """Conjuncts by their text, and their shapes. Safe to use from several threads."""

    def __init__(self, check: Callable[[str], None], evaluator: Evaluator) -> None:
        """``check`` raises for a text that is no SQL."""
        self._check = check
        self._evaluator = evaluator
        self._shapes: Memo[_Shape | bool] = Memo(SHAPES)
        self._known: Memo[Condition] = Memo(CACHED_CELLS)
        self._lock = Lock()
        self.get = self._known.get
        """The condition that was kept under a key; ``None`` for a new one."""

    def read(self, key: Hashable, given: Given, scope: Scope) -> Condition | None:
        """The condition in a scope of a private table; ``None`` for what the ordinary way has to read."""
        shape = self._shapes.get((given.gaps, given.kinds))
        if shape is None:
            shape = self._shapes.put((given.gaps, given.kinds), _learn(given, self._check) or False)
        if not isinstance(shape, _Shape) or max(map(len, given.values), default=0) > MAX_LIST_ITEMS:
            return None
        with self._lock:
            for place, kind, value in zip(shape.places, given.kinds, given.values, strict=True):
                if kind in "sn":
                    place.args["this"] = value
                else:
                    place.set("expressions", [exp.Literal(this=v, is_string=kind == "S") for v in value])
            binder = Binder("", scope, {}, _no_lookup)
            try:
                bounds = tuple(binder.conjuncts(shape.tree))
            except Error:
                return None
        for bound in bounds:
            if not bound.columns:  # WHERE 1 = 2 publicly shows no row: that is seen in the whole tree
                return None
        condition = _decided(scope.table, bounds)
        if binder.remarks:
            condition = condition._replace(remarks=settled(self._evaluator, binder.remarks))
        size = 0 if condition.weights is None else condition.weights.size
        return self._known.put(key, condition, size + 64)

    def cell(self, table: TableDomain, column: str, code: int) -> Condition:
        """The condition that a finite column has one value."""
        key = (table.name, column, code)
        known = self._known.get(key)
        if known is None:
            weights = number_predicates.one_cell(table.finite_domain(column), code)
            known = self._known.put(key, weighed(table, (), column, weights), weights.size + 64)
        return known


def weighed(table: TableDomain, bounds: tuple[Bound, ...], column: str, weights: Weights) -> Condition:
    """A condition that is decided on one finite column."""
    weights.setflags(write=False)
    query = linear_query(table, [Factor((column,), weights)])
    return Condition(bounds, column, table.order[column], weights, None if query is None else query.factors)


def _decided(table: TableDomain, bounds: tuple[Bound, ...]) -> Condition:
    if len(bounds) != 1 or len(bounds[0].columns) != 1:
        return Condition(bounds)
    (bound,) = bounds
    (column,) = bound.columns
    domain = table.by_name[column.lower()]
    if isinstance(domain, TextDomain) or bound.steps:  # a condition may hold for a part of a binned column's cell
        return Condition(bounds)
    weights: Weights | None = None
    if bound.listed is not None:
        weights = string_predicates.truth_table(bound.listed, cell_values(domain))
    elif bound.compared is not None:
        weights = number_predicates.truth_table(bound.compared, domain)
    return Condition(bounds) if weights is None else weighed(table, bounds, column, weights)


def _learn(given: Given, check: Callable[[str], None]) -> _Shape | None:
    """The shape of a conjunct, read with values that occur nowhere else; ``None`` where it is not to be trusted."""
    made_up: list[tuple[str, ...]] = []
    text = given.gaps[0]
    for number, (kind, gap) in enumerate(zip(given.kinds, given.gaps[1:], strict=True)):
        names = [str(_MADE_UP + 2 * number + i) for i in range(2 if kind.isupper() else 1)]
        made_up.append(tuple(names))
        text += ", ".join(f"'{n}'" if kind in "sS" else n for n in names) + gap
    try:
        alone = check_text(f"SELECT 1 FROM t WHERE {text}")
        select = parse(alone)
        check(alone)
    except Error:
        return None
    where = select.args.get("where")
    clauses = {k for k, v in select.args.items() if v}
    if type(select) is not exp.Select or where is None or clauses != {"expressions", "from_", "where"}:
        return None
    tree = where.this
    if type(tree) not in _ROOTS or any(type(n) not in _NODES for n in tree.walk()):
        return None
    found = list(tree.find_all(exp.Literal))
    literals = {n.this: n for n in found}
    if len(literals) < len(found) or set(literals) != {n for names in made_up for n in names}:
        return None
    places = [_place([literals[n] for n in names], kind) for names, kind in zip(made_up, given.kinds, strict=True)]
    return None if None in places else _Shape(tree, tuple(p for p in places if p is not None))


def _place(nodes: list[exp.Literal], kind: str) -> exp.Literal | exp.In | None:
    """Where the value of made-up literals stands; a list is all that an IN lists."""
    if any(n.is_string != (kind in "sS") for n in nodes):
        return None
    if kind in "sn":
        return nodes[0]
    listed = nodes[0].parent
    if not isinstance(listed, exp.In) or [id(n) for n in listed.expressions] != [id(n) for n in nodes]:
        return None
    return listed


def _no_lookup(query: exp.Expr) -> list[exp.Expr]:
    raise AssertionError("a conjunct of known shape holds no query")
