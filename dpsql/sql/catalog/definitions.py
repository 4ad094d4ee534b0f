"""Names that an analyst gives to queries for a session: CREATE VIEW, CREATE TABLE ... AS, and DROP. All public.

A name stands for the text of its query, as a CTE in front of every statement that reads it. Nothing is copied: what it
reads is asked, charged and kept like the query itself, so it costs once and its numbers have their own error bars.
"""

import re
from collections.abc import Collection, Mapping

from sqlglot import exp

from dpsql.domain import Parameters
from dpsql.errors import UnsupportedQuery
from dpsql.sql.statement import Definition
from dpsql.sql.text.limits import check_text
from dpsql.sql.text.parameters import bind
from dpsql.sql.text.parse import parse, to_sql
from dpsql.sql.text.position import line_column

_NAME = r"(?:\"((?:[^\"]|\"\")++)\"|([A-Za-z_]\w*+))"
_PLACED = rf"(?:(?:memory|temp)\.)?(?:main\.)?{_NAME}"
MAX_INNER_NAMES = 64
"""CTEs that the query of a name may have, those of the names that it reads included: each holds its own."""
MAX_NAMES = 256
"""Of a session, which holds their texts."""
_SCHEMAS = frozenset({"main", "temp"})
_LEAD = r"(?:\s++|--[^\n]*+\n|/\*.*?\*/)*+"
_FLAGS = re.IGNORECASE | re.DOTALL
_CREATE = re.compile(
    rf"{_LEAD}CREATE\s+(OR\s+REPLACE\s+)?(?:TEMP(?:ORARY)?\s+)?(?:TABLE|VIEW)\s+(IF\s+NOT\s+EXISTS\s+)?{_PLACED}"
    rf"\s*(\([^()]*\))?\s*\bAS\b",
    _FLAGS,
)
_DROP = re.compile(rf"{_LEAD}DROP\s+(?:TABLE|VIEW)\s+(IF\s+EXISTS\s+)?{_PLACED}\s*;?\s*", _FLAGS)


Definitions = Mapping[str, Definition]
"""The names of a session, lower-cased."""


def read_definition(text: str, parameters: Parameters, taken: Collection[str], known: Definitions) -> Definition | None:
    """The name that a text gives or gives up; ``None`` for every other text. ``taken``: the tables of the policy.

    Raises UnsupportedQuery for a name that is taken, and what parsing and binding of the query raise.
    """
    dropped = _DROP.fullmatch(text)
    if dropped is not None:
        name = _unquoted(dropped[2], dropped[3])
        free = name.lower() not in {t.lower() for t in taken}
        return Definition(name, None) if name.lower() in known or (dropped[1] and free) else None
    found = _CREATE.match(text)
    if found is None:
        return None
    name = _unquoted(found[3], found[4])
    place = found.start(3) if found[3] is not None else found.start(4)
    _check_free(text, place, name, taken)
    old = known.get(name.lower())
    if old is not None and found[2]:
        return old
    if old is not None and not found[1]:
        raise _refused(text, place, f"{name[:80]} is a name of this session", "write CREATE OR REPLACE")
    if old is None and len(known) >= MAX_NAMES:
        raise _refused(text, place, f"more than {MAX_NAMES:,} names in this session", "give some up: DROP VIEW name")
    tree: exp.Expr = parse(re.sub(r"[^\n]", " ", text[: found.end()]) + text[found.end() :])
    if parameters is not None or "?" in text or "$" in text:
        bind(tree, parameters)
    columns = tuple(c.strip().strip('"') for c in found[5].strip("()").split(",")) if found[5] else ()
    tree = with_definitions(tree, known)
    if sum(1 for _ in tree.find_all(exp.CTE)) > MAX_INNER_NAMES:
        raise _refused(text, place, f"more than {MAX_INNER_NAMES} names within names", "name fewer queries")
    return Definition(name, check_text(to_sql(tree)), columns)


def gives_name(text: str) -> bool:
    """Whether a text gives a name to a query, or gives one up.

    >>> gives_name("create view v as select 1"), gives_name("SELECT 1"), gives_name("DROP TABLE v;")
    (True, False, True)
    """
    return _CREATE.match(text) is not None or _DROP.fullmatch(text) is not None


def with_definitions(tree: exp.Expr, known: Definitions) -> exp.Expr:
    """The tree, changed in place: the names that it reads are CTEs in front. A CTE of the same name goes before."""
    if not known:
        return tree
    shadowed = {c.alias.lower() for c in tree.find_all(exp.CTE)}
    read = [t for t in tree.find_all(exp.Table) if t.name.lower() in known and _is_ours(t)]
    used = [known[name] for name in dict.fromkeys(t.name.lower() for t in read) if name not in shadowed]
    if not used:
        return tree
    for table in read:
        table.set("db", None)
        table.set("catalog", None)
    if len(used) > MAX_INNER_NAMES:
        raise UnsupportedQuery(f"more than {MAX_INNER_NAMES} names of the session", hint="read fewer in one statement")
    clause = tree.args.get("with_")
    ctes = [_cte(d) for d in used]
    tree.set("with_", exp.With(expressions=[*ctes, *(() if clause is None else clause.expressions)]))
    if clause is not None and clause.args.get("recursive"):
        tree.args["with_"].set("recursive", True)
    return tree


def _is_ours(table: exp.Table) -> bool:
    schema = table.args.get("db")
    return schema is None or (isinstance(schema, exp.Identifier) and schema.name.lower() in _SCHEMAS)


def _cte(definition: Definition) -> exp.CTE:
    query = parse(definition.sql or "")
    for node in query.walk():
        node.meta.pop("start", None)  # its places are those of another text
    columns = [exp.to_identifier(c, quoted=True) for c in definition.columns]
    alias = exp.TableAlias(this=exp.to_identifier(definition.name, quoted=True), columns=columns)
    return exp.CTE(this=query, alias=alias)


def _check_free(text: str, place: int, name: str, taken: Collection[str]) -> None:
    if name.lower() in {t.lower() for t in taken}:
        raise _refused(text, place, f"there is a table {name[:80]}", "choose another name")
    if name.lower().startswith("_released_"):
        raise _refused(text, place, "names that start with _released_ are taken", "choose another name")


def _unquoted(quoted: str | None, plain: str | None) -> str:
    return quoted.replace('""', '"') if quoted is not None else plain or ""


def _refused(text: str, place: int, reason: str, hint: str) -> UnsupportedQuery:
    line, column = line_column(text, place)
    return UnsupportedQuery(reason, line=line, column=column, hint=hint)
