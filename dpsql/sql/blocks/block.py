"""One SELECT block over a private table: what it asks, and what is left of it once the answers are a table.

Everything between a SELECT and its released table comes together here, in the order in which SQL defines it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice

from sqlglot import exp

from dpsql.errors import DataError, Error, UnsupportedQuery
from dpsql.memo import Memo
from dpsql.query import CountForms, Form, UnitTable, centered
from dpsql.sql.aggregates.aggregates import added, aggregation, is_aggregate
from dpsql.sql.aggregates.aggregation import Aggregation, CellsAsked, Summand
from dpsql.sql.blocks.levels import aliases_of, group_target
from dpsql.sql.blocks.naming import Namer
from dpsql.sql.blocks.pivots.pivot import REST
from dpsql.sql.blocks.rewrite import Parts, Rewriter, is_interval
from dpsql.sql.blocks.unions import several_groups, several_rows
from dpsql.sql.counting.awaiting import awaiting
from dpsql.sql.counting.cluster_pieces import Answer
from dpsql.sql.counting.evaluate import Evaluator
from dpsql.sql.counting.key_source import KeyLookup
from dpsql.sql.counting.lower import Lowering
from dpsql.sql.counting.matched import matched_of
from dpsql.sql.counting.summary_forms import summarised
from dpsql.sql.counting.values.rules import NEWEST, ValueRules
from dpsql.sql.counting.values.spans import Span
from dpsql.sql.expressions.bind import Binder, Lookup
from dpsql.sql.expressions.bound import Bound
from dpsql.sql.expressions.names import Scope, check_usable, quoted
from dpsql.sql.expressions.operators import unwrap
from dpsql.sql.expressions.remarks import Remarked, clip_remarks, null_remarks, order_remarks
from dpsql.sql.statement import Aggregate, Block, DirectColumn
from dpsql.sql.text.limits import LARGEST_BIGINT, MAX_CELLS
from dpsql.sql.text.parse import to_sql
from dpsql.sql.text.position import place, refusal

_CLAUSES = frozenset(
    {
        "with_", "expressions", "from_", "where", "group", "having", "qualify", "windows", "distinct", "order",
        "limit", "offset", "kind", "operation_modifiers",
    }
)  # fmt: skip
_CLAUSE_NAMES = {"locks": "FOR UPDATE", "sample": "USING SAMPLE"}

ANSWERED_CELLS = 1 << 23
"""Room for what was lowered before, in cells."""


@dataclass(eq=False)
class Services:
    """What lowering needs from outside the statement, shared by all statements of a front end."""

    evaluator: Evaluator
    namer: Namer
    answers: Memo[Answer] = field(default_factory=lambda: Memo(ANSWERED_CELLS))
    most_cells: int = MAX_CELLS
    """Of the grid of a query's columns."""
    products: bool = False
    """Whether a product of conditions may have a larger one."""
    distances: bool = True
    """As in ``ModelRules``."""
    values: ValueRules = NEWEST


