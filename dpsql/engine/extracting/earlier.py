"""Whether a file is an extract that was made before: the only kind of file whose place another one may take."""

from contextlib import suppress
from pathlib import Path

import duckdb

from dpsql.dialect.calls import FAILURES, LOCKED
from dpsql.engine.origin import Origin

_READS = {"enable_external_access": "true"}


def is_extract(path: Path) -> bool:
    """Whether ``path`` is a DuckDB file with tables, each a copy that its comment tells the origin of."""
    literal = "'" + str(path).replace("'", "''") + "'"
    comments: list[tuple[str | None]] = []
    with suppress(*FAILURES), duckdb.connect(config=LOCKED | _READS) as connection:
        connection.execute(f"ATTACH {literal} AS earlier (READ_ONLY, TYPE duckdb)")
        comments = connection.execute(
            "SELECT comment FROM duckdb_tables() WHERE database_name = 'earlier' AND NOT internal"
        ).fetchall()
    return bool(comments) and all(Origin.of(comment) is not None for (comment,) in comments)
