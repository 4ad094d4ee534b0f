"""Random statements of every form that dpsql answers, and broken ones; the same for the same seed."""

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.support.fuzz import mutated
from tests.support.grammar.expressions import PUBLIC, RELEASED, ROWS, VISITS, Expressions
from tests.support.grammar.functions import OVER_RELEASED, UNORDERED, UNORDERED_WINDOWS, WINDOWS

LIGHT = 1000
"""So many statements take a small part of the time limit, so that a busy machine answers them alike."""
GROUPS = (
    "sex",
    "member",
    "age",
    "kids",
    "joined",
    "age % 2",
    "age > 0",
    "year(joined)",
    "sex, member",
    "kids, sex, age",
)
_TEXT = (
    "name = {0}", "name <> {0}", "name IN ({0}, {1})", "name NOT IN ({0}, {1})", "name IS NULL", "name IS NOT NULL",
    "name LIKE 'M%'", "name LIKE 'Ma%'", "starts_with(name, 'M')", "left(name, 1) = 'A'", "name ^@ 'Mi'",
    "substr(name, 1, 2) IN ('Mi', 'An')", "name = {0} AND pet = 'Rex'", "name = {0} OR pet <> 'Bo'", "pet = 'Bo'",
    "name IN ({0}, {1}) AND length(name) > 2", "name IS NOT DISTINCT FROM {0}", "(name = {0}) = member",
)  # fmt: skip
_NAMES = ("'Mia'", "'Max'", "'Ann'")
_HOURS = (
    "hours >= 10", "hours < 20", "hours IS NULL", "hours >= 10 AND hours < 20", "hours > 30", "hours < 10",
    "hours <= 0", "hours > 10", "hours = 20", "hours <> 0", "hours / 3 < 4", "hours + age > 11",
    "hours BETWEEN 5 AND 10",
)  # fmt: skip
"""On edges of bins, and between them: what cuts a bin is answered with a doubt."""
_AGGREGATES = (
    "COUNT(*)", "COUNT(age)", "COUNT(<i>)", "<(>SUM(age)<)>", "<(>SUM(<i>)<)>", "AVG(kids)", "AVG(<i>)",
    "<(>SUM(hours)<)>",
    "AVG(hours)", "<(>COUNT_IF(<b>)<)>", "COUNT(*) FILTER (WHERE <b>)", "<(>SUM(kids) FILTER (WHERE <b>)<)>",
    "AVG(age) FILTER (<b>)", "<(>SUM(CASE WHEN <b> THEN 1 ELSE 0 END)<)>", "COUNT(CASE WHEN <b> THEN 1 END)",
    "COUNT(1)",
    "mean(<i>)", "<(>SUM((<b>)::INT)<)>", "100.0 * COUNT(*) FILTER (WHERE <b>) / COUNT(*)", "COUNT(*) - COUNT(age)",
    "<(>SUM(age)<)> / COUNT(*)", "COUNT(*) * 2 + 1", "<(>SUM(<d>)<)>", "AVG(<d>)", "-COUNT(*)", "nullif(COUNT(*), 0)",
)  # fmt: skip
"""Between ``<(>`` and ``<)>``: NULL over no row in DuckDB, 0 here (docs/sql.md)."""
_BROKEN = (
    "SELECT MIN({i}) FROM people", "SELECT {i} FROM people", "SELECT COUNT(DISTINCT age) FROM people",
    "SELECT COUNT(*) FROM people WHERE salary = {i}", "SELECT COUNT(*) FROM people WHERE length(name) > {i}",
    "SELECT median({i}) FROM people", "SELECT COUNT(*) OVER () FROM people WHERE {b}",
    "SELECT COUNT(*) FROM people a JOIN people b ON a.age = b.age", "SELECT COUNT(*) FROM people, visits WHERE {b}",
    "SELECT COUNT(*) FROM people WHERE age = (SELECT MAX(age) FROM people)", "SELECT SUM({s}) FROM people",
    "SELECT COUNT(*) FROM people WHERE random() < {d}", "SELECT COUNT(*) FROM people WHERE {s}",
    "SELECT sex, COUNT(*) FROM people", "SELECT COUNT(*) FROM people GROUP BY frobnicate({i})",
    "SELECT COUNT(*) FROM people WHERE {i} = ANY (SELECT age FROM people)", "DELETE FROM people WHERE {b}",
    "SELECT COUNT(*) FROM people LIMIT {s}", "SELECT COUNT(*) FROM people WHERE {b} ORDER BY nothing",
    "SELECT COUNT(*) AS n FROM people GROUP BY n", "SELECT error({s})", "SELECT COUNT(*) FROM people WHERE {i}::JSON",
    "SELECT COUNT(*) FROM people WHERE {b} UNION SELECT age FROM people", "SELECT lpad('a', {i}, 'b')",
    "SELECT COUNT(*) FROM people WHERE (age, kids) = ({i}, 1)",
    "SELECT n FROM (SELECT COUNT(*) AS n FROM people) WHERE x",
    "SELECT unnest([{i}])", "SELECT COUNT(*) FROM people WHERE NOT ({b}", "SELECT DP_INTERVAL_LOW({i}) FROM people",
)  # fmt: skip


