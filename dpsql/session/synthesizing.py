"""Synthetic tables of a session: what is wanted becomes a task, a method makes rows of it, and they are compared.

The session gives a method its table's model and the same bench and turns that its own releases use; what a method pays
goes through ``Steps`` alone.
"""

from collections.abc import Callable
from fractions import Fraction
from importlib.metadata import version
from math import floor

from dpsql.confidence import error_bound
from dpsql.domain import NumberDomain, TableDomain
from dpsql.errors import BudgetExhausted, DataError, Error, InternalError, UnknownName
from dpsql.query import LinearQuery
from dpsql.session.asker import Asker
from dpsql.session.table_state import TableState
from dpsql.sql.statement import Statement
from dpsql.synthesis.coins import digest
from dpsql.synthesis.methods import Entry, check_options, method_named
from dpsql.synthesis.quality import Quality, report
from dpsql.synthesis.released import SENTENCE, SyntheticTable
from dpsql.synthesis.steps import Steps
from dpsql.synthesis.synthetic import Synthetic
from dpsql.synthesis.task import Task
from dpsql.synthesis.wanted import DEFAULT_WORKLOAD, Part, RunForecast, Wanted
from dpsql.synthesis.workload import Workload, generated, is_word, split

LARGEST_ROWS = 10_000_000
"""Rows of one synthetic table."""
Lower = Callable[[str], Statement]


class Synthesizing:
    """One synthetic table of one session: looked up when it is made, so that what is wrong is said before anything."""

    def __init__(self, asker: Asker, lower: Lower, wanted: Wanted) -> None:
        self._asker = asker
        self._wanted = wanted
        self._entry: Entry = method_named(wanted.method)
        check_options(wanted.method, wanted.options)
        self._state = _state(asker, wanted.table)
        self._workload = _workload(self._state.plan.table, wanted, lower)
        self._entry.check(self._state.plan.table, wanted, self._workload.told, asker.plan)
        self._units = self._allowed()
        self.run = self._name()

    # --- before it begins --------------------------------------------------------------------------------------

    def forecast(self) -> RunForecast:
        """What the run would do. BudgetExhausted when the ledger does not cover what it may still spend."""
        plan, runs = self._asker.plan, self._asker.fold.runs
        charged = dict(runs.spent_on(self._table.name))
        mine, lost = charged.pop(self.run, 0), runs.lost(self.run)
        left = self._left()
        wanted = self._units - (mine - lost)
        if wanted > left:
            raise BudgetExhausted(
                f"the run may spend epsilon {plan.as_epsilon(wanted):.3g}, and "
                f"{plan.as_epsilon(left):.3g} is left for synthetic tables",
                requested=plan.as_epsilon(wanted),
                remaining=plan.as_epsilon(left),
                hint=self._spare(plan.as_epsilon(left)),
            )
        return RunForecast(
            self.run,
            plan.as_epsilon(self._units),
            plan.as_epsilon(mine),
            len(runs.recorded(self.run)),
            plan.as_epsilon(left),
            tuple((run, plan.as_epsilon(units)) for run, units in charged.items()),
            plan.as_epsilon(self._first_units()),
            plan.as_epsilon(lost),
        )

    def _allowed(self) -> int:
        """Units that the run may spend. DataError where a method that pays is not told, or one that does not is."""
        wanted, asker = self._wanted, self._asker
        if not self._entry.pays:
            if wanted.epsilon is not None:
                raise DataError(f"{wanted.method} pays nothing", hint="leave epsilon out")
            return 0
        left = asker.plan.as_epsilon(self._left())
        if wanted.epsilon is None:
            raise DataError(
                f"{wanted.method} asks the private rows: say what it may spend",
                hint=self._spare(left),
            )
        if not 0 < wanted.epsilon <= asker.plan.epsilon:
            raise DataError(
                "epsilon is above 0 and at most the ledger's own",
                hint=self._spare(left),
            )
        return max(1, floor(Fraction(asker.plan.total_units) * wanted.epsilon / asker.plan.epsilon))

    def _left(self) -> int:
        """Units that synthetic tables may still spend."""
        return self._asker.turns.affordable_beside(only_row_counts=not self._wanted.keeps_first_look)

    def _spare(self, left: float) -> str:
        more = self._asker.plan.as_epsilon(self._asker.turns.affordable_beside(only_row_counts=True))
        said = [f"give at most epsilon {floor_to(left)}"] if left > 0 else []
        if more > left:
            said.append(f"epsilon {floor_to(more)} is left with --instead-of-first-look (keeps_first_look=False)")
        return "; ".join(said) or "nothing is left for synthetic tables: ask the owner for a new budget"

    def _name(self) -> str:
        wanted, table = self._wanted, self._table
        if wanted.rows is not None and not 0 < wanted.rows <= LARGEST_ROWS:
            raise DataError(f"rows are 1 to {LARGEST_ROWS:,}", hint="leave rows out for as many as the table has")
        told = [q.digest for q in self._workload.told]
        known = digest(table.name, wanted.method, told, self._units, wanted.rows, dict(wanted.options))
        return f"{wanted.method}:{known[:24]}"

    def _first_units(self) -> int:
        """Units that are spent before the method begins, at most."""
        touches = self._state.touches
        units = touches.row_count.unbegun_units() if self._state.model is None else 0
        return units + (touches.warm.next_units(self._scope()) if self._looks() else 0)

    def _looks(self) -> bool:
        """Whether the table is looked at first: for a method that knows nothing else, where the session never did."""
        warm = self._state.touches.warm
        if self._entry.pays or not self._scope():
            return False
        return not warm.measured or (not warm.touched_later and warm.keeps_waiting(self._scope()))

    def _scope(self) -> tuple[str, ...]:
        return tuple(self._state.plan.measured_columns)

    @property
    def _table(self) -> TableDomain:
        return self._state.plan.table

    # --- the table ---------------------------------------------------------------------------------------------

    def make(self) -> SyntheticTable:
        """Look first where that was never done, run the method, compare; charged as it says."""
        asker, wanted, table = self._asker, self._wanted, self._table
        self.forecast()
        before = asker.paid.units
        asker.first_touches(table.name, self._scope() if self._looks() else ())
        model = self._state.model
        if model is None:
            raise InternalError("a released row count is not in the ledger")
        heard = asker.on_progress

        def hear(what: str, done: int, of: int) -> None:
            if heard is not None:
                heard(table.name, what, done, of)

        task = Task(
            table,
            model,
            self._workload.told,
            self._units,
            wanted.rows,
            wanted.options,
            hear,
            asker.policy.privacy.neighbors,
        )
        steps = Steps(
            self.run,
            table.name,
            self._units,
            asker.bench,
            asker.turns,
            lambda: asker.fold.runs,
            keeps_first_look=wanted.keeps_first_look,
        )
        synthetic = self._entry.make(task, asker.bench, steps)
        positions = {c.name: model.positions(c.name) for c in table.finite if isinstance(c, NumberDomain)}
        return SyntheticTable(
            synthetic,
            asker.plan.as_epsilon(asker.paid.units - before),
            self._report(synthetic),
            self._facts(),
            self._notes(synthetic),
            self._workload,
            wanted.seed,
            {name: found.mean for name, found in positions.items()},
            {name: found.cells for name, found in positions.items() if found.counted},
            frozenset(name for name in positions if asker.bench.engine.is_of_integers(table.name, name)),
        )

    def _facts(self) -> dict[str, str]:
        spent = self._asker.fold.runs.spent_on(self._table.name).get(self.run, 0)
        return {
            "what": SENTENCE,
            "table": self._table.name,
            "method": self._wanted.method,
            "run": self.run,
            "run_epsilon": f"{self._asker.plan.as_epsilon(spent):.6g}",
            "workload": self._workload.digest,
            "dpsql": version("dpsql"),
        }

    def _notes(self, synthetic: Synthetic) -> tuple[str, ...]:
        empty = [c.name for c in self._table.text if c.name not in synthetic.keys]
        notes = [*self._workload.notes, *synthetic.notes]
        if not self._entry.pays and not self._scope():
            notes.append(f"{self._table.name} is never looked at first: its rows are made from what was asked so far")
        if empty:
            notes.append(f"{', '.join(empty)}: text, of which the table has no released keys; NULL in every row")
        return tuple(notes)

    def _report(self, synthetic: Synthetic) -> Quality:
        parts = {"workload": self._workload.told, "held out": self._workload.held_out}
        return report(synthetic, parts, self._public)

    def _public(self, query: LinearQuery) -> tuple[float, float] | None:
        """What the session knows of a query: a measurement that determines it, or the model's answer with its bar."""
        state = self._state
        found = state.measured(query)
        if found is not None:
            return float(found[0]), float(error_bound(found[1], not query.is_indicator))
        bar = state.error_bar(query)
        return None if bar is None or state.model is None else (state.model.estimate(query), float(bar))


