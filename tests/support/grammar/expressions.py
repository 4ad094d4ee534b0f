"""Random expressions of a wanted kind, from the templates of all allowed functions."""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from tests.support.grammar.functions import HEAVY, ODD, SCALARS

_HOLE = re.compile(r"<(\w)>")
_CALL = re.compile(r"\w*\(")
_LITERALS: Mapping[str, Sequence[str]] = {
    "i": ("0", "1", "2", "3", "-1", "NULL"),
    "d": ("0.5", "1.25", "-2.0", "0", "1e3"),
    "s": ("'Male'", "'Female'", "'a'", "''", "'O''x'", "'2020'"),
    "b": ("TRUE", "FALSE", "NULL"),
    "t": ("DATE '2020-01-15'", "DATE '2019-12-31'"),
    "m": ("TIMESTAMP '2020-01-15 10:30:00'",),
    "v": ("INTERVAL 1 DAY",),
    "k": ("0", "1", "2", "3"),
    "u": ("'month'", "'year'", "'day'", "'week'", "'quarter'", "'hour'"),
    "w": ("'a'", "'Ma'", "'Mia'", "'%'", "''"),
    "c": ("BIGINT", "DOUBLE", "VARCHAR", "DECIMAL(9, 2)", "SMALLINT"),
}
_VALUES: Mapping[str, Sequence[Any]] = {
    "i": (0, 1, 2, None, 10**12),
    "d": (0.5, 1.0, -3.5, float("inf")),
    "s": ("Male", "Mia", "", "ü", "x' OR 1=1"),
    "b": (True, False, None),
    "t": (date(2020, 1, 15), date(1999, 1, 1)),
}

Columns = Mapping[str, Sequence[str]]
"""Names of columns by their kind."""
ROWS: Columns = {"i": ("age", "kids"), "s": ("sex",), "b": ("member",), "t": ("joined",)}
VISITS: Columns = {"i": ("day",), "s": ("kind",)}
RELEASED: Columns = {"i": ("n", "m"), "s": ("sex",)}
PUBLIC: Columns = {"i": ("age",), "s": ("sex", "label"), "d": ("weight",)}


@dataclass
class Expressions:
    """``given``: parameters that were put into the text so far, by name; ``parameters``: how often a literal is one.

    ``heavy``: how often an odd expression is a heavy one.
    """

    coins: random.Random
    parameters: float = 0.0
    heavy: float = 0.0
    given: dict[str, Any] = field(default_factory=dict)

    def of(self, kind: str, columns: Columns, depth: int = 2) -> str:
        """An expression of ``kind`` over the columns; ``x``: an odd or a heavy one."""
        if kind == "x":
            return self.filled(
                self.coins.choice(HEAVY if self.coins.random() < self.heavy else ODD), columns, depth - 1
            )
        fixed = kind in "kuwc"
        if fixed or depth <= 0 or self.coins.random() < 0.25:
            return self._leaf(kind, columns, depth)
        made = self.filled(self.coins.choice(SCALARS[kind]), columns, depth - 1)
        return made if made.endswith(")") and _CALL.match(made) else f"({made})"

    def filled(self, template: str, columns: Columns, depth: int = 1) -> str:
        """The template with an expression in each hole."""
        return _HOLE.sub(lambda hole: self.of(hole[1], columns, depth), template)

    def _leaf(self, kind: str, columns: Columns, depth: int) -> str:
        names = columns.get(kind, ())
        if names and self.coins.random() < 0.75:
            return self.coins.choice(names)
        if kind in "mv" and depth > -2:
            return self.filled(self.coins.choice(SCALARS[kind]), columns, depth - 1)
        if kind == "d" and self.coins.random() < 0.7:
            return f"({self.of('i', columns, 0)} / 2.0)"
        if kind in _VALUES and self.coins.random() < self.parameters:
            name = f"p{len(self.given)}"
            self.given[name] = self.coins.choice(_VALUES[kind])
            return f"${name}"
        return self.coins.choice(_LITERALS[kind])
