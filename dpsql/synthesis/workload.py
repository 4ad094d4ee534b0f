"""Workloads: the queries that a synthetic table should answer well. Public: made of the policy and what is written.

A workload is a list of *parts*: words such as ``marginals:2`` that stand for many queries, or statements.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import ceil, prod

import numpy as np

from dpsql.domain import FiniteDomain, TableDomain
from dpsql.errors import DataError
from dpsql.query import Factor, LinearQuery
from dpsql.query.canonical import linear_query
from dpsql.synthesis.coins import coins, digest
from dpsql.synthesis.synthetic import Codes

MOST_QUERIES = 4096
"""Queries that one word stands for: of more cells so many are drawn, evenly over the sets of columns."""
HELD_OUT = 0.2
"""Share of a workload that the method is not told, to see how well its table answers what it was not made for."""
FEWEST = 10
"""Queries: of a smaller workload none is held out."""
WORDS = ("marginals:K", "prefixes:COLUMN", "cuts:random:N")
_ONE_WORD = re.compile(r"[^\s();'\"]+")


@dataclass(frozen=True, eq=False)
class Workload:
    """Distinct queries in order: ``told`` to the method, and ``held_out``. ``notes``: what was left out, in words."""

    told: tuple[LinearQuery, ...]
    held_out: tuple[LinearQuery, ...] = ()
    notes: tuple[str, ...] = ()

    @cached_property
    def digest(self) -> str:
        """What equal workloads share, held-out queries included."""
        return digest([q.digest for q in self.told], [q.digest for q in self.held_out])


def is_word(text: str) -> bool:
    """Whether ``text`` is a word for many queries, and not a statement.

    >>> is_word("marginals:2"), is_word("SELECT COUNT(*) FROM t")
    (True, False)
    """
    return text.strip().partition(":")[0].lower() in {word.partition(":")[0] for word in WORDS}


def typed(text: str) -> str:
    """``text`` as it was given in place of a file. DataError for one word that is none of those for many queries.

    >>> typed("marginals:2")
    'marginals:2'
    """
    if not is_word(text) and _ONE_WORD.fullmatch(text.strip()):
        raise _unknown(text)
    return text


def _unknown(word: str) -> DataError:
    return DataError(f"there is no workload {word!r}", hint="write a file of statements, " + " or ".join(WORDS))


def split(queries: Sequence[LinearQuery], seed: int, notes: tuple[str, ...] = ()) -> Workload:
    """Distinct ``queries``, a share of them held out: the same for the same queries and ``seed``."""
    distinct = list({q.digest: q for q in queries}.values())
    if not distinct:
        raise DataError("the workload has no query", hint="write statements that count rows, or " + " or ".join(WORDS))
    if len(distinct) < FEWEST:
        return Workload(tuple(distinct), (), (*notes, f"fewer than {FEWEST} queries: none is held out"))
    chosen = coins("held out", seed, [q.digest for q in distinct]).permutation(len(distinct))
    held = set(chosen[: round(HELD_OUT * len(distinct))].tolist())
    told = tuple(q for i, q in enumerate(distinct) if i not in held)
    return Workload(told, tuple(q for i, q in enumerate(distinct) if i in held), notes)


def generated(table: TableDomain, word: str, seed: int) -> tuple[list[LinearQuery], tuple[str, ...]]:
    """The queries that ``word`` stands for, and notes. DataError for another word, or one that the table has not.

    >>> from dpsql.domain import BooleanDomain, IntegerDomain
    >>> t = TableDomain("t", (IntegerDomain("a", 0, 1, nullable=False), BooleanDomain("b", nullable=False)))
    >>> len(generated(t, "marginals:2", 1)[0]), len(generated(t, "prefixes:a", 1)[0])
    (4, 1)
    """
    match word.strip().split(":"):
        case ["marginals", k] if k.isdecimal() and int(k) > 0:
            return _marginals(table, int(k), seed)
        case ["prefixes", column]:
            return _prefixes(table, column), ()
        case ["cuts", "random", n] if n.isdecimal() and int(n) > 0:
            return _cuts(table, int(n), seed), ()
        case _:
            raise _unknown(word)


def _marginals(table: TableDomain, k: int, seed: int) -> tuple[list[LinearQuery], tuple[str, ...]]:
    """All cells of all sets of ``k`` finite columns, or as many of each set as fit."""
    columns = table.varied
    if k > len(columns):
        raise DataError(
            f"{table.name} has {len(columns)} columns with more than one value", hint=f"write marginals:{len(columns)}"
        )
    sets = list(combinations(columns, k))
    cells = sum(prod(c.size for c in chosen) for chosen in sets)
    rng = coins("marginals", table.name, k, seed)
    if cells <= MOST_QUERIES:
        return [q for chosen in sets for q in _cells(table, chosen, range(prod(c.size for c in chosen)))], ()
    if len(sets) > MOST_QUERIES:
        sets = [sets[i] for i in sorted(rng.choice(len(sets), MOST_QUERIES, replace=False).tolist())]
    each = ceil(MOST_QUERIES / len(sets))
    out: list[LinearQuery] = []
    for chosen in sets:
        size = prod(c.size for c in chosen)
        picked = range(size) if size <= each else sorted(set(rng.integers(size, size=each).tolist()))
        out += _cells(table, chosen, picked)
    number = "the one set of columns" if len(sets) == 1 else f"{len(sets):,} sets of columns"
    note = f"marginals:{k} has {cells:,} cells: {len(out):,} of them are drawn, evenly over {number}"
    return out, (note,)


def _cells(table: TableDomain, chosen: tuple[FiniteDomain, ...], cells: Sequence[int]) -> Iterator[LinearQuery]:
    shape = tuple(c.size for c in chosen)
    for cell in cells:
        codes = np.unravel_index(cell, shape)
        yield from _product(table, [(c, [int(i)]) for c, i in zip(chosen, codes, strict=True)])


def _prefixes(table: TableDomain, column: str) -> list[LinearQuery]:
    """Rows up to each value of a column in its order; all of it, and NULL, are left out."""
    domain = _finite(table, column)
    if not domain.ordered:
        raise DataError(f"{domain.name} has no order", hint="prefixes need a number, a date or an integer column")
    return [q for end in range(1, len(domain.values)) for q in _product(table, [(domain, range(end))])]


def _cuts(table: TableDomain, number: int, seed: int) -> list[LinearQuery]:
    """Rows from S to T for random sets of vertices: each vertex is in each with probability one half."""
    found = [
        pair
        for pair in combinations(table.varied, 2)
        if pair[0].values == pair[1].values and pair[0].sql_type == pair[1].sql_type
    ]
    if len(found) != 1:
        raise DataError(
            f"{table.name} has {len(found) or 'no'} pairs of columns with the same values",
            hint="cuts are of a table of edges: two columns, and only two, that declare the same vertices",
        )
    source, target = found[0]
    rng, out = coins("cuts", table.name, seed), []
    for _ in range(number):
        sets = [(c, np.flatnonzero(rng.random(len(c.values)) < 0.5)) for c in (source, target)]
        out += _product(table, sets)
    return out


def _product(table: TableDomain, sets: Sequence[tuple[FiniteDomain, Sequence[int] | Codes]]) -> list[LinearQuery]:
    """The rows whose code in each column is one of its set; none where that is empty."""
    factors = []
    for domain, codes in sets:
        weights = np.zeros(domain.size, dtype=np.int64)
        weights[np.asarray(codes, dtype=np.int64)] = 1
        factors.append(Factor((domain.name,), weights))
    query = linear_query(table, factors)
    return [] if query is None else [query]


def _finite(table: TableDomain, column: str) -> FiniteDomain:
    found = next((c for c in table.finite if c.name.lower() == column.strip().lower()), None)
    if found is None:
        names = ", ".join(c.name for c in table.finite) or "none"
        raise DataError(f"{table.name} has no finite column {column!r}", hint=f"its finite columns: {names}")
    return found
