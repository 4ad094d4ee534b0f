"""A session: one policy, one ledger, one hypothesis. The whole way of a statement, one line per stage."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from threading import RLock

import pyarrow as pa

from dpsql.accounting import Plan
from dpsql.domain import TableDomain
from dpsql.engine.protocol import Engine
from dpsql.errors import BudgetExhausted
from dpsql.ledger.protocol import Ledger
from dpsql.mechanism import Entropy
from dpsql.policy import Policy
from dpsql.postprocess import arrow_array, combine, divide, released_table
from dpsql.query import Form, LinearQuery
from dpsql.result import Answer, Budget, Explanation, Result
from dpsql.session.asking import Asker
from dpsql.session.explaining import explanation
from dpsql.session.outlook import outlook
from dpsql.session.table_state import same_shape
from dpsql.sql import FrontEnd
from dpsql.sql.public_sql import PublicSql
from dpsql.sql.statement import Aggregate, Block, Statement

Parameters = Sequence[object] | Mapping[str, object] | None


class Session:
    """Answers statements of one analyst; thread-safe by one lock, so statements run one after another."""

    def __init__(
        self, engine: Engine, ledger: Ledger, policy: Policy, plan: Plan, public: PublicSql, entropy: Entropy
    ) -> None:
        self._engine = engine
        self._ledger = ledger
        self._policy = policy
        self._plan = plan
        self._public = public
        self._front_end = FrontEnd(policy, public)
        self._asker = Asker(policy, plan, engine, ledger, entropy)
        self._lock = RLock()
        self._closed = False

    @property
    def notices(self) -> tuple[str, ...]:
        """What the owner should know about how the session was opened, one sentence each."""
        return tuple(self._ledger.notices)

    def execute(self, text: str, parameters: Parameters = None) -> Result:
        """Lower, refuse or ask, combine, post-process; charged as the result's answers say."""
        with self._lock:
            self._asker.catch_up()
            statement = self._lower(text, parameters)
            charged = sum(self._asker.release_keys(*column) for column in statement.awaited)
            if statement.awaited:
                statement = self._lower(text, parameters)
            answers = self._ask_all(statement)
            if charged > 0 and answers:
                first = next(iter(answers))
                answers[first] = replace(answers[first], charged=answers[first].charged + charged)
            blocks = [self._answered(block, answers) for block in statement.blocks]
            return replace(self._result(statement, blocks), notes=self._notes(statement))

    def explain(self, text: str, parameters: Parameters = None) -> Explanation:
        """The statement's public plan; charges nothing, touches no data."""
        with self._lock:
            self._asker.catch_up()
            statement = self._lower(text, parameters)
            return explanation(statement, queries_of(statement), self._asker)

    def budget(self) -> Budget:
        """What has been spent, over all processes that share the ledger."""
        with self._lock:
            self._asker.catch_up()
            totals, plan = self._ledger.totals(), self._plan
            epsilon, spent = float(plan.epsilon), plan.epsilon_share(totals.spent)
            answered, free = self._ledger.count_answers()
            left = self._asker.hard_rounds_left()
            return Budget(
                epsilon,
                float(plan.delta),
                spent,
                epsilon - spent,
                left,
                answered,
                free,
                self._asker.purses.shares(),
                tuple(outlook(state) for state in self._asker.states.values()),
                self._asker.payments_left() if plan.questions else None,
            )

    def spent_epsilon(self) -> float:
        """``budget().spent_epsilon`` alone, which costs microseconds."""
        with self._lock:
            return self._plan.epsilon_share(self._ledger.totals().spent)

    def tables(self) -> tuple[TableDomain, ...]:
        """The private tables as the policy declares them."""
        return self._policy.tables

    def on_progress(self, report: Callable[[str, str, int, int], None]) -> None:
        """Call ``report(table, what, done, of)`` while a table is looked at for the first time."""
        self._asker.warm_starter.progress = report
        for state in self._asker.states.values():
            state.progress = report

    def close(self) -> None:
        """Give the unused reservation back, keep buffered answers; idempotent."""
        with self._lock:
            if not self._closed:
                self._closed = True
                try:
                    self._asker.close()
                finally:
                    self._ledger.close()
                    self._engine.close()

    def _lower(self, text: str, parameters: Parameters) -> Statement:
        return self._front_end.lower(text, parameters, keys=self._asker if self._asker.selects_keys else None)

    def _notes(self, statement: Statement) -> tuple[str, ...]:
        """What a reader of groups by strings must know."""
        found = ((column, self._asker.keys(table, column)) for table, column in statement.grouped)
        return tuple(
            f"only the frequent strings of {column} that were released are groups ({len(keys or ()):,} of them)"
            for column, keys in found
        )

    def _ask_all(self, statement: Statement) -> dict[str, Answer]:
        """Answers by query key, asked in the statement's order; what was known is free."""
        asker = self._asker
        queries = queries_of(statement)
        answers = {q.key: known for q in queries if (known := asker.known(q)) is not None}
        missing = [q for q in queries if q.key not in answers]
        self._check_budget(missing)
        measured: list[LinearQuery] = []
        for query in missing:
            if query.key in answers:
                continue
            if asker.states[query.table].asked_together(query):
                together = [q for q in missing if q.key not in answers and same_shape(q, query)]
                answers |= {q.key: a for q, a in zip(together, asker.ask_together(together), strict=True)}
                continue
            answer = None
            if any(same_shape(query, m) for m in measured):
                answer = asker.ask_after_measurement(query)
            if answer is None:
                answer = asker.ask(query, missing)
                if answer.source == "measurement":
                    measured.append(query)
            answers[query.key] = answer
        return answers

    def _check_budget(self, missing: Sequence[LinearQuery]) -> None:
        """A statement that cannot be paid in full is never answered in part (``when_spent = "refuse"``)."""
        asker = self._asker
        for name in dict.fromkeys(q.table for q in missing):
            asker.check_total(name)
        if self._policy.mechanism.when_spent != "refuse" or not missing:
            return
        worst, left = asker.worst_payments(missing), asker.payments_left()
        if worst > left:
            share = asker.payment_share()
            raise BudgetExhausted(
                f"this statement may need {worst} {asker.payment_name}s, {left} are left",
                requested=worst * share,
                remaining=left * share,
            )

    def _answered(self, block: Block, answers: Mapping[str, Answer]) -> list[tuple[Answer, ...]]:
        """One answer per group for each aggregate of the block."""
        shown: set[str] = set()

        def lookup(query: LinearQuery) -> Answer:
            answer = answers[query.key]
            if query.key in shown and answer.charged:  # a charge is shown once, where its number is first used
                return _free(answer)
            shown.add(query.key)
            return answer

        def value(aggregate: Aggregate, group: int) -> Answer:
            integer = aggregate.sql_type == "BIGINT" and aggregate.denominator is None
            top = combine(aggregate.numerator[group], lookup, integer=integer)
            if aggregate.denominator is None:
                return top
            bottom = combine(aggregate.denominator[group], lookup, integer=False)
            return divide(top, bottom, aggregate.low, aggregate.high)

        return [tuple(value(a, g) for g in range(len(block.groups))) for a in block.aggregates]

    def _result(self, statement: Statement, blocks: list[list[tuple[Answer, ...]]]) -> Result:
        if statement.direct is not None:
            return self._direct(statement, statement.blocks[0], blocks[0])
        tables = {
            b.name: released_table(
                b.group_columns,
                b.group_types,
                b.groups,
                [(a.column, a.sql_type, values) for a, values in zip(b.aggregates, columns, strict=True)],
                intervals=b.needs_intervals,
            )
            for b, columns in zip(statement.blocks, blocks, strict=True)
        }
        table = self._public.run(statement.outer_sql or "", tables, statement.public_tables)
        released = tuple(a for columns in blocks for row in zip(*columns, strict=True) for a in row)
        if statement.row_column is None:
            return Result(table, _types(table), {}, released)
        rows = table.column(0).to_pylist()
        table = table.drop_columns([table.column_names[0]])
        by_name = {a.column: values for a, values in zip(statement.blocks[0].aggregates, blocks[0], strict=True)}
        columns = {
            i: tuple(by_name[source][r] for r in rows)
            for i, source in enumerate(statement.outer_columns)
            if source in by_name
        }
        return Result(table, _types(table), columns, () if columns else released)

    def _direct(self, statement: Statement, block: Block, columns: list[tuple[Answer, ...]]) -> Result:
        """The fast path: the block's rows are the result."""
        groups = {name: i for i, name in enumerate(block.group_columns)}
        aggregates = {a.column: i for i, a in enumerate(block.aggregates)}
        arrays, types, answers = [], [], {}
        for position, column in enumerate(statement.direct or ()):
            if column.source in groups:
                i = groups[column.source]
                sql_type = block.group_types[i]
                arrays.append(arrow_array([g[i] for g in block.groups], sql_type))
            else:
                i = aggregates[column.source]
                sql_type = block.aggregates[i].sql_type
                answers[position] = columns[i]
                arrays.append(arrow_array([a.value for a in columns[i]], sql_type))
            types.append(sql_type)
        names = [c.name for c in statement.direct or ()]
        return Result(pa.table(arrays, names=names), tuple(types), answers)


