"""One session's errors and the Gaussian's on a stranger's statements. Real noise for dpsql, numpy's for the peer."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import duckdb
import numpy as np

import dpsql
from benchmarks.strangers.kinds import Asked, Stranger, stream
from benchmarks.tables import BenchmarkTable
from dpsql.accounting import calibrate
from dpsql.errors import Error

Values = dict[tuple[object, ...], float]


@dataclass(frozen=True)
class Number:
    """One released number: what is true, what was said and within which 95 % error; ``peer``: the Gaussian's, cut at 0.

    ``certified``: the guaranteed bound where there is one.
    """

    kind: str
    truth: float
    said: float
    error: float | None
    certified: float | None
    peer: float
    source: str


@dataclass(frozen=True)
class Session:
    """Numbers of one session; ``refused``: statements that were not answered, by kind; ``sigma``: the Gaussian's."""

    numbers: list[Number]
    refused: dict[str, int]
    sigma: float


def run(table: BenchmarkTable, kinds: Sequence[str], queries: int, epsilon: Fraction, seed: int) -> Session:
    """``queries`` statements of the kinds in turn, planned as so many; the Gaussian is told the distinct ones."""
    truth = _Truth(table)
    asked = stream(Stranger(table, truth.count, seed), kinds, queries)
    distinct = len({a.sql for a in asked})
    sigma = gaussian_sigma(epsilon, distinct)
    rng = np.random.default_rng([seed, 1])
    policy = table.policy(epsilon, queries, strategy="auto")
    numbers: list[Number] = []
    refused: dict[str, int] = {}
    seen: set[str] = set()
    with dpsql.connect(table.path, policy=policy, ledger=":memory:") as con:
        for a in asked:
            if a.sql in seen:
                continue
            seen.add(a.sql)
            true = truth.values(a)
            try:
                cursor = con.execute(a.sql)
            except Error:
                refused[a.kind] = refused.get(a.kind, 0) + 1
                continue
            rows = cursor.fetchall()
            for row, answer in zip(rows, cursor.answers, strict=True):
                key = tuple(str(v) for v in row[: a.groups])
                here = true.pop(key, 0.0)
                noisy = max(0.0, here + float(np.rint(rng.normal(0.0, sigma))))
                bound = answer.certified_bound if answer.certified else None
                numbers.append(Number(a.kind, here, float(row[-1]), answer.error, bound, noisy, answer.source))
            for here in true.values():  # groups that were not shown
                numbers.append(Number(a.kind, here, 0.0, None, None, here, "none"))
    truth.close()
    return Session(numbers, refused, sigma)


def gaussian_sigma(epsilon: Fraction, releases: int) -> float:
    """Sd of each of so many counts that share (epsilon, 1e-6), by the accountant that dpsql has."""
    plan = calibrate(epsilon, Fraction(1, 10**6), hard_rounds=0, releases=releases)
    return float(plan.release_sigma(plan.release_budget // releases))


class _Truth:
    """DuckDB's own answers."""

    def __init__(self, table: BenchmarkTable) -> None:
        self._con = duckdb.connect()
        name = table.domain.name
        self._con.execute(f"ATTACH '{table.path}' AS d (READ_ONLY)")
        self._con.execute(f"CREATE TABLE {name} AS FROM d.{name}")
        self._con.execute("DETACH d")

    def count(self, sql: str) -> int:
        ((found,),) = self._con.execute(sql).fetchall()
        return int(found)

    def values(self, asked: Asked) -> Values:
        rows = self._con.execute(asked.sql).fetchall()
        return {tuple(str(v) for v in row[: asked.groups]): float(row[-1]) for row in rows}

    def close(self) -> None:
        self._con.close()