def floor_to(epsilon: float) -> str:
    """``epsilon`` to three digits, never more of it than there is.

    >>> floor_to(0.12345), floor_to(0.0)
    ('0.123', '0')
    """
    text = f"{epsilon:.3g}"
    return text if Fraction(text) <= Fraction(epsilon) else f"{epsilon * 0.995:.3g}"


def _state(asker: Asker, name: str) -> TableState:
    found = next((s for n, s in asker.states.items() if n.lower() == name.lower()), None)
    if found is None:
        raise UnknownName(f"there is no private table {name}", name=name, suggestions=tuple(asker.states))
    return found


def _workload(table: TableDomain, wanted: Wanted, lower: Lower) -> Workload:
    if not table.varied:
        raise DataError(f"{table.name} has no column with a list of values", hint="declare its columns in the policy")
    parts = wanted.workload or (Part("workload", DEFAULT_WORKLOAD if len(table.varied) > 1 else "marginals:1"),)
    queries: list[LinearQuery] = []
    notes: tuple[str, ...] = ()
    for part in parts:
        if is_word(part.text):
            found, told = generated(table, part.text, wanted.seed)
            queries, notes = queries + found, (*notes, *told)
        else:
            queries += _asked(table, part, lower)
    return split(queries, wanted.seed, notes)


def _asked(table: TableDomain, part: Part, lower: Lower) -> list[LinearQuery]:
    """The queries of one statement. DataError with its place where it is none that a workload can have."""
    try:
        statement = lower(part.text)
    except Error as error:
        raise DataError(f"{part.where}: {error.message}", hint=error.hint) from None
    found = statement.queries
    hint = "leave the statement out"
    cut = next((i.column for q in found if q.value is None for i in q.intervals), None)
    if statement.awaited or any(q.keyed is not None for q in found):
        why = "a workload has no text columns"
    elif cut is not None:
        why = f"a workload has no condition that cuts a bin of {cut}"
        hint = (
            f"let conditions on {cut} begin and end at edges of its bins, as \\d lists them, or leave the statement out"
        )
    elif any(q.is_by_value for q in found):
        why = "a workload has no sums or averages of values, only counts"
    elif any(q.table != table.name for q in found) or not found:
        why = f"a workload of {table.name} counts its rows"
    else:
        return list(found)
    raise DataError(f"{part.where}: {why}", hint=hint)
