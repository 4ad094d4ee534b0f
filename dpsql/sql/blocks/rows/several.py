"""What is said of rows that are counted several times: by a join, or by the selections of a UNION ALL."""

from collections.abc import Sequence

from dpsql.dialect.quoting import written
from dpsql.sql.expressions.names import Scope


def several_rows(scope: Scope) -> tuple[str, str]:
    """Reason and hint for what is no sum over rows that are counted several times."""
    if scope.unlisted:
        found = f"{written(scope.unlisted[0])} IN (SELECT ... FROM the public table)"
        return unlisted_key(scope.unlisted), f"this join is answered with COUNT, SUM and AVG alone; write WHERE {found}"
    if scope.by_source:
        reason = "this aggregate is no sum, and a row finds several rows in this join"
        return reason, "join a table in which each key stands once, or write COUNT, SUM and AVG"
    reason = "this aggregate over the rows of several selections is not answered"
    return reason, "write one condition with OR, or aggregate each in its own SELECT"


def several_groups(scope: Scope) -> tuple[str, str]:
    """Reason and hint for rows that are counted several times, in different groups."""
    subquery = "group by the key in a subquery, join its result and sum its counts"
    if scope.unlisted:
        return unlisted_key(scope.unlisted), f"ask of one group at a time, by WHERE or FILTER; or {subquery}"
    if scope.by_source:
        return "a row finds several rows in this join, which are in different groups", subquery
    return "the sides of UNION ALL group by different expressions", "select the same column on each side"


def unlisted_key(names: Sequence[str]) -> str:
    """Why a join is not answered as a look-up."""
    return f"a join by {' and '.join(names)}, whose values are not listed one by one in the policy"
