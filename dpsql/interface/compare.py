"""The methods of synthesis side by side on a public table: error against its true rows, time, and what each charged.

Only on a table that its owner declares to be public can a method be compared with the truth. Every method gets a ledger
of its own, in memory, with the same budget.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from dpsql.dialect.quoting import identifier
from dpsql.domain import TableDomain
from dpsql.domain.column import code_of
from dpsql.errors import DataError, Error, OperationalError
from dpsql.interface.dbapi.connect import connect
from dpsql.policy import Policy
from dpsql.policy_file.load import EPSILON_RANGE
from dpsql.synthesis import methods as registry
from dpsql.synthesis.quality import Errors, answers, errors
from dpsql.synthesis.synthetic import Synthetic
from dpsql.synthesis.wanted import Wanted

_TASTE = Fraction(1, 10**6)


@dataclass(frozen=True)
class Compared:
    """One method: ``seconds`` of wall time, ``charged`` epsilon, errors against the true rows; or why it ``failed``."""

    method: str
    seconds: float = 0.0
    charged: float = 0.0
    parts: tuple[Errors, ...] = ()
    failed: str = ""


def compare(
    database: Any,
    policy: Policy,
    wanted: Wanted,
    epsilon: Fraction,
    methods: Sequence[str] = (),
    on_progress: Callable[[str], None] = lambda method: None,
) -> list[Compared]:
    """Every method of ``methods``, by default all, on a table of an open DuckDB connection that is **public**.

    ``policy``: of which the tables count; its budget becomes ``epsilon``, and each method may spend all of it.
    ``wanted``: table, workload, rows, options and seed; each method is told those options that it has. DataError for
    one that none has.
    """
    chosen = tuple(methods or registry.METHODS)
    has = {method: registry.method_named(method).options for method in chosen}
    for name in wanted.options:
        if not any(name in known for known in has.values()):
            known = "; ".join(f"{method}: {', '.join(names)}" for method, names in has.items() if names)
            raise DataError(f"none of the methods has an option {name}", hint=f"options of {known}")
    if not EPSILON_RANGE[0] <= epsilon <= EPSILON_RANGE[1]:
        raise DataError("epsilon is from 1e-6 to 100", hint="leave --epsilon out for the policy's")
    rules = replace(policy, privacy=replace(policy.privacy, epsilon=epsilon))
    found = next((t for t in rules.tables if t.name.lower() == wanted.table.lower()), None)
    if found is None:
        raise OperationalError(f"there is no table {wanted.table}", hint="name one with --table")
    truth = public_rows(database, found)
    out = []
    for method in chosen:
        on_progress(method)
        options = {name: value for name, value in wanted.options.items() if name in has[method]}
        try:
            out.append(_one(database, rules, replace(wanted, method=method, epsilon=None, options=options), truth))
        except Error as error:
            out.append(Compared(method, failed=error.message))
    return out


def _one(database: Any, policy: Policy, wanted: Wanted, truth: Synthetic) -> Compared:
    with connect(database, policy, ":memory:", new_budget=True) as con:
        session, start = con.session, time.perf_counter()
        if registry.method_named(wanted.method).pays:
            con.execute(f"SELECT COUNT(*) FROM {identifier(truth.table.name)}")  # the row count is charged beside
            taste = replace(wanted, epsilon=_TASTE, keeps_first_look=False)
            left = Fraction(session.foresee(taste).left) * Fraction(999_999, 1_000_000)
            wanted = replace(taste, epsilon=left)
        made = session.synthesize(wanted)
        seconds = time.perf_counter() - start
        workload = made.workload
        parts = (("workload", workload.told), ("held out", workload.held_out))
        found = [
            errors(name, made.synthetic, queries, lambda q: (float(answers(truth, [q])[0]), 0.0))
            for name, queries in parts
        ]
        return Compared(wanted.method, seconds, session.spent_epsilon(), tuple(e for e in found if e is not None))


def public_rows(database: Any, table: TableDomain) -> Synthetic:
    """The true rows of a public table as cells; rows without a required value are left out, as in every answer."""
    columns = ", ".join(identifier(c.name) for c in table.finite)
    rows = database.cursor().sql(f"SELECT {columns} FROM {identifier(table.name)}").to_arrow_table()
    codes = np.zeros((rows.num_rows, len(table.finite)), dtype=np.int64)
    for i, domain in enumerate(table.finite):
        column = rows.column(i).combine_chunks().dictionary_encode()
        values = column.dictionary.to_pylist()
        found = [None if value is None else code_of(domain, value) for value in values]
        null = domain.size - 1 if domain.nullable else -1
        of = np.array([*(null if code is None else code for code in found), null], dtype=np.int64)
        codes[:, i] = of[column.indices.fill_null(len(values)).to_numpy()]
    return Synthetic(table, codes[(codes >= 0).all(axis=1)])


@contextmanager
def public_database(file: Path, policy: Path | None) -> Iterator[tuple[Any, Policy]]:
    """A DuckDB connection to a **public** database, or to a csv or parquet file as a table, and a policy for it.

    The policy is the file ``policy``, the one beside the database, or a draft made by looking at the rows.
    """
    from dpsql.engine.duckdb import describe, import_rows, is_file_of_rows, open_read_only
    from dpsql.interface.dbapi.paths import default_policy_path
    from dpsql.interface.schemas import described, looked_at
    from dpsql.policy_file import draft_policy, load_policy

    with TemporaryDirectory() as folder:
        beside = default_policy_path(file)
        if is_file_of_rows(file):
            copy = Path(folder) / file.name
            copy.symlink_to(file.resolve())
            file = import_rows(copy)
        with open_read_only(file) as database:
            if policy is not None or beside.exists():
                yield database, load_policy(beside if policy is None else policy)
            else:
                schemas = [described(database, name, columns) for name, columns in describe(database)]
                yield database, load_policy(draft_policy(looked_at(database, schemas)))