def queries_of(statement: Statement) -> list[LinearQuery]:
    """The distinct linear queries of a statement in asking order: block, group, aggregate, term."""
    out: dict[str, LinearQuery] = {}
    for block in statement.blocks:
        for group in range(len(block.groups)):
            for aggregate in block.aggregates:
                for query in _form_queries(aggregate, group):
                    out.setdefault(query.key, query)
    return list(out.values())


def _form_queries(aggregate: Aggregate, group: int) -> Iterable[LinearQuery]:
    forms: list[Form] = [aggregate.numerator[group]]
    if aggregate.denominator is not None:
        forms.append(aggregate.denominator[group])
    return (term.query for form in forms for term in form.terms)


def _free(answer: Answer) -> Answer:
    return replace(answer, charged=0.0)


def _types(table: pa.Table) -> tuple[str, ...]:
    return tuple(_TYPE_NAMES.get(str(t), str(t).upper()) for t in table.schema.types)


_TYPE_NAMES = {
    "int64": "BIGINT",
    "int32": "INTEGER",
    "int16": "SMALLINT",
    "int8": "TINYINT",
    "double": "DOUBLE",
    "float": "FLOAT",
    "string": "VARCHAR",
    "large_string": "VARCHAR",
    "bool": "BOOLEAN",
    "date32[day]": "DATE",
    "timestamp[us]": "TIMESTAMP",
}
