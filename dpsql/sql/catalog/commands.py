"""Statements that are no SELECT and yet have an answer: SHOW, DESCRIBE, SUMMARIZE, PRAGMA, EXPLAIN, BEGIN, SET, USE.

Tools send them unasked. Each becomes a SELECT over public values, or nothing at all with a sentence that says so; what
it would change is the owner's, and is not changed.
"""

import re
from dataclasses import dataclass

from dpsql.sql.catalog.relations import Catalog
from dpsql.sql.text.position import line_column

_SKIPPED = r"(?:\s++|--[^\n]*+\n|/\*.*?\*/)*+"
_NAME = r"(?:\"((?:[^\"]|\"\")++)\"|([A-Za-z_]\w*+))"
_TABLE = rf"(?:(?:memory|\"memory\")\.)?(?:(?:main|\"main\")\.)?{_NAME}"
_FLAGS = re.IGNORECASE | re.DOTALL
_WORD = re.compile(rf"{_SKIPPED}(\w++)", _FLAGS)
_DESCRIBED = re.compile(rf"(?:DESCRIBE|DESC|SHOW)\s+(?:TABLE\s+)?{_TABLE}", _FLAGS)
_SUMMARIZED = re.compile(rf"SUMMARIZE\s+(?:TABLE\s+)?{_TABLE}", _FLAGS)
_QUERY = re.compile(r"(EXPLAIN(?:\s+ANALYZE)?|DESCRIBE|DESC)\s+(?=(?:SELECT|WITH|FROM|VALUES)\b|\()", _FLAGS)
_ALL = re.compile(r"SHOW\s+ALL\s+TABLES|DESCRIBE|DESC", _FLAGS)
_TABLES = re.compile(r"SHOW\s+TABLES(?:\s+FROM\s+\"?main\"?)?|PRAGMA\s+show_tables(?:\(\))?", _FLAGS)
_DATABASES = re.compile(r"SHOW\s+DATABASES", _FLAGS)
_INFO = re.compile(rf"PRAGMA\s+table_info\s*\(\s*(?:'([^']+)'|{_TABLE})\s*\)", _FLAGS)
_NOTHING = re.compile(
    r"(?:(?:BEGIN|START|COMMIT|END|ROLLBACK|ABORT)(?:\s+(?:TRANSACTION|WORK|READ\s+ONLY|READ\s+WRITE))*"
    r"|(?:SET|RESET|USE)\s+[^;]+|PRAGMA\s+\w+\s*=\s*[^;]+)",
    _FLAGS,
)
_FIRST = frozenset(
    [
        *("DESCRIBE", "DESC", "SHOW", "SUMMARIZE", "PRAGMA", "EXPLAIN"),
        *("BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT", "SET", "RESET", "USE"),
    ]
)
DONE = 'SELECT CAST(v0 AS BOOLEAN) AS "Success" FROM (VALUES (NULL)) AS v(v0) WHERE v0 IS NOT NULL'
_TRANSACTION = "does nothing: every statement is answered by itself, and what it charges stays charged"
_SETTING = "does nothing: settings are the owner's"


@dataclass(frozen=True)
class Command:
    """``sql``: the SELECT that answers it. ``asks``: what is to be done with that SELECT's own answer.

    "rows": shown. "columns": only its columns are described. "plan": it is explained. ``notice``: a sentence beside
    the result.
    """

    sql: str
    asks: str = "rows"
    notice: str | None = None


def read_command(text: str, catalog: Catalog) -> Command | None:
    """What a text asks that is no SELECT; ``None`` for every other text. Raises UnknownName for a table.

    The SELECT of EXPLAIN and DESCRIBE stands where it stood in the text, so places in it are those of the text.
    """
    start = _WORD.match(text)
    if start is None or start[1].upper() not in _FIRST:
        return None
    begin = start.start(1)
    body = text[begin:].rstrip().removesuffix(";").rstrip()
    query = _QUERY.match(body)
    if query is not None:
        end = begin + query.end()
        return _asked(re.sub(r"[^\n]", " ", text[:end]) + text[end:], query[1].upper())
    if _NOTHING.fullmatch(body) is not None:
        word = body.split()[0].upper()
        return Command(DONE, notice=f"{word} {_SETTING if word in ('SET', 'RESET', 'USE', 'PRAGMA') else _TRANSACTION}")
    sql = _relation(body, text, begin, catalog)
    if sql is None:
        return None
    summary = body[:9].upper() == "SUMMARIZE"
    return Command(sql, notice="SUMMARIZE shows what the policy declares: no row was counted" if summary else None)


def _asked(sql: str, word: str) -> Command:
    if word.startswith("EXPLAIN"):
        ran = "EXPLAIN ANALYZE does not run the statement: this is its plan" if word != "EXPLAIN" else None
        return Command(sql, "plan", ran)
    return Command(sql, "columns")


def _relation(body: str, text: str, begin: int, catalog: Catalog) -> str | None:
    """The SELECT of a command that shows something of the catalog."""
    if _ALL.fullmatch(body):
        return catalog.listed()
    if _TABLES.fullmatch(body):
        return f"SELECT table_name AS name FROM ({catalog.relation('information_schema', 'tables')}) AS t ORDER BY 1"
    if _DATABASES.fullmatch(body):
        return f"SELECT database_name FROM ({catalog.relation('()', 'duckdb_databases')}) AS d"
    for pattern, show in ((_DESCRIBED, catalog.described), (_SUMMARIZED, catalog.summarized)):
        found = pattern.fullmatch(body)
        if found is not None:
            return show(_known(found, text, begin, catalog))
    found = _INFO.fullmatch(body)
    return None if found is None else catalog.relation("()", "pragma_table_info", _known(found, text, begin, catalog))


def _known(found: re.Match[str], text: str, begin: int, catalog: Catalog) -> str:
    index = next(i for i, g in enumerate(found.groups(), start=1) if g is not None)
    line, column = line_column(text, begin + found.start(index))
    return catalog.known(found[index].replace('""', '"'), line, column)
