"""Tables of few columns and many rows, cut out of the others: ``python -m benchmarks.strangers --table choices4``."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb

from benchmarks.strangers.tables import Builder, choices, fire, loans
from benchmarks.tables import BenchmarkTable, adult2240
from benchmarks.text_tables import flights
from dpsql.domain import TableDomain


def columns_of(whole: Builder, columns: Sequence[str]) -> Builder:
    """Some columns of a table; it keeps its rows."""

    def built(folder: Path) -> BenchmarkTable:
        made = whole(folder)
        name = made.domain.name
        with duckdb.connect(str(made.path)) as con:
            con.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT {', '.join(columns)} FROM {name}")
        domain = TableDomain(name, tuple(c for c in made.domain.columns if c.name in columns))
        return BenchmarkTable(made.path, domain, tuple(c for c in made.columns if c.name in columns))

    return built


NARROW: Mapping[str, Builder] = {
    "adult2240": adult2240,
    "fire4": columns_of(fire, ("call_type_group", "unit_type", "battalion", "supervisor_district")),
    "fire6": columns_of(
        fire,
        ("final_priority", "call_type_group", "priority", "unit_type", "battalion", "supervisor_district"),
    ),
    "loans5": columns_of(loans, ("term", "grade", "home_ownership", "verification_status", "loan_status")),
    "flights4": columns_of(flights, ("month", "hour", "carrier", "origin")),
    "choices4": columns_of(choices, ("step1", "step2", "step3", "step4")),
}
