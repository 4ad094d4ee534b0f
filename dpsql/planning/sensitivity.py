"""How much one privacy unit can change what is measured: the numbers that all noise is scaled to. Public.

They stand apart from the plan's shares because a wrong one is a wrong privacy claim, not a worse answer.
"""

from dpsql.domain import TableDomain, row_count_obstacle
from dpsql.policy import Neighbors, Policy


def query_sensitivity(table: TableDomain) -> int:
    """How much a linear query changes between neighbours: c, the rows of one unit, under both relations."""
    return table.max_rows_per_unit if table.unit is not None else 1


def contingency_l2_squared(policy: Policy, table: TableDomain) -> int:
    """Squared L2 sensitivity of a contingency: c^2 for add-remove (c rows may share a cell), 2 c^2 for replace-one."""
    c = query_sensitivity(table)
    return c * c * (2 if policy.privacy.neighbors == "replace-one" else 1)


def indicators_changed(neighbors: Neighbors, table: TableDomain) -> int:
    """How many entries of "is there a row in this cell" one unit changes, each by 1: for c rows that go, and that come.

    A row is in one cell, whatever cells are joined. It is the L1 and the squared L2 sensitivity of such a vector.
    """
    return query_sensitivity(table) * (2 if neighbors == "replace-one" else 1)


def weighted_l2_squared(neighbors: Neighbors, table: TableDomain, low: int, high: int) -> int:
    """Squared L2 sensitivity of weighted counts, where each row changes one number by ``low`` <= 0 to ``high`` >= 0.

    c rows that go, or come, change the numbers by c m at most together, m being the larger weight. Of c rows that go
    and c that come, in one number by c (high - low), in two by sqrt(2) c m, and whatever is between is no more.
    """
    c, m = query_sensitivity(table), max(high, -low)
    return c * c * (max((high - low) ** 2, 2 * m * m) if neighbors == "replace-one" else m * m)


def distinct_l2_squared(neighbors: Neighbors, table: TableDomain, column: str, regions: int, most: int = 1) -> int:
    """Squared L2 sensitivity of the numbers of different values of ``column`` in so many disjoint sets of rows.

    ``most`` above 1: by how many rows, up to so many, a value has there.

    A unit is one value of its own column: it is in c sets at most and adds 1 to each, so units that go and come change
    2 c numbers at most, each by 1, or by how many rows two for each set. Of another column c rows that go, or come,
    take away or bring c values at most, in one set as in all; what both do to one number does not add up.
    """
    c, twice = query_sensitivity(table), 2 if neighbors == "replace-one" else 1
    if column == table.unit:
        return min(twice * c, regions) if most == 1 else twice * min(c, regions)
    return c * c * most * most * (1 if regions == 1 and most == 1 else twice)


def measures_differences(policy: Policy) -> bool:
    """Whether warm starts measure columns of two values as differences: not where replaced rows change them by 2."""
    return policy.privacy.neighbors == "add-remove"


def row_count_is_public(policy: Policy, table: TableDomain) -> bool:
    """Whether the exact number of counted rows may be shown: the owner says so, and neighbours cannot change it."""
    return row_count_obstacle(table, policy.privacy.neighbors) is None
