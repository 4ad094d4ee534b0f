"""The owner's listing of rows that are not counted and of values outside the declared domains. Its numbers are private.

It is the one listing that must not be passed on to analysts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dpsql.domain import TableDomain, undeclared_become
from dpsql.engine.tally import RowTally
from dpsql.interface.render.layout import grid
from dpsql.interface.render.listing import LONGEST_DOMAIN, domain_text
from dpsql.interface.render.style import Style, escape, shorten


@dataclass(frozen=True)
class TableCheck:
    """One table's rows, and by column name those with a value outside its domain: exact, for the owner alone."""

    table: TableDomain
    rows: RowTally
    outside: Mapping[str, int]


def render_domain_check(checks: Sequence[TableCheck], style: Style) -> list[str]:
    """What each table's numbers do not speak of, then one line per column that has values outside."""
    rows = [
        (
            escape(c.table.name),
            escape(column.name),
            shorten(domain_text(column), LONGEST_DOMAIN, style),
            f"{c.outside[column.name]:,}",
            _FATES[undeclared_become(column)],
        )
        for c in checks
        for column in c.table.columns
        if c.outside.get(column.name, 0) > 0
    ]
    lines = [line for c in checks for line in _rows(c, style)]
    if not rows:
        return [*lines, "every value lies in its declared domain"]
    header = ("table", "column", "declared", "outside", "counted as")
    return [*lines, "", *grid(header, rows, ("left", "left", "left", "right", "left"), style)]


def domain_check_object(checks: Sequence[TableCheck]) -> dict[str, dict[str, Any]]:
    """The same for ``--json``: by table the fields of its tally, what is ``counted``, and ``outside`` by column."""
    return {c.table.name: asdict(c.rows) | {"counted": c.rows.counted, "outside": dict(c.outside)} for c in checks}


_FATES = {
    "clipped": "the nearer end; NaN as NULL",
    "NULL": "NULL",
    "left out": "row left out",
    "none": "rows of strings that have more",
}


def _rows(check: TableCheck, style: Style) -> list[str]:
    """How many rows of a table are counted, and a line for each reason why others are not."""
    table, rows = check.table, check.rows
    name = style.bold(escape(table.name))
    dropped = rows.rows - rows.counted
    if not dropped:
        lines = [f"{name}: all {rows.rows:,} rows are counted"]
    else:
        share = f"{100 * dropped / rows.rows:.2g} %"
        warned = style.yellow(f"{dropped:,} ({share}) in no answer")
        lines = [f"{name}: {rows.counted:,} of {rows.rows:,} rows are counted, {warned}"]
    unit, cap = escape(table.unit or ""), table.max_rows_per_unit
    if rows.beyond_cap:
        many = f"{rows.units_beyond_cap:,} of {rows.units:,} values of {unit} have more"
        lines.append(f"  beyond max_rows_per_unit = {cap:,}: {rows.beyond_cap:,} ({many})")
    if rows.without_unit:
        kept = min(rows.without_unit, cap)
        lines.append(f"  without a {unit} (NULL): {rows.without_unit:,}, which are one unit together: {kept:,} counted")
    if rows.left_out:
        required = ", ".join(escape(c.name) for c in table.columns if not c.nullable)
        lines.append(f"  without a declared value where nullable = false ({required}): {rows.left_out:,}")
    return lines
