"""Statements for tests of whole sessions on the tables of ``city``: answered and refused ones, and golden fixtures."""

from pathlib import Path

from dpsql.interface.splitter import split

GOLDEN = Path(__file__).parents[1] / "golden"

_CONDITIONS = (
    "age >= 5",
    "age BETWEEN 2 AND 4",
    "age IN (1, 2, 77)",
    "age IS NULL",
    "age > 10000",
    "member",
    "NOT member",
    "member IS NULL",
    "region = 'north'",
    "region <> 'south'",
    "region IN ('north', 'nowhere')",
    "region LIKE '%th'",
    "region IN (SELECT region FROM regions WHERE country = 'A')",
    "joined >= DATE '2021-01-01'",
    "year(joined) = 2020",
    "hours >= 20",
    "hours IS NULL",
    "name = 'name3'",
    "name = 'nobody'",
    "name <> 'name3'",
    "name IN ('name1', 'name2', 'nobody')",
    "name IS NULL",
    "name = 'name6' AND member",
    "member AND age < 5",
    "region = 'north' OR age = 9",
    "CASE WHEN member THEN age < 5 ELSE region = 'west' END",
    "1 = 0",
    "true",
)
_VISITS = ("day < 3", "kind = 'walk'", "place = 'place7'", "kind IS NULL", "day = 7 OR kind = 'talk'", "place IS NULL")
_AGGREGATES = ("COUNT(*)", "COUNT(age)", "SUM(age)", "AVG(age)", "SUM(hours)", "COUNT(*) FILTER (WHERE member)")
_GROUPS = (
    "member",
    "region",
    "age",
    "age % 2",
    "date_trunc('month', joined)",
    "hours >= 20",
    "year(joined)",
    "region, member",
    "age > 4, region",
)

COUNTS = (
    *(f"SELECT COUNT(*) AS n FROM people WHERE {c}" for c in _CONDITIONS),
    *(f"SELECT COUNT(*) AS n FROM visits WHERE {c}" for c in _VISITS),
)
"""One number each."""

STABLE = (
    *COUNTS,
    *(f"SELECT {a} AS a, COUNT(*) AS n FROM people WHERE {c}" for a in _AGGREGATES for c in _CONDITIONS[5:12]),
    *(f"SELECT {g}, {a} AS a FROM people GROUP BY {g}" for g in _GROUPS for a in _AGGREGATES),
    *(f"SELECT {g}, COUNT(*) FROM people WHERE {c} GROUP BY ALL" for g in _GROUPS for c in _CONDITIONS[::4]),
    *(f"SELECT region, COUNT(*) FROM people WHERE {c} GROUP BY region ORDER BY region DESC" for c in _CONDITIONS[:9]),
    "SELECT day, kind, COUNT(*) FROM visits GROUP BY day, kind",
    "SELECT kind, SUM(day) FROM visits GROUP BY kind ORDER BY 1",
    "SELECT 1",
    "SELECT region, country FROM regions ORDER BY ALL",
    "WITH g AS (SELECT region, COUNT(*) AS n FROM people GROUP BY region) SELECT region FROM g ORDER BY region",
    "SELECT g.region, r.country FROM (SELECT region, COUNT(*) AS n FROM people GROUP BY region) g"
    " JOIN regions r ON g.region = r.region ORDER BY g.region",
    "SELECT COUNT(*) FROM people LIMIT 0",
    "SELECT DISTINCT region FROM people",
    "VALUES (1), (2)",
)
"""Answered; which rows come, in which order, and their group columns are public."""

RELEASED = (
    "SELECT name, COUNT(*) FROM people GROUP BY name",
    "SELECT region, COUNT(*) AS n, DP_INTERVAL_LOW(n), DP_INTERVAL_HIGH(n) FROM people GROUP BY region",
    "SELECT region, COUNT(*) AS n FROM people GROUP BY region ORDER BY n DESC",
    "SELECT age, COUNT(*) AS n FROM people GROUP BY age HAVING COUNT(*) > 100",
    "SELECT age, COUNT(*) AS n FROM people GROUP BY age ORDER BY n LIMIT 3",
    "SELECT DISTINCT n > 10 FROM (SELECT region, COUNT(*) AS n FROM people GROUP BY region)",
)
"""Answered; rows depend on released numbers."""