@dataclass(frozen=True)
class Statement:
    """``text`` for dpsql; ``theirs`` for DuckDB on the rows, ``None`` where the answers cannot be compared.

    ``ordered``: whether rows come in a determined order. ``number`` of its seed.
    """

    text: str
    theirs: str | None
    parameters: Any = None
    ordered: bool = False
    number: int = 0


class _Maker:
    """One statement from one source of coins."""

    def __init__(self, coins: random.Random, heavy: float) -> None:
        self.coins = coins
        self.expressions = Expressions(coins, coins.choice((0.0, 0.0, 0.4)), heavy)
        self.compared = True
        self.ordered = False

    # --- pieces ------------------------------------------------------------------------------------------------

    def pick(self, *choices: str) -> str:
        return self.coins.choice(choices)

    def maybe(self, text: str, chance: float = 0.5) -> str:
        return text if self.coins.random() < chance else ""

    def condition(self) -> str:
        kind = self.coins.random()
        if kind < 0.15:
            return self.coins.choice(_TEXT).format(*self.coins.sample(_NAMES, 2))
        if kind < 0.22:
            return self.coins.choice(_HOURS)
        if kind < 0.28:
            public = self.pick("SELECT sex FROM regions", "SELECT label FROM regions WHERE weight > 1")
            return f"sex {self.maybe('NOT ')}IN ({public})"
        if kind < 0.32:
            return f"age > (SELECT {self.pick('AVG', 'MAX', 'MIN')}(age) - 2 FROM regions)"
        if kind < 0.34:
            return f"{self.expressions.of('x', ROWS, 1)} {self.pick('IS NULL', 'IS NOT NULL', '= 1')}"
        return self.expressions.of("b", ROWS, self.coins.choice((1, 2, 2, 3)))

    def where(self, chance: float = 0.6) -> str:
        parts = [self.condition() for _ in range(self.coins.choice((1, 1, 2, 3)))]
        return self.maybe(f" WHERE {self.pick(' AND ', ' AND ', ' OR ').join(parts)}", chance)

    def aggregate(self) -> str:
        return self.expressions.filled(self.coins.choice(_AGGREGATES), ROWS)

    def over(self, lists: tuple[tuple[str, ...], tuple[str, ...]]) -> str:
        """An aggregate or window over a released table; of unordered ones the value is not compared."""
        chosen = lists[0] if self.coins.random() < 0.8 else lists[1]
        self.compared = self.compared and chosen is lists[0]
        return re.sub("<n>", lambda _: self.pick("n", "m", "n + m"), self.coins.choice(chosen))

    def order(self) -> str:
        if self.coins.random() < 0.5:
            return ""
        self.ordered = True
        limit = f" LIMIT {self.coins.randint(0, 4)}{self.maybe(' OFFSET 1', 0.3)}"
        return f" ORDER BY ALL{self.maybe(limit, 0.3)}"

    def grouped(self, groups: str = "sex", where: str | None = None) -> str:
        """A block with the columns ``n`` and ``m``, which are whole numbers."""
        second = self.pick("COUNT(age)", "COUNT(*) FILTER (WHERE member)", "<(>SUM(kids)<)>", "COUNT(name)")
        condition = self.where(0.4) if where is None else where
        return f"SELECT {groups}, COUNT(*) AS n, {second} AS m FROM people{condition} GROUP BY {groups}"

    # --- forms -------------------------------------------------------------------------------------------------

    def counts(self) -> str:
        number = self.coins.choice((1, 1, 2, 4))
        return f"SELECT {', '.join(self.aggregate() for _ in range(number))} FROM people{self.where()}"

    def groups(self) -> str:
        groups = self.coins.choice(GROUPS)
        many = ", ".join(self.aggregate() for _ in range(self.coins.choice((1, 1, 2))))
        having = self.maybe(f" HAVING COUNT(*) {self.pick('>', '<=')} {self.coins.choice((0, 700, 2000))}", 0.3)
        by = "ALL" if self.coins.random() < 0.3 else groups
        return f"SELECT {groups}, {many} FROM people{self.where()} GROUP BY {by}{having}{self.order()}"

    def expression_groups(self) -> str:
        kind = self.pick("i", "s", "b", "t", "d", "x")
        key = self.expressions.of(kind, ROWS, 2)
        return f"SELECT {key} AS key, {self.aggregate()} AS n FROM people{self.where(0.3)} GROUP BY key{self.order()}"

    def text_groups(self) -> str:
        key = self.pick("name", "left(name, 1)", "upper(name)", "pet", "name, sex")
        where = self.pick("", " WHERE name IN ('Mia', 'Ann')", " WHERE member", " WHERE length(name) = 3")
        self.compared = "pet" not in key or "name" not in where
        return f"SELECT {key}, COUNT(*) AS n FROM people{where} GROUP BY {key}{self.order()}"

    def other_table(self) -> str:
        condition = self.expressions.of("b", VISITS, 2)
        return (
            f"SELECT kind, COUNT(*), AVG(day), <(>SUM(day)<)> FROM visits WHERE {condition} GROUP BY kind{self.order()}"
        )

    def windows(self) -> str:
        many = ", ".join(self.over((WINDOWS, UNORDERED_WINDOWS)) for _ in range(self.coins.choice((1, 2))))
        qualify = self.maybe(" QUALIFY rank() OVER (ORDER BY n DESC, sex) <= 2", 0.2)
        return f"SELECT sex, n, {many} FROM ({self.grouped()}) q{qualify}{self.order()}"

    def tables(self) -> str:
        many = ", ".join(self.over((OVER_RELEASED, UNORDERED)) for _ in range(self.coins.choice((1, 2, 3))))
        groups = self.coins.choice(GROUPS[:5])
        return f"WITH g AS ({self.grouped(groups)}) SELECT {many} FROM g{self.maybe(' WHERE n > 100', 0.3)}"

    def scalars_over_released(self) -> str:
        kind = self.pick("i", "d", "s", "b", "x")
        expression = self.expressions.of(kind, RELEASED, 2)
        return f"SELECT sex, {expression} AS x FROM ({self.grouped()}) AS g{self.order()}"

    def joins(self) -> str:
        how = self.pick("JOIN", "LEFT JOIN", "FULL JOIN", "CROSS JOIN")
        on = "" if how == "CROSS JOIN" else " ON g.sex = r.sex"
        return (
            f"SELECT g.sex, g.n, r.label, n * weight AS w FROM ({self.grouped()}) g {how} regions r{on}{self.order()}"
        )

    def joined_blocks(self) -> str:
        one, other = self.grouped("sex"), self.grouped("sex")
        return f"SELECT a.sex, a.n - b.n AS d, a.m + b.m AS s FROM ({one}) a JOIN ({other}) b USING (sex){self.order()}"

    def unions(self) -> str:
        word = self.pick("UNION ALL", "UNION", "EXCEPT", "INTERSECT")
        one, other = self.where(), self.where()
        return f"SELECT 'x' AS c, COUNT(*) AS n FROM people{one} {word} SELECT 'y', COUNT(age) FROM people{other}"

    def scalar_subqueries(self) -> str:
        block = f"(SELECT {self.aggregate()} FROM people{self.where()})"
        return f"SELECT {block} AS a, (SELECT COUNT(*) FROM visits) AS b, {self.expressions.of('d', {}, 1)} AS c"

    def inner_projections(self) -> str:
        i, s = self.expressions.of("i", ROWS, 1), self.expressions.of("s", ROWS, 1)
        condition = self.expressions.of("b", {"i": ("k",), "s": ("w",)}, 1)
        inner = f"SELECT {i} AS k, {s} AS w FROM people{self.where(0.4)}"
        if self.coins.random() < 0.5:
            return f"SELECT COUNT(*) FROM ({inner}) q WHERE {condition}"
        return f"WITH q AS ({inner}) SELECT COUNT(*), COUNT(w) FROM q WHERE {condition}"

    def distinct(self) -> str:
        groups = self.coins.choice(GROUPS)
        return f"SELECT DISTINCT {groups} FROM people{self.where(0.4)}{self.order()}"

    def intervals(self) -> str:
        self.compared = False
        aggregate = self.coins.choice(("COUNT(*)", "SUM(kids)", "AVG(age)", self.aggregate()))
        bars = "DP_INTERVAL_LOW(x), DP_INTERVAL_HIGH(x) AS h"
        return f"SELECT sex, {aggregate} AS x, {bars} FROM people GROUP BY sex"

    def public(self) -> str:
        kind = self.pick("i", "d", "s", "b", "t", "m", "x")
        if self.coins.random() < 0.5:
            return f"SELECT {self.expressions.of(kind, {}, 3)} AS x, {self.expressions.of('s', {}, 2)}"
        return f"SELECT label, {self.expressions.of(kind, PUBLIC, 2)} AS x FROM regions{self.order()}"

    def broken(self) -> str:
        self.compared = False
        holes = {kind: self.expressions.of(kind, ROWS, 1) for kind in "isbd"}
        return self.coins.choice(_BROKEN).format(**holes)

    def damaged(self) -> str:
        self.compared = False
        return mutated(self.coins, self.coins.choice(FORMS[:-2])(self))


