"""The odd rows in a PostgreSQL server, in types of its own: decimals without digits, a collation that knows no case."""

from importlib import import_module

import duckdb

from tests.support.odd.table import MADE

_TYPES = {
    "amt": "numeric",
    "order": "int4",
    "sélect": "char(12)",
    "flag": "bool",
    "h": "numeric(39)",
    "ut": "int2",
    "m": "mood",
    "d": "date",
    "ts": "timestamptz",
    "dbl": "float8",
    "fl": "float4",
    "sk": "int8",
    "price": "float8",
    'a "q" b': "text",
}
_BEFORE = (
    "ALTER DATABASE postgres SET TimeZone = 'Asia/Kolkata'",
    "CREATE TYPE mood AS ENUM ('sad', 'ok', 'Happy', 'it''s')",
    "CREATE TABLE odd ({})",
)
_COLLATED = (
    "CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
    """ALTER TABLE odd ALTER "a ""q"" b" TYPE text COLLATE nocase""",
)
_UTC = {"ts": " || '+00'"}
_AT_ONCE = 1_000


def odd_table_in_postgresql(uri: str) -> None:
    """Make the table in an empty database."""
    with duckdb.connect(config={"threads": 1}) as made:
        names = ", ".join(f"{_quoted(name)}::VARCHAR{_UTC.get(name, '')}" for name in _TYPES)
        rows = made.execute(f"SELECT {names} FROM ({MADE})").fetchall()
    columns = ", ".join(f"{_quoted(name)} {kind}" for name, kind in _TYPES.items())
    dbapi = import_module("adbc_driver_postgresql.dbapi")
    with dbapi.connect(uri, autocommit=True) as connection, connection.cursor() as cursor:
        for statement in _BEFORE:
            cursor.execute(statement.format(columns))
        cursor.execute("SELECT count(*) FROM pg_collation WHERE collprovider = 'i'")
        for statement in _COLLATED if cursor.fetchall()[0][0] else ():
            cursor.execute(statement)
        for start in range(0, len(rows), _AT_ONCE):
            lines = (f"({', '.join(map(_literal, row))})" for row in rows[start : start + _AT_ONCE])
            cursor.execute(f"INSERT INTO odd VALUES {', '.join(lines)}")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str | None) -> str:
    return "NULL" if text is None else "'" + text.replace("'", "''") + "'"