COMMANDS = (
    "SELECT * FROM duckdb_tables()",
    "SELECT * FROM information_schema.tables",
    "SELECT estimated_size FROM duckdb_tables()",
    "SUMMARIZE people",
    "DESCRIBE people",
    "SHOW TABLES",
    "EXPLAIN ANALYZE SELECT COUNT(*) FROM people",
    "EXPLAIN SELECT COUNT(*) FROM people",
    "SET threads = 1",
    "BEGIN",
    "SELECT * FROM information_schema.columns",
    "SELECT * FROM duckdb_columns() ORDER BY ALL",
    "SHOW ALL TABLES",
    "SUMMARIZE visits",
    "DESCRIBE SELECT region, COUNT(*), AVG(age) FROM people GROUP BY region",
    "PRAGMA table_info('people')",
    "CREATE OR REPLACE VIEW grown AS SELECT * FROM people WHERE age > 3",
)
"""Answered from the policy alone."""

REFUSED = (
    "SELECT age FROM people",
    "SELECT * FROM people",
    "SELECT secret, COUNT(*) FROM people GROUP BY secret",
    "SELECT SUM(salary) FROM people",
    "SELECT COUNT(*) FROM people WHERE salary > 3",
    "SELECT COUNT(*) FROM people WHERE secret IS NULL",
    "SELECT COUNT(*) FROM people WHERE rowid = 3",
    "SELECT COUNT(*) FROM people WHERE agee > 3",
    "SELECT COUNT(*) FROM peple",
    "SELECT COUNT(*) FROM visits WHERE person = 3",
    "SELECT LIST(age) FROM people",
    "SELECT STRING_AGG(name) FROM people",
    "SELECT ENTROPY(age) FROM people",
    "SELECT COUNT(*) FROM people WHERE age / 0 > 1 AND CAST(region AS INTEGER) = 1",
    "SELECT COUNT(*) FROM people WHERE CAST(region AS INTEGER) = 1",
    "SELECT COUNT(*) FROM people WHERE error('x')",
    "SELECT COUNT(*) FROM people WHERE error(region) IS NULL",
    "SELECT COUNT(*) FROM people WHERE random() < 0.5",
    "SELECT COUNT(*) FROM people a JOIN people b ON a.age = b.age",
    "SELECT COUNT(*) FROM people, visits",
    "SELECT COUNT(*) FROM people WHERE EXISTS (SELECT 1 FROM visits WHERE visits.day = people.age)",
    "SELECT COUNT(*) FROM people USING SAMPLE 10",
    "SELECT COUNT(*) FROM people TABLESAMPLE 10%",
    "SELECT COUNT(*) OVER () FROM people",
    "SELECT age, ROW_NUMBER() OVER (ORDER BY age) FROM people",
    "SELECT string_agg(name, ',') FROM people",
    "SELECT list(age) FROM people",
    "SELECT any_value(region) FROM people",
    "SELECT first(name) FROM people",
    "SELECT COUNT(*) FROM read_csv('city.csv')",
    "SELECT COUNT(*) FROM 'city.duckdb'",
    "SELECT * FROM sqlite_master",
    "SELECT * FROM pragma_storage_info('people')",
    "SELECT stats(age) FROM people",
    "SELECT getenv('HOME')",
    "SELECT current_setting('threads')",
    "PREPARE p AS SELECT COUNT(*) FROM people",
    "DROP TABLE people",
    "DELETE FROM people",
    "INSERT INTO people VALUES (1)",
    "UPDATE people SET age = 1",
    "CREATE TABLE x (age BIGINT)",
    "ATTACH 'x.duckdb'",
    "COPY people TO 'x.csv'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "PRAGMA database_size",
    "CALL pragma_version()",
    "FROM people",
    "TABLE people",
    "PIVOT people ON region USING COUNT(*)",
    "SELECT COUNT(*) FROM people; SELECT COUNT(*) FROM people",
    "SELECT COUNT(*) FROM people WHERE age = ?",
    "SELECT COUNT(*) FROM people WHERE age = $x",
    "SELECT COUNT(* FROM people",
    "SELECT COUNT(*) FROM people WHERE region = 'north",
    "SELECT COUNT(*) FROM people WHERE (age > 3",
    "SELECT",
    "nonsense",
    ";",
    "-- nothing",
)
"""Refused, at no charge."""


def golden() -> list[str]:
    """Every statement of the fixtures beside ``tests/golden/``, whatever tables they are on."""
    return [piece.text for file in sorted(GOLDEN.glob("*.sql")) for piece in split(file.read_text("utf-8"))]
