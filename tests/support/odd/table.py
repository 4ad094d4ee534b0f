"""The rows, and the parts of them that a policy declares: what dpsql sees of each is a view that DuckDB is asked of."""

from collections.abc import Mapping
from dataclasses import dataclass

import duckdb

ROWS = 8_000
_STRINGS = ("", "a", "it''s", 'say "hi"', "two\nlines", "ünï", "NULL", "A", "tab\t", "%x_", " ")


def _one_of(seed: int, *values: str) -> str:
    return f"[{', '.join(values)}][1 + (hash(i, {seed}) % {len(values)})::INT]"


def _uniform(seed: int) -> str:
    """In (0, 1)."""
    return f"((hash(i, {seed}) % 1000003 + 1) / 1000005.0)"


MADE = f"""
SELECT round(100 * ln({_uniform(1)} / (1 - {_uniform(1)})), 4)::DECIMAL(18, 4) AS amt,
  {_one_of(2, "1", "2", "3", "4", "5", "NULL")}::INTEGER AS "order",
  {_one_of(3, "'été'", "'hiver'", "'x''y'", "NULL", "'undeclared'")} AS "sélect",
  {_one_of(4, "true", "true", "false", "NULL")}::BOOLEAN AS flag,
  {_one_of(5, "-1e20::HUGEINT", "1e20::HUGEINT", "5", "7", "-3", "NULL")}::HUGEINT AS h,
  {_one_of(6, "0", "1", "255", "128", "NULL")}::UTINYINT AS ut,
  {_one_of(7, "'sad'", "'ok'", "'Happy'", "'it''s'", "NULL")}::ENUM('sad', 'ok', 'Happy', 'it''s') AS m,
  CASE WHEN {_uniform(8)} > 0.1 THEN DATE '2019-01-01' + (800 * {_uniform(9)} * {_uniform(10)})::INTEGER END AS d,
  CASE WHEN {_uniform(11)} > 0.05
    THEN TIMESTAMP '2024-02-28 22:00:00' + INTERVAL 1 SECOND * (259200 * {_uniform(12)})::INTEGER END AS ts,
  {_one_of(13, "'nan'", "'inf'", "'-inf'", "NULL", f"(2 * {_uniform(14)} - 1)::VARCHAR", "'0'", "'-0.0'", "'0.1'")}
    ::DOUBLE AS dbl,
  {_one_of(15, "0.1", "0.25", "1.5", "2.75", "NULL")}::FLOAT AS fl,
  least(1e12, floor({_uniform(16)} ** -1.4))::BIGINT AS sk,
  round({_uniform(17)} ** 2 * 60) - 0.01 AS price,
  {_one_of(18, *(f"'{s}'" for s in _STRINGS))} AS "a ""q"" b"
FROM range({ROWS}) t(i)
"""
"""Values beyond every declared range, on edges, beside them, and NULL; prices end in .99."""
_Q = '"a ""q"" b"'


@dataclass(frozen=True)
class Part:
    """Columns that a policy declares. ``seen``: the rows as these are, which is what DuckDB is asked of.

    ``kinds``: of each column, for the statements; ``literals``: what it is compared with.
    """

    columns: str
    seen: str
    kinds: Mapping[str, str]
    literals: Mapping[str, tuple[str, ...]]

    @property
    def policy(self) -> str:
        """So much epsilon that noise is nearly nothing."""
        return f"version = 1\nprivacy = {{ epsilon = 100, delta = 0.05 }}\n[tables.odd.columns]\n{self.columns}"


