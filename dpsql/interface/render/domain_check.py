"""The owner's listing of values outside the declared domains. Its numbers are private.

It is the one listing that must not be passed on to analysts.
"""

from collections.abc import Mapping, Sequence

from dpsql.domain import TableDomain
from dpsql.interface.render.layout import grid
from dpsql.interface.render.listing import LONGEST_DOMAIN, domain_text
from dpsql.interface.render.style import Style, escape, shorten

Outside = Sequence[tuple[TableDomain, Mapping[str, int]]]
"""For each table, rows outside the domain by column name."""


def render_domain_check(outside: Outside, style: Style) -> list[str]:
    """One line per column that has values outside, or one sentence."""
    rows = [
        (
            escape(t.name),
            escape(c.name),
            shorten(domain_text(c), LONGEST_DOMAIN, style),
            f"{counts[c.name]:,}",
            _fate(c.nullable),
        )
        for t, counts in outside
        for c in t.columns
        if counts.get(c.name, 0) > 0
    ]
    if not rows:
        return ["every value lies in its declared domain"]
    header = ("table", "column", "declared", "outside", "counted as")
    return grid(header, rows, ("left", "left", "left", "right", "left"), style)


def domain_check_object(outside: Outside) -> dict[str, dict[str, int]]:
    """The same for ``--json``: table, column, count."""
    return {t.name: dict(counts) for t, counts in outside}


def _fate(nullable: bool) -> str:
    return "NULL" if nullable else "row left out"
