"""The SQL front end: text and parameters to a lowered statement, or a refusal that costs nothing.

One door for every text: limits, parsing, binding and lowering in this order, with what was read before remembered.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

import numpy as np

from dpsql.dialect.quoting import identifier, written
from dpsql.domain import Parameters
from dpsql.errors import SqlSyntaxError, UnsupportedQuery
from dpsql.hypothesis import strategy_named
from dpsql.memo import Memo
from dpsql.policy import Policy
from dpsql.query import Crosstab, Factor, Points, Weights
from dpsql.sql.blocks.block import Services
from dpsql.sql.blocks.naming import Namer
from dpsql.sql.blocks.reading import Reader
from dpsql.sql.catalog import DONE, Command, Definitions, catalog_of, describing, read_command, read_definition
from dpsql.sql.counting.evaluate import Evaluator
from dpsql.sql.counting.key_source import AskedKeys, KeyLookup, ReleasedKeys, ReleasedRows
from dpsql.sql.counting.values.rules import NEWEST, ValueRules
from dpsql.sql.public_sql import PublicSql
from dpsql.sql.shapes import Shapes
from dpsql.sql.statement import Definition, Statement
from dpsql.sql.text.limits import MAX_CELLS, check_text
from dpsql.sql.text.position import unquoted
from dpsql.sql.text.spellings import quoted_names

STATEMENTS = 1024
HEAVY_CELLS = 1 << 22
_QUERY_CELLS = 64  # a query's own objects take about as much memory
_SIMPLE = frozenset({int, float, str, bool, type(None)})


class FrontEnd:
    """Lowers statements of one policy; equal texts and parameters are looked up. Everything it holds is public."""

    def __init__(
        self,
        policy: Policy,
        public: PublicSql,
        *,
        distances: bool = True,
        by_value: bool = True,
        curves: bool = True,
        cut_classes: int = NEWEST.cut_classes,
        listed_by_value: bool = True,
        stretches: int = NEWEST.stretches,
        passed: bool = NEWEST.passed,
    ) -> None:
        """``distances`` and what follows: as in ``ModelRules``, those of the ledger that the statements are for."""
        products = strategy_named(policy.mechanism.strategy).products
        self._policy, self._public = policy, public
        self._services = Services(
            Evaluator(public),
            Namer(public),
            most_cells=_most_cells(policy),
            products=products,
            distances=distances,
            values=ValueRules(by_value, curves, cut_classes, listed_by_value, stretches, passed=passed),
        )
        self._catalog = catalog_of(policy, public)
        self._read_with({})

    def _read_with(self, definitions: Definitions) -> None:
        """A new reader, for which these are the names of the session: what was read before may mean something else."""
        self._definitions = definitions
        self._reader = Reader(self._policy, self._public, self._services, definitions)
        self._shapes = Shapes(self._reader, self._services)
        self._statements: Memo[_Lowered] = Memo(STATEMENTS)

    def define(self, definition: Definition) -> None:
        """Takes a name of the session, or gives it up, from the next statement on."""
        self._read_with(_with(self._definitions, definition))

    def public_tables(self) -> dict[str, tuple[tuple[str, str], ...]]:
        """Names and DuckDB types of the columns of each public table."""
        return self._catalog.public_tables()

    def lower(
        self,
        text: str,
        parameters: Parameters = None,
        *,
        keys: ReleasedKeys | None = None,
        rows: ReleasedRows | None = None,
        moment: datetime | None = None,
    ) -> Statement:
        """The lowered statement. Raises ``dpsql.errors`` only; touches no private row and charges nothing.

        ``keys`` gives the groups of GROUP BY a text column; without it such a statement is refused. While a column's
        keys are not released, the statement comes without groups and says in ``awaited`` what is missing: everything
        else that can be wrong with it has been found by then.

        ``rows`` gives what statements inside it were answered, by their texts; without it a condition on private rows
        that reads a private table is refused. The texts that are not among them are in ``first``, and the statement is
        as if they had no rows.

        ``moment`` (UTC) is what clock functions stand for; without it they are refused.

        Raises SqlSyntaxError, UnknownName, UnsupportedQuery with line and column; ProgrammingError and DataError for
        parameters that do not fit and for texts that are none.
        """
        if isinstance(text, str):
            text = quoted_names(text)
        key = _key(text, parameters)
        known = None if key is None else self._statements.get(key)
        if known is not None and (not known.asked or KeyLookup(keys).agrees(known.asked)):
            return known.statement
        shaped = self._shapes.lower(text, parameters) if isinstance(text, str) else None
        if shaped is not None:
            if key is not None:
                self._statements.put(key, _Lowered(shaped, {}), 1 + heaviness(shaped))
            return shaped
        check_text(text)
        lookup = KeyLookup(keys, rows)
        try:
            command = read_command(text, self._catalog)
            definition = read_definition(text, parameters, self._catalog.names, self._definitions)
            if definition is not None:
                return self._defining(text, definition, lookup, moment)
            if command is None:
                statement = self._reader.read(text, parameters, lookup, moment).statement
            else:
                statement = self._commanded(text, command, parameters, lookup, moment)
        except RecursionError:
            raise UnsupportedQuery("the statement is nested too deeply", hint="split it into simpler ones") from None
        except SqlSyntaxError as error:
            raise self._with_quotes(text, error) from None
        if key is not None and not rows and not statement.first and not statement.notices:  # these tell of this moment
            self._statements.put(key, _Lowered(statement, lookup.asked), 1 + heaviness(statement))
        return statement

    def _with_quotes(self, text: str, error: SqlSyntaxError) -> SqlSyntaxError:
        """The error, with a hint where it is about a declared name that stands without the quotes that it needs."""
        line, column = error.line, error.column
        if line is None or column is None or error.hint != SqlSyntaxError.default_hint:
            return error
        offset = sum(len(before) + 1 for before in text.split("\n")[: line - 1]) + column - 1
        tables = self._policy.tables
        names = [*(c.name for t in tables for c in t.columns), *(t.name for t in tables), *self._policy.public_tables]
        name = unquoted(text, offset, names)
        if name is None:
            return error
        hint = f"if {name} is meant as a name, write it between double quotes: {written(name)}"
        return SqlSyntaxError(error.message.partition(": ")[2], line=line, column=column, hint=hint)

    def _defining(self, text: str, definition: Definition, lookup: KeyLookup, moment: datetime | None) -> Statement:
        """A statement that gives a name to a query, or gives it up. The query's names are looked up, and no more."""
        if definition.sql is None:
            notice = f"{definition.name} is no name of this session any more"
        else:
            named = Reader(self._policy, self._public, self._services, {definition.name.lower(): definition})
            named.read(f"SELECT * FROM {identifier(definition.name)} LIMIT 0", None, KeyLookup(None), moment)
            notice = f"{definition.name} names its query in this session: it is answered, and charged, where it is read"
        done = self._reader.read(DONE, None, lookup).statement
        return replace(done, text=text, notices=(notice,), defines=definition)

    def _commanded(
        self, text: str, command: Command, parameters: Parameters, lookup: KeyLookup, moment: datetime | None
    ) -> Statement:
        """The statement that answers a command."""
        found = self._reader.read(command.sql, parameters, lookup, moment).statement
        if command.asks == "columns":
            described = describing([(name, kind, True, None) for name, kind in self._reader.columns(found)])
            found = self._reader.read(described, None, KeyLookup(None)).statement
        notices = found.notices if command.notice is None else (*found.notices, command.notice)
        return replace(found, text=text, notices=notices, explained=command.asks == "plan")


