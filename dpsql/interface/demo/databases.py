"""The demonstration's databases: real, public tables, built from the Parquet files in the package.

A stranger has no policy and no data at hand. These are small enough to ship and public, so that true answers may be
shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

import duckdb

_DATA = files("dpsql.interface.demo") / "data"

_ADULT = """
CREATE TABLE adult (
    age BIGINT NOT NULL, workclass VARCHAR NOT NULL, fnlwgt BIGINT NOT NULL, education VARCHAR NOT NULL,
    education_num BIGINT NOT NULL, marital_status VARCHAR NOT NULL, occupation VARCHAR NOT NULL,
    relationship VARCHAR NOT NULL, race VARCHAR NOT NULL, sex VARCHAR NOT NULL, capital_gain BIGINT NOT NULL,
    capital_loss BIGINT NOT NULL, hours_per_week BIGINT NOT NULL, native_country VARCHAR NOT NULL,
    income VARCHAR NOT NULL
)"""
_PETS = """
CREATE TABLE pets (
    animal_name VARCHAR, species VARCHAR NOT NULL, primary_breed VARCHAR NOT NULL, zip_code VARCHAR,
    issued DATE NOT NULL
)"""
_BABY_NAMES = {
    "girl": ("Emma", "Olivia", "Ava", "Isabella", "Sophia", "Charlotte", "Mia", "Amelia", "Harper", "Evelyn"),
    "boy": ("Liam", "Noah", "William", "James", "Oliver", "Benjamin", "Elijah", "Lucas", "Mason", "Logan"),
}
_ZIP_AREAS = {
    "Ballard": ("98107", "98117"),
    "Beacon Hill and Rainier Valley": ("98108", "98118", "98144", "98178"),
    "Capitol Hill and Central District": ("98102", "98112", "98122"),
    "Downtown": ("98101", "98104", "98121", "98134"),
    "North Seattle": ("98125", "98133", "98177"),
    "Queen Anne and Magnolia": ("98109", "98119", "98199"),
    "University District and Fremont": ("98103", "98105", "98115"),
    "West Seattle": ("98106", "98116", "98126", "98136", "98146"),
}


@dataclass(frozen=True)
class DemoDatabase:
    """A database file and the policy beside it."""

    name: str
    database: Path
    policy: Path


def build(name: str, folder: Path) -> DemoDatabase:
    """``adult`` or ``pets``: writes NAME.duckdb and NAME.dpsql.toml into ``folder``, replacing both."""
    built = DemoDatabase(name, folder / f"{name}.duckdb", folder / f"{name}.dpsql.toml")
    built.database.unlink(missing_ok=True)
    built.policy.write_bytes((_DATA / f"{name}.dpsql.toml").read_bytes())
    with duckdb.connect(str(built.database)) as connection:
        _fill(connection, name)
    return built


class Truth:
    """The true answers, which only public data allow to show: the same tables in memory."""

    def __init__(self, name: str) -> None:
        self._connection = duckdb.connect()
        _fill(self._connection, name)

    def rows(self, sql: str) -> Sequence[tuple[object, ...]]:
        """The exact answer, all of its rows: the first five by noisy counts may be others than by true ones."""
        return self._connection.execute(sql.partition(" LIMIT ")[0]).fetchall()

    def close(self) -> None:
        """Forget the tables."""
        self._connection.close()


def _fill(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    connection.execute(_ADULT if name == "adult" else _PETS)
    with as_file(_DATA / f"{name}.parquet") as path:
        connection.execute(f"INSERT INTO {name} BY NAME SELECT * FROM read_parquet(?)", [str(path)])
    if name == "pets":
        connection.execute("CREATE TABLE baby_names (name VARCHAR, given_to VARCHAR, rank INTEGER)")
        names = [[n, who, rank] for who, listed in _BABY_NAMES.items() for rank, n in enumerate(listed, start=1)]
        connection.executemany("INSERT INTO baby_names VALUES (?, ?, ?)", names)
        connection.execute("CREATE TABLE zip_areas (zip_code VARCHAR, area VARCHAR)")
        areas = [[zip_code, area] for area, codes in _ZIP_AREAS.items() for zip_code in codes]
        connection.executemany("INSERT INTO zip_areas VALUES (?, ?)", areas)
