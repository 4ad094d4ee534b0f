"""Workloads: ad-hoc statements as SQL text, from a seed. Public randomness, nothing to do with noise.

Dense: 1 to 4 columns per statement, each with ``=``, ``IN`` (2 to 4 values) or, for numbers, a range; 3 % of the
statements are GROUP BYs; statements repeat by a Zipf law with exponent .8, as analysts' do.
Sparse: half point queries, half IN lists of 2 to 50 strings; a string is drawn by its frequency, uniformly among the
strings that occur, or (10 %) does not occur at all.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

ZIPF = 0.8
GROUP_BY_SHARE = 0.03


@dataclass(frozen=True)
class Column:
    """A column of the workload: its values in order; ``ordered`` columns also get ranges."""

    name: str
    values: tuple[object, ...]
    ordered: bool = False
    weight: float = 1.0


def literal(value: object) -> str:
    return "'" + str(value).replace("'", "''") + "'" if isinstance(value, str) else str(value)


def _predicate(column: Column, rng: np.random.Generator) -> str:
    values, kind, size = column.values, rng.random(), len(column.values)
    if column.ordered and kind < 0.5:
        low, high = sorted(rng.integers(0, size, 2).tolist())
        return f"{column.name} BETWEEN {literal(values[low])} AND {literal(values[high])}"
    if kind < 0.6 or size <= 2:
        return f"{column.name} = {literal(values[int(rng.integers(size))])}"
    chosen = sorted(rng.choice(size, size=int(rng.integers(2, min(4, size - 1) + 1)), replace=False).tolist())
    return f"{column.name} IN ({', '.join(literal(values[i]) for i in chosen)})"


def dense_statements(table: str, columns: Sequence[Column], count: int, seed: int) -> list[str]:
    """``count`` statements in asking order, repeats included."""
    rng = np.random.default_rng(seed)
    weights = np.array([c.weight for c in columns])
    weights = weights / weights.sum()
    pool = []
    for _ in range(count):
        width = int(rng.integers(1, min(4, len(columns)) + 1))
        chosen = [columns[i] for i in sorted(rng.choice(len(columns), size=width, replace=False, p=weights).tolist())]
        group = chosen[int(rng.integers(width))] if rng.random() < GROUP_BY_SHARE else None
        where = [_predicate(c, rng) for c in chosen if c is not group]
        sql = f"SELECT {f'{group.name}, ' if group else ''}COUNT(*) FROM {table}"
        sql += f" WHERE {' AND '.join(where)}" if where else ""
        pool.append(sql + (f" GROUP BY {group.name}" if group else ""))
    return [pool[i] for i in zipf_order(count, rng)]


def zipf_order(count: int, rng: np.random.Generator) -> list[int]:
    """``count`` indices below ``count``, drawn with probability proportional to rank^-.8."""
    p = np.arange(1, count + 1) ** -ZIPF
    return [int(i) for i in rng.choice(count, size=count, p=p / p.sum())]


def sparse_statements(
    table: str, column: str, counts: Sequence[tuple[str, int]], count: int, seed: int
) -> list[tuple[str, tuple[str, ...]]]:
    """``count`` pairs of a statement and the strings it lists."""
    rng = np.random.default_rng(seed)
    strings = [s for s, _ in counts]
    p = np.array([c for _, c in counts], dtype=float)
    p = p / p.sum()

    def one() -> str:
        u = rng.random()
        if u < 0.5:
            return strings[int(rng.choice(len(strings), p=p))]
        if u < 0.9:
            return strings[int(rng.integers(len(strings)))]
        return f"absent{int(rng.integers(10**6))}"

    out = []
    for _ in range(count):
        listed = tuple(sorted({one() for _ in range(1 if rng.random() < 0.5 else int(rng.integers(2, 51)))}))
        if len(listed) == 1:
            sql = f"SELECT COUNT(*) FROM {table} WHERE {column} = {literal(listed[0])}"
        else:
            sql = f"SELECT COUNT(*) FROM {table} WHERE {column} IN ({', '.join(map(literal, listed))})"
        out.append((sql, listed))
    return out
