"""The tables that the corpus speaks of: a policy, public tables, and rows drawn from the policy's own domains."""

from collections.abc import Sequence
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from benchmarks.corpus.statements import CORPUS
from dpsql.domain import CategoryDomain, DateDomain, FiniteDomain, NumberDomain, TableDomain, cell_values
from dpsql.policy import Policy
from dpsql.policy_file import draft_policy, load_policy, parse_policy

SCHEMA = CORPUS / "schema"
DRAFTED = "drafted"
"""The family whose policy is drafted from its database."""
ROWS = 3000
STRINGS = (
    "Chair oak",
    "Chess set",
    "Desk lamp",
    "Paper A4",
    "Table pine",
    "13-555",
    "31-555",
    "Anna",
    "http://google.com",
)
"""What the text columns hold, most frequent first; rarer ones are numbered."""


def policy() -> Policy:
    """The policy of all families but the drafted one."""
    return load_policy(SCHEMA / "policy.toml")


def fill(con: duckdb.DuckDBPyConnection, rules: Policy, rows: int = ROWS) -> None:
    """Public tables as they are, and ``rows`` rows of each private one: no row of a unit is beyond its cap."""
    con.execute((SCHEMA / "public.sql").read_text(encoding="utf-8"))
    for seed, table in enumerate(rules.tables):
        con.register("incoming", _rows(table, rows, np.random.default_rng(seed)))
        con.execute(f"CREATE TABLE {table.name} AS FROM incoming")
        con.unregister("incoming")


def drafted(path: Path | None = None) -> tuple[duckdb.DuckDBPyConnection, Policy]:
    """The database of the drafted family, and the policy that ``init --look-at-data`` drafts of it."""
    from dpsql.engine.duckdb import describe
    from dpsql.interface.schemas import described, looked_at

    con = duckdb.connect(":memory:" if path is None else str(path))
    con.execute((SCHEMA / "trips.sql").read_text(encoding="utf-8"))
    schemas = [described(con, name, columns) for name, columns in describe(con)]
    return con, parse_policy(draft_policy(looked_at(con, schemas)))


def _rows(table: TableDomain, rows: int, rng: np.random.Generator) -> pa.Table:
    columns: dict[str, Sequence[object]] = {}
    if table.unit is not None:
        columns[table.unit] = (np.arange(rows) // max(1, table.max_rows_per_unit - 1) + 1000).tolist()
    for domain in table.finite:
        columns[domain.name] = _values(domain, rows, rng)
    for text in table.text:
        codes = np.minimum(rng.geometric(0.25, rows) - 1, 40)
        columns[text.name] = [STRINGS[c] if c < len(STRINGS) else f"rare {c}" for c in codes.tolist()]
    return pa.table(columns)


def _values(domain: FiniteDomain, rows: int, rng: np.random.Generator) -> list[object]:
    """Values of the domain, the first ones more often; numbers stand anywhere in the range."""
    if isinstance(domain, NumberDomain):
        low, high = domain.edges[0], domain.edges[-1]
        return np.round(low + (high - low) * rng.beta(1.5, 3.0, rows), 2).tolist()
    values = cell_values(domain)[: len(domain.values)]
    codes = (len(values) * rng.beta(1.2, 1.8, rows)).astype(int)
    if isinstance(domain, (CategoryDomain, DateDomain)) and domain.nullable:
        return [None if rng.random() < 0.02 else values[c] for c in codes.tolist()]
    return [values[c] for c in codes.tolist()]
