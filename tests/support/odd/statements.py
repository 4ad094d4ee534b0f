"""Random statements about an odd table: conditions, values and groups of each kind of column."""

import random
from collections.abc import Mapping
from dataclasses import dataclass

from tests.support.odd.table import Part

_COMPARED = (
    "{c} = {v}", "{c} <> {v}", "{c} < {v}", "{c} <= {v}", "{c} > {v}", "{c} >= {v}", "{v} <= {c}", "{v} < {c}",
    "{c} IS DISTINCT FROM {v}", "{c} IS NOT DISTINCT FROM {v}", "{c} IS NULL", "{c} IS NOT NULL", "{c} IN ({v}, {w})",
    "{c} NOT IN ({v}, {w})", "{c} BETWEEN {v} AND {w}", "{c} NOT BETWEEN {v} AND {w}",
)  # fmt: skip
_NUMBERS = (
    "{e} > {v}", "{e} = {v}", "{e} <= {v}", "abs({c}) < {v}", "{c} % 2 = 1", "{c} / 2 > 1", "{c} // 2 = 1",
    "{c}::VARCHAR = '2'", "sqrt(abs({c})) > 2", "round({c}, 1) = 0.1", "{c} + 0.1 > {v}", "{c}::INT = 2", "-{c} < {v}",
    "{c} * 2 BETWEEN 1 AND 9", "{c} IN (SELECT x FROM unnest([1, 2, 0.1]) AS u(x))",
)  # fmt: skip
_DATES = (
    "year({c}) = 2019", "month({c}) IN (1, 3)", "dayofweek({c}) = 0", "date_trunc('month', {c}) = DATE '2019-02-01'",
    "{c} + INTERVAL 1 DAY > {v}", "extract(day FROM {c}) > 15", "strftime({c}, '%m') = '03'", "last_day({c}) = {c}",
    "date_diff('day', {c}, DATE '2019-03-01') > 5", "weekofyear({c}) < 9",
)  # fmt: skip
_HOURS = (
    "hour({c}) < 6", "extract(hour FROM {c}) BETWEEN 9 AND 17", "{c}::DATE = DATE '2024-02-29'",
    "date_trunc('day', {c}) > '2024-02-29'", "{c} - INTERVAL 3 HOUR < TIMESTAMP '2024-02-29 12:00:00'",
)  # fmt: skip
CONDITIONS: Mapping[str, tuple[str, ...]] = {
    "number": _COMPARED + _NUMBERS,
    "integer": _COMPARED + _NUMBERS,
    "boolean": ("{c}", "NOT {c}", "{c} IS NULL", "{c} IS NOT FALSE", "{c} = {v}", "{c} > false"),
    "category": (
        *_COMPARED, "{c} LIKE '%a%'", "{c} ILIKE 'h%'", "length({c}) > 2", "lower({c}) = 'happy'", "upper({c}) <> {c}",
        "{c} ~ '.*[é''].*'", "{c} || 'z' > 'iz'", "left({c}, 1) IN ('s', 'x', '')", "contains({c}, '''')",
    ),
    "date": _COMPARED + _DATES,
    "hour": _COMPARED + _DATES + _HOURS,
    "text": (
        "{c} = {v}", "{c} <> {v}", "{c} IN ({v}, {w})", "{c} NOT IN ({v}, {w})", "{c} IS NULL", "{c} LIKE 'a%'",
        "{c} LIKE 't%'", "left({c}, 1) = 's'", "starts_with({c}, 'it')", "length({c}) > 1", "{c} LIKE '%i%'",
        "lower({c}) = 'a'", "{c} > 'b'",
    ),
}  # fmt: skip
VALUES = (
    "{c}", "{c}", "{c}", "2 * {c} + 1", "abs({c})", "-{c}", "coalesce({c}, 0)", "{c} % 3", "floor({c} / 10) * 10",
    "round({c})", "least({c}, 3)", "{c} * {c}", "CASE WHEN {p} THEN {c} ELSE 0 END", "CASE WHEN {p} THEN 1 END",
)  # fmt: skip
GROUPS: Mapping[str, tuple[str, ...]] = {
    "number": ("floor({c} / 100) * 100", "{c} > 0", "{c} IS NULL",
               "CASE WHEN {c} < 0 THEN 'neg' WHEN {c} < 100 THEN 'mid' ELSE 'hi' END"),
    "integer": ("{c}", "{c} % 2", "{c} // 2", "coalesce({c}, -1)"),
    "boolean": ("{c}", "NOT {c}", "coalesce({c}, false)"),
    "category": ("{c}", "upper({c})", "length({c})", "coalesce({c}, 'none')", "left({c}, 1)"),
    "date": ("date_trunc('month', {c})", "month({c})", "year({c})", "dayname({c})", "date_trunc('week', {c})"),
    "hour": ("hour({c})", "date_trunc('day', {c})", "{c}::DATE", "{c}"),
    "text": ("{c}", "left({c}, 1)", "{c} = 'a'", "upper({c})"),
}  # fmt: skip
COUNTS = ("COUNT(*)", "COUNT(*)", "COUNT({x})", "COUNT_IF({p})", "COUNT(CASE WHEN {p} THEN 1 END)")
PRODUCTS = ("{a} * {b}", "{a} * (1 - {b}) * 0.5", "-2 * {a} * {b}", "{a} / 10 * {b}", "{a} * ({b} > 3)::INT")
SUMMARIES = ("MIN({x})", "MAX({x})", "MODE({x})", "COUNT(DISTINCT {x})")
OF_NUMBERS = ("MEDIAN({n})", "QUANTILE_DISC({n}, 0.25)", "QUANTILE_CONT({n}, 0.9)", "STDDEV({n})", "VAR_POP({n})")
BOTH = (
    "({p} AND {q})", "({p} OR {q})", "NOT ({p})", "(CASE WHEN {p} THEN {q} ELSE {r} END)", "coalesce({p}, false)",
    "({p}) IS NOT TRUE",
)  # fmt: skip