FORMS: tuple[Callable[[_Maker], str], ...] = (
    _Maker.counts, _Maker.counts, _Maker.groups, _Maker.groups, _Maker.expression_groups, _Maker.expression_groups,
    _Maker.text_groups, _Maker.other_table, _Maker.windows, _Maker.tables, _Maker.scalars_over_released, _Maker.joins,
    _Maker.joined_blocks, _Maker.unions, _Maker.scalar_subqueries, _Maker.inner_projections, _Maker.distinct,
    _Maker.intervals, _Maker.public, _Maker.broken, _Maker.damaged,
)  # fmt: skip


def statement(seed: int, number: int) -> Statement:
    """The statement of that number: a failure is made again from the two alone. Heavy ones come from ``LIGHT`` on."""
    coins = random.Random(f"{seed} {number}")  # noqa: S311 - which text comes next, no noise
    maker = _Maker(coins, heavy=0.15 if number >= LIGHT else 0.0)
    made = maker.coins.choice(FORMS)(maker)
    text, theirs = made.replace("<(>", "").replace("<)>", ""), made.replace("<(>", "coalesce(").replace("<)>", ", 0)")
    used = set(re.findall(r"\$(p\d+)\b", text))
    given: Any = {name: value for name, value in maker.expressions.given.items() if name in used} or None
    if given is not None and maker.coins.random() < 0.5:  # the same, by position
        names = re.findall(r"\$(p\d+)\b", text)
        text, theirs = (re.sub(r"\$p\d+\b", "?", t) for t in (text, theirs))
        given = [given[name] for name in names]
    slow = all(re.search(p, text) for p in (r"\b(9999|10000)\b", r"\b(people|visits)\b"))  # DuckDB: for every row
    return Statement(text, theirs if maker.compared and not slow else None, given, maker.ordered, number)


def statements(seed: int, begin: int, end: int) -> Iterator[Statement]:
    """Numbers ``begin`` to ``end`` - 1 of the seed."""
    return (statement(seed, number) for number in range(begin, end))
