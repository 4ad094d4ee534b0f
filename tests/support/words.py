"""A table of strings with declared prefixes, random predicates over it, and released keys: for the laws of lowering."""

import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dpsql.domain import BooleanDomain, IntegerDomain, TableDomain, TextDomain
from dpsql.policy import Policy, Privacy
from dpsql.public import DuckDbPublicSql
from dpsql.sql import FrontEnd
from tests.support.contingency import seeded

WORDS = TableDomain(
    "words",
    (
        IntegerDomain("n", 0, 4),
        BooleanDomain("old"),
        TextDomain("word", (1, 2, 4)),
        TextDomain("tag", (2,)),
        TextDomain("note"),
    ),
)
STRINGS = (
    *("", "a", "ab", "abc", "abcd", "abcde", "abd", "abo", "abx", "b", "bc", "bcd", "o", "other", "other_", "A", "AB"),
    *(
        "é",
        "e\u0301",
        "e\u0301a",
        "🦆",
        "🦆a",
        "🦆ab",
        "👩\u200d👧b",
        "a%",
        "a%b",
        "a_",
        "a_b",
        "O'x",
        "O'xy",
        "a ",
        " a",
    ),
)
POLICY = Policy(Privacy(Fraction(1), Fraction(1, 10**6)), (WORDS,))

_ATOMS = (
    *("{c} LIKE {p}", "{c} NOT LIKE {p}", "NOT ({c} LIKE {p})", "starts_with({c}, {w})", "prefix({c}, {w})"),
    *("{c} ^@ {w}", "left({c}, {l}) = {v}", "{v} = left({c}, {l})", "left({c}, {l}) <> {v}"),
    *("left({c}, {l}) IN ({v}, {v}, 'zz')", "left({c}, {l}) NOT IN ({v}, {v})", "left({c}, {l}) NOT IN ({v}, NULL)"),
    *("substr({c}, 1, {l}) = {v}", "substring({c}, 1, {l}) IN ({v})", "left({c}, {l}) IS NULL"),
    *("left({c}, {l}) IS DISTINCT FROM {v}", "left({c}, {l}) IS NOT DISTINCT FROM {v}", "({c} LIKE {p}) IS TRUE"),
    *("({c} LIKE {p}) IS NOT TRUE", "{c} = {s}", "{c} <> {s}", "{c} IN ({s}, {s})", "{c} NOT IN ({s}, {s})"),
    *("{c} IS NULL", "{c} IS NOT NULL", "({c} LIKE {p}) = old", "CASE WHEN {c} LIKE {p} THEN old ELSE n > 2 END"),
    *("CASE WHEN old THEN {c} LIKE {p} ELSE {c} = {s} END", "({c} LIKE {p} AND {c} NOT IN ({s}, {s}))"),
    *("({c} IN ({s}, {s}, {s}) AND length({c}) > 1)", "({c} IN ({s}, {s}) AND {c} LIKE '%b%')", "{c} LIKE '%'"),
    *("left(left({c}, {l}), {l}) = {v}", "{c} NOT LIKE {p} ESCAPE '#'", "n > 2", "old", "n IS NULL", "old = (n < 2)"),
)


def quoted(string: str) -> str:
    return "'" + string.replace("'", "''") + "'"


def atom(rng: random.Random) -> str:
    """One predicate that the declared prefixes settle."""
    template = rng.choice(_ATOMS)
    column, lengths = rng.choice((("word", (1, 2, 4)), ("word", (1, 2, 4)), ("tag", (2,))))
    length = rng.choice(lengths)
    long = [s[:length] for s in STRINGS if len(s) >= length and not set(s[:length]) & {"%", "_"}]
    while "{" in template:
        for key, value in (
            ("{c}", column),
            ("{l}", str(length)),
            ("{s}", quoted(rng.choice((*STRINGS, "none")))),
            ("{v}", quoted(rng.choice(STRINGS)[: length + rng.choice((0, 0, 0, 1))])),
            ("{w}", quoted(rng.choice(long))),
            ("{p}", quoted(rng.choice(long) + rng.choice(("%", "%", "%%", "")))),
        ):
            template = template.replace(key, value, 1)
    return template


def predicate(rng: random.Random, depth: int) -> str:
    """AND, OR and NOT over atoms."""
    kind = rng.random()
    if depth == 0 or kind < 0.2:
        return atom(rng)
    if kind < 0.35:
        return f"NOT ({predicate(rng, depth - 1)})"
    word = rng.choice((" AND ", " OR "))
    return f"({word.join(predicate(rng, depth - 1) for _ in range(rng.randint(2, 3)))})"


def random_rows(seed: int, count: int) -> list[tuple[Any, ...]]:
    rng = seeded(seed)
    values = ((0, 1, 2, 3, 4, None), (True, False, None), (*STRINGS, None), (*STRINGS, None), ("x", "y", None))
    return [tuple(rng.choice(v) for v in values) for _ in range(count)]


class Released:
    """Released keys from a dictionary by text column; counts how often it is asked.

    ``never``: columns of which none could be shown, with the rows from which a string could.
    """

    def __init__(
        self, keys: Mapping[str, tuple[str | None, ...] | None], never: Mapping[str, int] | None = None
    ) -> None:
        self.by_column = dict(keys)
        self.never = dict(never or {})
        self.asked: list[tuple[str, str]] = []

    def keys(self, table: str, text_column: str) -> tuple[str | None, ...] | None:
        self.asked.append((table, text_column))
        return self.by_column.get(text_column)

    def shown_from(self, table: str, text_column: str) -> int | None:
        return self.never.get(text_column)


def front_end(policy: Policy = POLICY) -> FrontEnd:
    return FrontEnd(policy, DuckDbPublicSql({}.__getitem__, seconds=20.0))
