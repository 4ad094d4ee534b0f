"""The benchmark tables by name, those with a planted parity among them."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow as pa

from benchmarks.simulated_tables import ADULT6, adult, with_parity
from benchmarks.tables import ADULT14, BenchmarkTable, adult6, adult14, adult2240, adult5000, files
from benchmarks.text_tables import flights, pets

PARITY6 = ("age", "education", "marital_status")
PARITY14 = ("education", "occupation", "marital_status")
PARITY_WEIGHT = 4.0


def adult6_parity(folder: Path) -> BenchmarkTable:
    """``adult6`` with a planted parity: marital status drawn anew from age and education, invisible to pairs."""
    return _planted(adult6(folder), ADULT6, PARITY6)


def adult14_parity(folder: Path) -> BenchmarkTable:
    """``adult14`` with a planted parity: marital status drawn anew from education and occupation."""
    return _planted(adult14(folder), ADULT14, PARITY14)


def _planted(table: BenchmarkTable, columns: tuple[str, ...], parity: tuple[str, str, str]) -> BenchmarkTable:
    """The table written anew with the parity; its three columns are asked for four times as often as others."""
    coded = with_parity(adult(columns), parity)
    arrays = {}
    for i, c in enumerate(coded.domain.finite):
        values = c.values
        arrays[c.name] = pa.array([values[code] for code in coded.codes[:, i].tolist()])
    altered = pa.table(arrays)
    with duckdb.connect(str(table.path)) as con:
        con.register("altered", altered)
        con.execute("CREATE OR REPLACE TABLE adult AS SELECT * FROM altered")
    asked = (replace(c, weight=PARITY_WEIGHT if c.name in parity else 1.0) for c in table.columns)
    return replace(table, columns=tuple(asked))


TABLES: dict[str, Callable[[Path], BenchmarkTable]] = {
    "adult6": adult6,
    "adult14": adult14,
    "adult2240": adult2240,
    "adult5000": adult5000,
    "adult6-parity": adult6_parity,
    "adult14-parity": adult14_parity,
    "flights": flights,
    "files": files,
    "pets": pets,
}
"""Builders: each writes a DuckDB file into a folder."""

PARITIES: dict[str, tuple[str, str, str]] = {"adult6-parity": PARITY6, "adult14-parity": PARITY14}
