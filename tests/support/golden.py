"""What the golden fixtures say below each statement."""

from dpsql.errors import Error
from dpsql.query.summary import Distinct
from dpsql.sql import Statement


def summary(statement: Statement) -> str:
    """The private questions of a statement: table, columns touched, number of groups; ``free`` when there are none."""
    parts = []
    for block in statement.blocks:
        forms = [f for a in block.aggregates for g in range(len(block.groups)) for f in a.forms(g)]
        queries = [t.query for f in forms for t in f.terms]
        distinct = [c for a in block.aggregates if isinstance(a.summary, Distinct) for c in a.summary.counts]
        queries += [t.query for c in distinct if c is not None for t in c.rows.terms]
        if not queries:
            continue
        columns = {c for q in queries for c in (*q.scope, *(q.keyed.text_columns if q.keyed else ()))}
        columns |= {c.column for c in distinct if c is not None}
        groups = f" by {len(block.groups)} groups" if block.group_columns else ""
        parts.append(f"{block.table}({', '.join(sorted(columns))}){groups}")
    return "; ".join(parts) or "free"


def refusal_line(error: Error) -> str:
    """Class, message with position, and hint."""
    return f"{type(error).__name__}: {str(error).splitlines()[0]} | {error.hint}"
