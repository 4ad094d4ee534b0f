"""Workloads: ad-hoc questions from a seed. Public randomness, nothing to do with noise.

Dense: 1 to 4 columns per question, each with ``=``, ``IN`` (2 to 4 values) or, for numbers, a range; 3 % of the
questions are GROUP BYs; questions repeat by a Zipf law with exponent .8, as analysts' do.
With a text column: a given share of the questions lists strings of it, half of them one, half 2 to 50, and half of them
ask for one finite column besides; a string is drawn by its frequency, uniformly among those that occur, or (10 %) does
not occur at all.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.question import Condition, Question

ZIPF = 0.8
GROUP_BY_SHARE = 0.03


@dataclass(frozen=True)
class Column:
    """A column of the workload: its values in order; ``ordered`` columns also get ranges."""

    name: str
    values: tuple[object, ...]
    ordered: bool = False
    weight: float = 1.0


@dataclass(frozen=True)
class TextColumn:
    """A text column: the strings that occur with their counts, and the share of questions that list some of them."""

    name: str
    counts: tuple[tuple[str, int], ...]
    share: float


class _Strings:
    """Draws strings of a text column."""

    def __init__(self, counts: Sequence[tuple[str, int]], rng: np.random.Generator) -> None:
        self.strings = [s for s, _ in counts]
        p = np.array([c for _, c in counts], dtype=float)
        self.p = np.cumsum(p / p.sum())
        self.rng = rng

    def one(self) -> str:
        u = self.rng.random()
        if u < 0.5:
            return self.strings[
                min(int(np.searchsorted(self.p, self.rng.random(), side="right")), len(self.strings) - 1)
            ]
        if u < 0.9:
            return self.strings[int(self.rng.integers(len(self.strings)))]
        return f"absent{int(self.rng.integers(10**6))}"

    def some(self) -> tuple[str, ...]:
        size = 1 if self.rng.random() < 0.5 else int(self.rng.integers(2, 51))
        return tuple(sorted({self.one() for _ in range(size)}))


def _condition(column: Column, rng: np.random.Generator) -> Condition:
    values, kind, size = column.values, rng.random(), len(column.values)
    if column.ordered and kind < 0.5:
        low, high = sorted(rng.integers(0, size, 2).tolist())
        return Condition(column.name, values[low : high + 1], ranged=True)
    if kind < 0.6 or size <= 2:
        return Condition(column.name, (values[int(rng.integers(size))],))
    chosen = sorted(rng.choice(size, size=int(rng.integers(2, min(4, size - 1) + 1)), replace=False).tolist())
    return Condition(column.name, tuple(values[i] for i in chosen))


def _dense(table: str, columns: Sequence[Column], p: np.ndarray, rng: np.random.Generator) -> Question:
    width = int(rng.integers(1, min(4, len(columns)) + 1))
    chosen = [columns[i] for i in sorted(rng.choice(len(columns), size=width, replace=False, p=p).tolist())]
    group = chosen[int(rng.integers(width))] if rng.random() < GROUP_BY_SHARE else None
    where = tuple(_condition(c, rng) for c in chosen if c is not group)
    return Question(table, where, None if group is None else group.name)


def questions(
    table: str, columns: Sequence[Column], count: int, seed: int, text: TextColumn | None = None
) -> list[Question]:
    """``count`` questions in asking order, repeats included."""
    rng = np.random.default_rng(seed)
    weights = np.array([c.weight for c in columns])
    p = weights / weights.sum()
    strings = None if text is None else _Strings(text.counts, rng)
    pool = []
    for _ in range(count):
        if text is None or strings is None or rng.random() >= text.share:
            pool.append(_dense(table, columns, p, rng))
            continue
        listed = Condition(text.name, strings.some())
        other = () if rng.random() < 0.5 else (_condition(columns[int(rng.choice(len(columns), p=p))], rng),)
        pool.append(Question(table, (listed, *other)))
    return [pool[i] for i in zipf_order(count, rng)]


def dense_statements(table: str, columns: Sequence[Column], count: int, seed: int) -> list[str]:
    """``questions`` as SQL text."""
    return [q.sql for q in questions(table, columns, count, seed)]


def zipf_order(count: int, rng: np.random.Generator) -> list[int]:
    """``count`` indices below ``count``, drawn with probability proportional to rank^-.8."""
    p = np.arange(1, count + 1) ** -ZIPF
    return [int(i) for i in rng.choice(count, size=count, p=p / p.sum())]


def sparse_statements(
    table: str, column: str, counts: Sequence[tuple[str, int]], count: int, seed: int
) -> list[tuple[str, tuple[str, ...]]]:
    """``count`` pairs of a statement on one text column and the strings it lists, without repeats by a Zipf law."""
    strings = _Strings(counts, np.random.default_rng(seed))
    out = []
    for _ in range(count):
        listed = strings.some()
        out.append((Question(table, (Condition(column, listed),)).sql, listed))
    return out
