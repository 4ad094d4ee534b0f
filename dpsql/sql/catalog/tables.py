"""Tables of the catalog inside a statement: their rows take their place, so the rest of the statement is ordinary."""

from sqlglot import exp

from dpsql.policy import Policy
from dpsql.sql.catalog.relations import catalog_of
from dpsql.sql.public_sql import PublicSql
from dpsql.sql.text.parse import parse


def stand_in(node: exp.Table, policy: Policy, public: PublicSql) -> bool:
    """Whether a table is one of the catalog's: ``information_schema.tables``, ``duckdb_tables()`` and their kin.

    If so it is replaced, in place, by a subquery of constants.
    """
    called, schema = node.this, node.args.get("db")
    if isinstance(called, exp.Anonymous):
        place, arguments = "()", called.expressions
    elif isinstance(schema, exp.Identifier) and schema.name.lower() == "information_schema":
        place, arguments = "information_schema", []
    else:
        return False
    strings = [a.name for a in arguments if isinstance(a, exp.Literal) and a.is_string]
    if len(strings) != len(arguments) or len(strings) > 1 or node.args.get("sample") is not None:
        return False
    found = catalog_of(policy, public).relation(place, called.name.lower(), *strings)
    if found is None:
        return False
    alias = node.args.get("alias") or exp.TableAlias(this=exp.to_identifier(called.name, quoted=True))
    rows = exp.Subquery(this=parse(found), alias=alias.copy())
    rows.set("joins", node.args.get("joins"))
    node.replace(rows)
    return True