@dataclass(frozen=True, eq=False)
class Asked:
    """What a block asks of its rows, whatever the condition is that they fulfil."""

    name: str
    scope: Scope
    groups: tuple[Bound, ...]
    aggregations: tuple[Aggregation, ...]
    needs_intervals: bool

    @property
    def _summands(self) -> list[Summand]:
        return [s for a in self.aggregations for s in a.summands]

    def lowering(self, text: str, condition: Sequence[Bound], services: Services, keys: KeyLookup) -> Lowering:
        """The lowering for the rows that fulfil every conjunct of ``condition``. Raises UnsupportedQuery."""
        table, summands = self.scope.table, self._summands
        return Lowering(
            text,
            table,
            services.evaluator,
            services.answers,
            condition,
            self.groups,
            summands,
            keys,
            services.most_cells,
            products=services.products,
            values=services.values,
        )

    def block(self, lowering: Lowering) -> Block:
        """The block. Raises UnsupportedQuery for numbers that are too large, DataError for what is no number."""
        numbered = enumerate(self._summands)
        found = [self._aggregate(i, a, lowering, numbered) for i, a in enumerate(self.aggregations)]
        both = zip(found, matched_of(lowering, self.aggregations), strict=True)
        aggregates = tuple([replace(a, matched=m.columns, by_string=m.by_string) if m.columns else a for a, m in both])
        count, table = len(self.groups), self.scope.table
        return Block(
            self.name,
            table.name,
            tuple(f"g{i}" for i in range(count)),
            tuple(lowering.group_type(i) for i in range(count)),
            lowering.groups,
            aggregates,
            self.needs_intervals,
            lowering.cut(),
            tuple(dict.fromkeys([*lowering.matched, *chain.from_iterable(a.matched for a in aggregates)])),
            table if isinstance(table, UnitTable) else None,
            awaiting(table, self.groups, self.aggregations, lowering),
        )

    def _aggregate(
        self, number: int, a: Aggregation, lowering: Lowering, numbered: Iterator[tuple[int, Summand]]
    ) -> Aggregate:
        """An aggregate; takes its summands from ``numbered``."""
        if a.summary is not None:
            return summarised(f"a{number}", a, lowering, list(islice(numbered, len(a.summands))))
        forms = lowering.forms(list(islice(numbered, len(a.numerator))))
        denominator = list(islice(numbered, len(a.denominator or ())))
        counts = isinstance(forms, CountForms)
        fits = counts or all(abs(t.coefficient) <= LARGEST_BIGINT for f in forms for t in f.terms)
        whole = fits and a.integral and all(lowering.numbers.are_integral(s) for s in a.numerator)
        low, high = _range(a, lowering)
        divisor = lowering.forms(denominator) if denominator else None
        center = 0.0 if divisor is None else sum(map(lowering.numbers.center, a.numerator))
        centers = (center,) * len(forms) if center else ()
        if divisor is not None and a.numerator[0].value is not None and a.numerator[0].value.straight is not None:
            both = [centered(top, bottom) for top, bottom in zip(forms, divisor, strict=True)]
            forms, centers = tuple(form for form, _ in both), tuple(center + own for _, own in both)
        nonnegative = all(lowering.numbers.add(s) for s in a.numerator)
        lone = divisor is None and len(a.numerator) == 1 and a.numerator[0].value is not None and not nonnegative
        signs = lowering.numbers.signs(a.numerator[0], forms) if lone else ()
        spans = () if divisor is None or low is None or high is None else _spans(a, lowering, divisor, (low, high))
        of_rows = divisor is None and [(s.value, s.coefficient) for s in a.numerator] == [(None, 1.0)]
        kind, ends = "BIGINT" if whole else "DOUBLE", (low, high, centers)
        return Aggregate(
            f"a{number}", kind, forms, divisor, *ends, nonnegative, spans=spans, signs=signs, of_rows=of_rows
        )


@dataclass(frozen=True, eq=False)
class Lowered:
    """A block with its direct columns, when its select list is nothing but groups and aggregates."""

    block: Block
    asked: Asked
    direct: tuple[DirectColumn, ...] | None


