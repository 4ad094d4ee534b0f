"""Which tables the views of a database read, by their definitions. Reads no rows.

What is behind a view decides whether everybody may see it, and which ledger holds what is known of its rows.
"""

import re
from collections.abc import Iterable

from dpsql.dialect.quoting import identifier
from dpsql.engine.duckdb.catalog.source import Source
from dpsql.engine.duckdb.reader import Reader
from dpsql.errors import EngineError

_ABOUT_ALL = r"duckdb_\w+|pragma_\w+|pg_catalog|pg_class|information_schema|sqlite_master"
"""They tell how many rows other tables have, and which values."""
_HARMLESS = frozenset({"generate_series", "json_each", "json_tree", "range", "repeat", "repeat_row", "unnest"})
"""Table functions of DuckDB's own that read nothing but what they are given. One that is not named here may read a
table by a name that is a string."""
_BY_STRINGS = frozenset({"histogram", "histogram_values", "json_execute_serialized_sql", "query", "query_table"})
_NAME = re.compile(r""""((?:[^"]|"")*)"|'((?:[^']|'')*)'|([\w$]+)""")
"""In quotes, in a string, or a word: DuckDB keeps definitions in its own spelling, in which other names have quotes."""
_TABLE = re.compile(r"""(?:"(?:[^"]|"")*"|[^\s".]+)(?:\.(?:"(?:[^"]|"")*"|[^\s".]+))*""")
"""What DuckDB says of a table that a query reads begins with its name: ``o."my folk" AS f``, ``t TABLESAMPLE ..``."""
_PART = re.compile(r"""("(?:[^"]|"")*"|[^".]+)""")
_AFTER_FROM = re.compile(r'(?:(?<!\bDISTINCT )\b(?:FROM|JOIN)|\s,)\s+\(*((?>"(?:[^"]|"")*"))(?!\s*\()', re.IGNORECASE)
"""A relation in quotes, also behind a comma, before which DuckDB writes a space where it is between relations."""
_UNSEEN = re.compile(r"\bjson_execute_serialized_sql\b", re.IGNORECASE)
"""DuckDB names no table of what it runs."""


def about_tables(reader: Reader, source: Source) -> str | None:
    """What in a view, or in those and the macros that it names, may tell of any table of the database."""
    what = "reading the definition of a view"
    rows = reader.rows(
        what,
        "SELECT DISTINCT lower(function_name) FROM duckdb_functions() "
        "WHERE internal AND function_type IN ('table', 'table_macro')",
    )
    functions = ({str(name) for (name,) in rows} | _BY_STRINGS) - _HARMLESS
    called = "|".join(map(re.escape, sorted(functions)))
    text = "\n".join(_definitions(reader, what, source))
    told = re.search(rf'\b(?:({_ABOUT_ALL})\b|({called})\b"?\s*\()', text, re.IGNORECASE)
    if told is not None:
        return told[1] or told[2]
    return None if source.is_base_table else _file(reader, source, text)


def _file(reader: Reader, source: Source, text: str) -> str | None:
    """What a view reads by a name that is no table's: a file, which may hold the rows of private tables."""
    what = "listing the tables behind a view"
    known = {way for names in _tables(reader, what) for way in _written_as(names)}
    try:
        read = {_parts(name) for name in reader.table_names(what, f"SELECT * FROM {source.sql}")}
    except EngineError:
        views = reader.rows(what, "SELECT view_name FROM duckdb_views()")
        known |= {(str(name).lower(),) for (name,) in views}
        read = {_parts(name) for name in _AFTER_FROM.findall(text) if re.search("[./]", name)}
    return min((".".join(parts) for parts in read - known), default=None)


def base_tables(reader: Reader, source: Source) -> tuple[str, ...]:
    """The tables that a view reads, also by way of other views, as quoted SQL; a table reads itself.

    Names that could mean several tables stand for all of them. EngineError where nobody can tell.
    """
    what = "listing the tables behind a view"
    tables = _tables(reader, what)
    texts = [] if source.is_base_table else _definitions(reader, what, source)
    if any(_UNSEEN.search(text) for text in texts):
        raise _unseen(source)
    try:
        names = reader.table_names(what, f"SELECT * FROM {source.sql}")
    except EngineError as error:  # DuckDB cannot name the tables of every view, for example not of a join with USING
        if any(re.search(rf'\b{function}\b"?\s*\(', text, re.IGNORECASE) for text in texts for function in _BY_STRINGS):
            raise _unseen(source) from error
        named = _names([source.sql, *texts])
        read = [names for names in tables if names[2].lower() in named]
    else:
        found = {_parts(name) for name in names}
        read = [names for names in tables if found & _written_as(names)]
    return tuple(".".join(identifier(part) for part in names) for names in read)


def _tables(reader: Reader, what: str) -> list[tuple[str, ...]]:
    """Database, schema and name of every table."""
    rows = reader.rows(
        what,
        "SELECT database_name, schema_name, table_name FROM duckdb_tables() WHERE NOT internal ORDER BY ALL ASC",
    )
    return [tuple(map(str, row)) for row in rows]


def _unseen(source: Source) -> EngineError:
    return EngineError(
        f"nobody can tell which tables the view {source.name} reads: their names are in strings",
        hint="write the tables of the view after FROM, or make a table of its rows",
    )


def _definitions(reader: Reader, what: str, source: Source) -> list[str]:
    """The definition of a view, and those of the views and macros that it names, and that these name."""
    rows = reader.rows(
        what,
        "SELECT view_name, sql FROM duckdb_views() WHERE NOT internal UNION ALL SELECT function_name, macro_definition "
        "FROM duckdb_functions() WHERE NOT internal AND macro_definition IS NOT NULL",
    )
    texts = [(str(name).lower(), str(sql)) for name, sql in rows]
    names: set[str] = set()
    todo = {source.name.lower()}
    while todo:
        names |= todo
        todo = _names([text for name, text in texts if name in todo]) - names
    return [text for name, text in texts if name in names]


def _names(texts: Iterable[str]) -> set[str]:
    """All that may be a name in these definitions, in lower case: words, what stands in quotes, and the names in it.

    >>> sorted(_names(['FROM "my folk" JOIN skin USING (k)', "FROM query_table('a-b')"]))
    ['a', 'a-b', 'b', 'from', 'join', 'k', 'my folk', 'query_table', 'skin', 'using']
    """
    out: set[str] = set()
    for text in texts:
        for quoted, string, word in _NAME.findall(text.lower()):
            out.add(quoted.replace('""', '"') or string.replace("''", "'") or word)
            if string:
                out |= _names([string.replace("''", "'")])
    return out


def _parts(told: str) -> tuple[str, ...]:
    """The parts of the name that DuckDB tells of a table, in lower case, without what follows the name.

    >>> _parts('o."My ""folk"".x" AS f'), _parts("folk TABLESAMPLE Reservoir(5 ROWS)")
    (('o', 'my "folk".x'), ('folk',))
    """
    name = _TABLE.match(told)
    parts = [] if name is None else _PART.findall(name[0])
    return tuple(p[1:-1].replace('""', '"').lower() if p.startswith('"') else p.lower() for p in parts)


def _written_as(names: tuple[str, ...]) -> set[tuple[str, ...]]:
    """How a view may write a table: its database and its schema may be left out, each by itself."""
    database, schema, table = (name.lower() for name in names)
    return {(database, schema, table), (schema, table), (database, table), (table,)}