PARTS: Mapping[str, Part] = {
    "decimals and names": Part(
        """\
amt = { type = "number", min = -500, max = 400.5, bins = 24 }
order = { type = "integer", min = 1, max = 4 }
flag = { type = "boolean" }
"sélect" = { type = "category", values = ["été", "x'y", "hiver"] }
""",
        """SELECT greatest(-500.0::DOUBLE, least(400.5::DOUBLE, amt::DOUBLE)) AS amt, flag,
        CASE WHEN "order" BETWEEN 1 AND 4 THEN "order"::BIGINT END AS "order",
        CASE WHEN "sélect" IN ('été', 'x''y', 'hiver') THEN "sélect" END AS "sélect" FROM raw""",
        {"amt": "number", '"order"': "integer", "flag": "boolean", '"sélect"': "category"},
        {
            "amt": ("-500", "0", "1.5", "400.5", "-100", "12.3456", "400", "500", "-500.0001", "37.5"),
            '"order"': ("1", "2", "4", "5", "0", "3", "2.5", "-1"),
            "flag": ("true", "false"),
            '"sélect"': ("'été'", "'x''y'", "'hiver'", "'undeclared'", "''", "NULL"),
        },
    ),
    "days": Part(
        """\
d = { type = "date", min = 2019-01-01, max = 2019-05-31, unit = "day" }
m = { type = "category", values = ["sad", "it's", "Happy"] }
ut = { type = "integer", min = 0, max = 255 }
""",
        """SELECT CASE WHEN d BETWEEN DATE '2019-01-01' AND DATE '2019-05-31' THEN d END AS d,
        CASE WHEN m IN ('sad', 'it''s', 'Happy') THEN m::VARCHAR END AS m, ut::BIGINT AS ut FROM raw""",
        {"d": "date", "m": "category", "ut": "integer"},
        {
            "d": ("DATE '2019-01-31'", "'2019-03-01'", "DATE '2019-05-31'", "DATE '2019-06-01'", "DATE '2018-12-31'"),
            "m": ("'sad'", "'it''s'", "'Happy'", "'ok'", "'SAD'"),
            "ut": ("0", "1", "128", "255", "256", "-1", "254.5"),
        },
    ),
    "hours": Part(
        f"""\
ts = {{ type = "date", min = 2024-02-29T00:00:00, max = 2024-03-01T12:00:00, unit = "hour" }}
h = {{ type = "integer", min = -3, max = 7 }}
{_Q.replace('""', chr(92) + '"')} = {{ type = "category", values = [
  "", "it's", "say \\"hi\\"", "two\\nlines", "%x_", "NULL", " ", "a",
] }}
""",
        f"""SELECT CASE WHEN ts >= TIMESTAMP '2024-02-29' AND ts < TIMESTAMP '2024-03-01 13:00:00'
        THEN date_trunc('hour', ts) END AS ts, CASE WHEN h BETWEEN -3 AND 7 THEN h::BIGINT END AS h,
        CASE WHEN {_Q} IN ('', 'it''s', 'say "hi"', 'two\nlines', '%x_', 'NULL', ' ', 'a') THEN {_Q} END AS {_Q}
        FROM raw""",
        {"ts": "hour", "h": "integer", _Q: "category"},
        {
            "ts": (
                "TIMESTAMP '2024-02-29 00:00:00'",
                "TIMESTAMP '2024-02-29 13:30:00'",
                "'2024-03-01 00:00:00'",
                "TIMESTAMP '2024-03-01 12:00:00'",
                "DATE '2024-03-01'",
                "TIMESTAMP '2024-03-01 12:00:01'",
            ),
            "h": ("-3", "0", "5", "7", "8", "6.5"),
            _Q: ("''", "'it''s'", "'say \"hi\"'", "'two\nlines'", "'%x_'", "'NULL'", "' '", "'a'", "'A'", "'nope'"),
        },
    ),
    "floats": Part(
        """\
dbl = { type = "number", edges = [-1, -0.5, 0, 0.1, 1], outside = "null" }
fl = { type = "number", min = 0, max = 2, bins = 4 }
sk = { type = "number", min = 1, max = 1000 }
""",
        """SELECT CASE WHEN isnan(dbl) THEN NULL WHEN dbl BETWEEN -1 AND 1 THEN dbl END AS dbl,
        CASE WHEN fl IS NOT NULL THEN greatest(0.0::DOUBLE, least(2.0::DOUBLE, fl::DOUBLE)) END AS fl,
        greatest(1.0::DOUBLE, least(1000.0::DOUBLE, sk::DOUBLE)) AS sk FROM raw""",
        {"dbl": "number", "fl": "number", "sk": "number"},
        {
            "dbl": ("0", "0.0", "0.1", "-0.5", "1", "-1", "0.25", "-0.0", "0.05", "2"),
            "fl": ("0.1", "0.25", "1.5", "2", "2.75", "0", "1"),
            "sk": ("1", "2", "10", "1000", "500", "7.5", "1001"),
        },
    ),
    "prices": Part(
        """\
price = { type = "number", min = 0, max = 60, bins = 6 }
flag = { type = "boolean" }
""",
        "SELECT greatest(0.0::DOUBLE, least(60.0::DOUBLE, price::DOUBLE)) AS price, flag FROM raw",
        {"price": "number", "flag": "boolean"},
        {"price": ("0", "12.99", "13", "30", "29.99", "59.99", "60", "5.5", "100"), "flag": ("true", "false")},
    ),
    "strings": Part(
        """\
flag = { type = "boolean" }
m = { type = "category", values = ["sad", "it's", "ok", "Happy"], nullable = false }
"a \\"q\\" b" = { type = "text", prefixes = [1, 2] }
""",
        f"SELECT flag, m::VARCHAR AS m, {_Q} FROM raw WHERE m IS NOT NULL",
        {"flag": "boolean", "m": "category", _Q: "text"},
        {
            "flag": ("true", "false"),
            "m": ("'sad'", "'it''s'", "'Happy'", "'ok'", "'SAD'"),
            _Q: ("''", "'it''s'", "'say \"hi\"'", "'two\nlines'", "'%x_'", "'NULL'", "' '", "'a'", "'A'", "'nope'"),
        },
    ),
}


def odd_table(part: Part) -> tuple[duckdb.DuckDBPyConnection, duckdb.DuckDBPyConnection]:
    """A database with the rows, which is for dpsql, and one with the table that it sees."""
    private, seen = (duckdb.connect(config={"threads": 1}) for _ in range(2))
    private.execute(f"CREATE TABLE odd AS {MADE}")
    seen.execute(f"CREATE TABLE raw AS {MADE}")
    seen.execute(f"CREATE TABLE odd AS {part.seen}")
    return private, seen