def _with(known: Definitions, definition: Definition) -> Definitions:
    """The names of a session after a definition."""
    name = definition.name.lower()
    others = {n: d for n, d in known.items() if n != name}
    return others if definition.sql is None else {**others, name: definition}


class _Lowered(NamedTuple):
    """A statement, and the released keys that it was lowered with."""

    statement: Statement
    asked: AskedKeys


def lower(text: str, parameters: Parameters, policy: Policy, public: PublicSql) -> Statement:
    """One statement without a front end's caches; see :meth:`FrontEnd.lower`."""
    return FrontEnd(policy, public).lower(text, parameters)


def _most_cells(policy: Policy) -> int:
    """Of the grid of a product's columns: the model of a strategy for products never makes it."""
    construction = strategy_named(policy.mechanism.strategy).construction
    if construction is None or not construction.products or construction.most_cells is None:
        return MAX_CELLS
    return construction.most_cells


def _key(text: object, parameters: Parameters) -> Hashable | None:
    """Equal keys, equal statements; ``None`` when the parameters cannot be a key."""
    if not isinstance(text, str):
        return None
    if parameters is None:
        return text
    if isinstance(parameters, Mapping):
        names, values = tuple(map(repr, parameters)), tuple(parameters.values())
    elif isinstance(parameters, (list, tuple)):
        names, values = (), tuple(parameters)
    else:
        return None
    if not _SIMPLE.issuperset(map(type, values)):
        return None
    return text, isinstance(parameters, Mapping), names, tuple(map(type, values)), tuple(map(repr, values))


def heaviness(statement: Statement) -> int:
    """How many light statements one is worth in the cache, by the numbers that it holds: groups share factors."""
    queries = statement.queries
    held: dict[int, int] = {}
    places: Sequence[Sequence[Factor]]
    if isinstance(queries, Crosstab) and queries[0].keyed is None:
        places = queries.choices.factors
    else:
        places = [query.factors for query in queries]
        for keyed in [query.keyed for query in queries if query.keyed is not None]:
            held[id(keyed)] = keyed.weights.size + len(keyed.strings)
    for here in places:
        if isinstance(here, Points):
            held[id(here)] = here.held
        else:
            held |= {id(array): array.size for array in map(_array_of, here)}
    return (sum(held.values()) + _QUERY_CELLS * len(queries)) * STATEMENTS // HEAVY_CELLS


def _array_of(factor: Factor) -> Weights:
    """What is held for a factor's weights: all of the array that they are a stretch of."""
    base = factor.weights.base
    return base if isinstance(base, np.ndarray) else factor.weights