@dataclass(frozen=True)
class Statement:
    """``groups``: how many of its columns are group expressions."""

    text: str
    groups: int


class _Maker:
    def __init__(self, coins: random.Random, part: Part) -> None:
        self.coins = coins
        self.part = part
        self.numbers = [c for c, kind in part.kinds.items() if kind in ("number", "integer")]

    def literal(self, column: str) -> str:
        return self.coins.choice(self.part.literals[column])

    def condition(self, depth: int = 2) -> str:
        if depth > 0 and self.coins.random() < 0.5:
            p, q, r = (self.condition(depth - 1) for _ in range(3))
            return self.coins.choice(BOTH).format(p=p, q=q, r=r)
        column = self.coins.choice(list(self.part.kinds))
        v, w = self.literal(column), self.literal(column)
        template = self.coins.choice(CONDITIONS[self.part.kinds[column]])
        return template.format(c=column, v=v, w=w, e=self.value(column) if "{e}" in template else "")

    def value(self, column: str | None = None) -> str:
        if not self.numbers:
            kinds = {kind: c for c, kind in self.part.kinds.items()}
            return self.coins.choice((f"length({kinds['category']})", f"{kinds['boolean']}::INT"))
        if column is None and len(self.numbers) > 1 and self.coins.random() < 0.2:
            one, other = self.coins.sample(self.numbers, 2)
            return self.coins.choice(PRODUCTS).format(a=one, b=other)
        template = self.coins.choice(VALUES)
        return template.format(
            c=column or self.coins.choice(self.numbers), p=self.condition(0) if "{p}" in template else ""
        )

    def group(self) -> str:
        column, kind = self.coins.choice(list(self.part.kinds.items()))
        return self.coins.choice(GROUPS[kind]).format(c=column)

    def aggregate(self) -> str:
        chance = self.coins.random()
        column = self.coins.choice([c for c, kind in self.part.kinds.items() if kind != "text"])
        if chance < 0.45:
            made = self.coins.choice(COUNTS).format(x=column, p=self.condition(1))
        elif chance < 0.8:
            made = f"{self.coins.choice(('SUM', 'SUM', 'AVG'))}({self.value()})"
        elif chance < 0.9:
            many = SUMMARIES + (OF_NUMBERS if self.numbers else ())
            made = self.coins.choice(many).format(x=column, n=self.coins.choice(self.numbers or [""]))
        else:
            return f"100.0 * COUNT(*) FILTER (WHERE {self.condition(1)}) / COUNT(*)"
        return f"{made} FILTER (WHERE {self.condition(1)})" if self.coins.random() < 0.25 else made

    def statement(self) -> Statement:
        where = f" WHERE {self.condition()}" if self.coins.random() < 0.7 else ""
        group, chance = self.group(), self.coins.random()
        if chance < 0.35:
            return Statement(f"SELECT {self.aggregate()} AS a, {self.aggregate()} AS b FROM odd{where}", 0)
        if chance < 0.75:
            keys = list(dict.fromkeys([group, *[self.group() for _ in range(self.coins.choice((0, 0, 1)))]]))
            named = ", ".join(f"{key} AS g{i}" for i, key in enumerate(keys))
            many = f"{self.aggregate()} AS a, {self.aggregate()} AS b"
            return Statement(f"SELECT {named}, {many} FROM odd{where} GROUP BY ALL", len(keys))
        if chance < 0.82:
            inner = f"SELECT {group} AS g, {self.aggregate()} AS n FROM odd{where} GROUP BY 1"
            return Statement(f"WITH t AS ({inner}) SELECT SUM(n) AS s FROM t", 0)
        if chance < 0.88:
            inner = f"SELECT {group} AS g, COUNT(*) AS n, COUNT_IF({self.condition(1)}) AS k FROM odd{where} GROUP BY 1"
            return Statement(f"SELECT g, n, k FROM ({inner}) ORDER BY g NULLS LAST", 1)
        if chance < 0.94:
            share = "100.0 * n / SUM(n) OVER () AS share"
            return Statement(f"SELECT {group} AS g, COUNT(*) AS n, {share} FROM odd{where} GROUP BY ALL", 1)
        inner = f"SELECT {self.value()} AS x FROM odd{where}"
        return Statement(f"SELECT COUNT(*) AS a, SUM(x) AS s FROM ({inner}) AS u WHERE x > 1", 0)


def statement(part: Part, seed: int, number: int) -> Statement:
    """The statement of that number: a failure is made again from the three alone."""
    return _Maker(random.Random(f"{seed} {number}"), part).statement()  # noqa: S311 - which text comes next, no noise
