"""One session's errors and the Gaussian's on a stranger's statements. Real noise for dpsql, numpy's for the peer."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt

import duckdb
import numpy as np

import dpsql
from benchmarks.strangers.kinds import Asked, Stranger, stream
from benchmarks.tables import BenchmarkTable
from dpsql.accounting import calibrate
from dpsql.errors import Error

Values = dict[tuple[object, ...], float | None]
"""By group; ``None`` is a sum or an average of nothing."""


@dataclass(frozen=True)
class Number:
    """One released number: what is true, what was said and within which 95 % error; ``peer``: the Gaussian's, cut at 0.

    ``certified``: the guaranteed bound where there is one. A sum is counted in what one row can add to it, an average
    in the range of its values, so that columns are comparable.
    """

    kind: str
    truth: float
    said: float
    error: float | None
    certified: float | None
    peer: float
    source: str

    def in_units_of(self, unit: float) -> "Number":
        """The same, all of it in units of so many."""
        error = None if self.error is None else self.error / unit
        bound = None if self.certified is None else self.certified / unit
        return replace(
            self, truth=self.truth / unit, said=self.said / unit, error=error, certified=bound, peer=self.peer / unit
        )


@dataclass(frozen=True)
class Session:
    """Numbers of one session; ``refused``: what was not answered, by kind (averages over too few rows among it);
    ``sigma``: the Gaussian's.
    """

    numbers: list[Number]
    refused: dict[str, int]
    sigma: float


def run(table: BenchmarkTable, kinds: Sequence[str], queries: int, epsilon: Fraction, seed: int) -> Session:
    """``queries`` statements of the kinds in turn, planned as so many (an average as two); the Gaussian is
    told the distinct ones.
    """
    truth = _Truth(table)
    asked = stream(Stranger(table, truth, seed), kinds, queries)
    distinct = len({a.sql for a in asked})
    sigma = gaussian_sigma(epsilon, distinct)
    rng = np.random.default_rng([seed, 1])
    planned = queries + sum(a.counted is not None for a in asked)
    policy = table.policy(epsilon, planned, strategy="auto")
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
                if here is None:
                    continue
                if row[-1] is None:
                    refused[a.kind] = refused.get(a.kind, 0) + 1
                    continue
                noisy = _noisy(a, here, sigma, truth, rng)
                bound = answer.certified_bound if answer.certified else None
                numbers.append(
                    Number(a.kind, here, float(row[-1]), answer.error, bound, noisy, answer.source).in_units_of(
                        _unit(a)
                    )
                )
            for here in filter(None, true.values()):  # groups that were not shown
                numbers.append(Number(a.kind, here, 0.0, None, None, here, "none"))
    truth.close()
    return Session(numbers, refused, sigma)


def _unit(asked: Asked) -> float:
    """What errors are counted in: rows, what one row can add to a sum, or the range of an average's values."""
    if asked.values is None:
        return 1.0
    low, high = asked.values
    return max(high - low, 1e-9) if asked.counted else max(abs(low), abs(high), 1e-9)


def _noisy(asked: Asked, true: float, sigma: float, truth: "_Truth", rng: np.random.Generator) -> float:
    """The Gaussian's answer: a count's is cut at 0, a sum's kept within its signs; an average is a noisy sum of
    distances from the middle over a noisy count, each with half of the precision, kept within the range.
    """
    if asked.values is None:
        return max(0.0, true + float(np.rint(rng.normal(0.0, sigma))))
    low, high = asked.values
    if asked.counted is None:
        found = true + rng.normal(0.0, sigma * _unit(asked))
        return float(max(0.0, found) if low >= 0.0 else found)
    middle, half, rows = (low + high) / 2, (high - low) / 2, truth.count(asked.counted)
    over = max(1.0, rows + rng.normal(0.0, sigma * sqrt(2.0)))
    return float(
        np.clip(middle + (rows * (true - middle) + rng.normal(0.0, sigma * sqrt(2.0) * half)) / over, low, high)
    )


def gaussian_sigma(epsilon: Fraction, releases: int) -> float:
    """Sd of each of so many counts that share (epsilon, 1e-6), by the accountant that dpsql has."""
    plan = calibrate(epsilon, Fraction(1, 10**6), hard_rounds=0, releases=releases)
    return float(plan.release_sigma(plan.release_budget // releases))


class _Truth:
    """DuckDB's own answers."""

    def __init__(self, table: BenchmarkTable) -> None:
        self._con = duckdb.connect()
        self._name = name = table.domain.name
        self._con.execute(f"ATTACH '{table.path}' AS d (READ_ONLY)")
        self._con.execute(f"CREATE TABLE {name} AS FROM d.{name}")
        self._con.execute("DETACH d")

    def count(self, sql: str) -> int:
        ((found,),) = self._con.execute(sql).fetchall()
        return int(found)

    def row(self, number: int, columns: Sequence[str]) -> Sequence[object]:
        """The values of one row, in the order of insertion."""
        names = ", ".join(columns)
        return self._con.execute(f"SELECT {names} FROM {self._name} LIMIT 1 OFFSET {number}").fetchall()[0]

    def values(self, asked: Asked) -> Values:
        rows = self._con.execute(asked.sql).fetchall()
        return {tuple(str(v) for v in row[: asked.groups]): None if row[-1] is None else float(row[-1]) for row in rows}

    def close(self) -> None:
        self._con.close()