class BlockLowering:
    """Lowers one block; its SELECT node is rewritten in place by ``finish``.

    ``aliases``: what names of the select list stand for, where the SELECT is a level of another one's groups.
    """

    def __init__(
        self,
        text: str,
        name: str,
        select: exp.Select,
        scope: Scope,
        services: Services,
        lookup: Lookup,
        nested: Callable[[exp.Expr], None],
        keys: KeyLookup,
        aliases: Mapping[str, exp.Expr] | None = None,
    ) -> None:
        self.text, self.name, self.select, self.scope = text, name, select, scope
        self._services = services
        self._nested = nested
        self._keys = keys
        aliases = aliases_of(select) if aliases is None else aliases
        self._aliases = aliases
        self._binder = Binder(text, scope, aliases, lookup)
        self._sides = [(s, Binder(text, s, aliases, lookup)) for s in scope.branches]
        self._conditions: list[tuple[Bound, ...]] = []
        self._groups: list[Bound] = []
        self._group_sql: dict[str, int] = {}
        self._aggregations: list[Aggregation] = []
        self._measured: dict[str, int] = {}
        self._intervals = False

    @property
    def remarks(self) -> list[Remarked]:
        """What the block asks beyond declared values, or may ask."""
        return list(dict.fromkeys([*self._binder.remarks, *(r for _, b in self._sides for r in b.remarks)]))

    def lower(self) -> Lowered:
        """The block; afterwards the SELECT reads the released table (see ``finish`` for direct ones)."""
        select = self.select
        self._check_clauses()
        if not self.scope.branches:
            check_usable(self.text, select, self.scope)
        where = select.args.get("where")
        condition = [*self.scope.condition, *self._conjuncts(self._binder)]
        if self._sides:  # what each side fulfils is the condition of its own sums
            self._conditions = [(*s.condition, *self._conjuncts(b)) for s, b in self._sides]
            condition = []
        self._bind_groups()
        direct = self._direct()
        names = None if direct is not None else self._services.namer.names(select, self.scope)
        if names is not None:
            self._rewrite(names)
        asked = Asked(self.name, self.scope, tuple(self._groups), tuple(self._aggregations), self._intervals)
        return Lowered(self._block(condition, where, asked), asked, direct)

    def _conjuncts(self, binder: Binder) -> list[Bound]:
        where = self.select.args.get("where")
        return [] if where is None else binder.conjuncts(where.this)

    def _check_clauses(self) -> None:
        for key, value in self.select.args.items():
            if value and key not in _CLAUSES:
                raise refusal(
                    self.text,
                    self.select,
                    f"{_CLAUSE_NAMES.get(key, key.strip('_').upper())} is not answered on a private table",
                    "docs/sql.md lists what is",
                )
        if self.select.args.get("kind"):
            raise refusal(self.text, self.select, "SELECT AS is not answered", "select columns")

    def _bind_groups(self) -> None:
        select = self.select
        group = select.args.get("group")
        if group is None:
            if select.args.get("distinct") is not None and not self._aggregates_anywhere():
                for item in select.expressions:
                    self._add_group(item.this if isinstance(item, exp.Alias) else item)
            return
        if group.args.get("all"):
            for item in select.expressions:
                inner = item.this if isinstance(item, exp.Alias) else item
                if not self._is_released(inner):
                    self._add_group(inner)
        for node in group.expressions:
            self._add_group(group_target(self.text, node, select, self.scope))

    def _is_released(self, node: exp.Expr) -> bool:
        """Whether GROUP BY ALL passes over an expression: it holds an aggregate, perhaps behind an alias."""
        seen = set(self.scope.names)
        stack = [node]
        while stack:
            for n in stack.pop().walk():
                if is_aggregate(n) or is_interval(n):
                    return True
                if isinstance(n, exp.Column) and n.args.get("table") is None and n.name.lower() not in seen:
                    seen.add(n.name.lower())
                    if n.name.lower() in self._aliases:
                        stack.append(self._aliases[n.name.lower()])
        return False

    def _add_group(self, node: exp.Expr) -> None:
        bound = self._binder.bind(unwrap(node))
        if any(b.bind(unwrap(node)).sql != bound.sql for _, b in self._sides):
            raise refusal(self.text, node, *several_groups(self.scope))
        self._binder.remarks += null_remarks(self.scope.table, (bound,), grouped=True)
        if bound.sql not in self._group_sql:
            self._group_sql[bound.sql] = len(self._groups)
            self._groups.append(bound)

    def _aggregates_anywhere(self) -> bool:
        return any(is_aggregate(n) for item in self.select.expressions for n in item.walk())

    def _direct(self) -> tuple[DirectColumn, ...] | None:
        """The select list as columns of the block, when nothing else is asked."""
        args = self.select.args
        if any(args.get(k) for k in ("having", "qualify", "windows", "distinct", "order", "limit", "offset", "with_")):
            return None
        sources: list[str] = []
        for item in self.select.expressions:
            inner = unwrap(item.this if isinstance(item, exp.Alias) else item)
            if is_aggregate(inner):
                sources.append(self._measure(inner))
            elif self._groups and isinstance(inner, exp.Column):
                found = self._group_of(inner)
                if found is None:
                    return None
                sources.append(found)
            else:
                return None
        names = self._services.namer.names(self.select, self.scope)
        return tuple(DirectColumn(n, s) for n, s in zip(names, sources, strict=True))

    def _measure(self, node: exp.Expr) -> str:
        key = to_sql(node) if self._aggregations else ""
        if key and not self._measured:
            self._measured[to_sql(self._aggregations[0].node)] = 0
        index = self._measured.get(key)
        if index is None:
            index = len(self._aggregations)
            distances = self._services.distances and not self._sides  # of which each may have another range
            found = aggregation(self._binder, node, distances=distances)
            if self._sides:
                if found.summary is not None:
                    raise refusal(self.text, node, *several_rows(self.scope))
                found = added([aggregation(b, node) for _, b in self._sides], self._conditions)
            self._aggregations.append(found)
            for value in found.values:
                self._binder.remarks += clip_remarks(self.scope.table, value.columns)
            if isinstance(found.summary, CellsAsked) and found.summary.kind in ("min", "max"):
                self._binder.remarks += order_remarks(self.scope.table, found.values)
            if key:
                self._measured[key] = index
        return f"a{index}"

    def _group_of(self, node: exp.Expr) -> str | None:
        """The group column that ``node`` is, if it is one."""
        if not self._groups:
            return None
        before = len(self._binder.remarks)
        try:
            bound = self._binder.bind(unwrap(node))
        except Error:
            if isinstance(node, exp.Column) and node.name.lower() not in self._aliases:
                raise
            return None
        finally:  # of what is compared after counting, only groups are columns for certain
            new = self._binder.remarks[before:]
            self._binder.remarks[before:] = [r for r in new if quoted(r.column.name) in self._group_sql]
        index = self._group_sql.get(bound.sql)
        return None if index is None else f"g{index}"

    def _rewrite(self, names: list[str]) -> None:
        """Turns the SELECT into one over the released table."""
        copies = {name: node.copy() for name, node in self._aliases.items()}  # the select list is rewritten in place
        self._aliases = self._binder.aliases = copies
        for _, binder in self._sides:
            binder.aliases = copies
        parts = Parts(self._group_of, self._measure, self._nested)
        rewriter = Rewriter(self.text, self.name, self.scope, copies, parts)
        rewriter.rewrite(self.select, names)
        self._intervals = rewriter.intervals

    def _block(self, condition: list[Bound], where: exp.Expr | None, asked: Asked) -> Block:
        here = where if where is not None else self.select
        try:
            lowering = asked.lowering(self.text, condition, self._services, self._keys)
            here = self.select
            return asked.block(lowering)
        except (UnsupportedQuery, DataError) as error:
            refused = error
        line, column = place(self.text, here)
        if isinstance(refused, DataError):
            raise DataError(f"line {line}, column {column}: {refused}", hint=refused.hint)
        if refused.line is None:
            hint = refused.hint
            if self.select.meta.get(REST) and (hint or "").startswith("group by"):
                hint = "a PIVOT groups by all columns that it does not name: write GROUP BY and the others behind USING"
            refused = UnsupportedQuery(refused.reason, line=line, column=column, hint=hint)
        raise refused


def _range(a: Aggregation, lowering: Lowering) -> tuple[float | None, float | None]:
    """The least and the greatest value that is averaged; ``None`` where that is not known."""
    if a.constants is not None:
        return min(a.constants), max(a.constants)
    ends: list[tuple[float, float]] = []
    for part in a.numerator if a.denominator is not None and a.values_are != "unknown" else ():
        low, high = lowering.numbers.range(part)
        if low is None or high is None:
            return None, None
        both = (low, high) if a.values_are == "one" else (part.coefficient * low, part.coefficient * high)
        ends.append((min(both), max(both)))
    if not ends:
        return None, None
    if a.values_are == "all":
        return sum(low for low, _ in ends), sum(high for _, high in ends)
    return min(low for low, _ in ends), max(high for _, high in ends)


def _spans(a: Aggregation, lowering: Lowering, counts: Sequence[Form], whole: Span) -> tuple[Span, ...]:
    """The same of each group, where its conditions may leave less; ``()`` where they do not."""
    if a.constants is not None or a.values_are != "one" or len(a.numerator) > 1:
        return ()
    return lowering.numbers.spans(a.numerator[0], counts, whole)
