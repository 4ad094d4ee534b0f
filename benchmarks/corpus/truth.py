"""The accepted statements executed, and their numbers beside DuckDB's own."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb

import dpsql
from benchmarks.corpus.statements import Case
from benchmarks.corpus.tables import DRAFTED, drafted, fill, policy
from dpsql.policy import Policy
from dpsql.result import Result

_CUT = re.compile(r"(?is)\s(LIMIT\s+\d+%?|FETCH\s+(NEXT|FIRST)\s+\d+\s+ROWS\s+ONLY)?(\s*OFFSET\s+\d+)?\s*$")
"""What cuts the last rows: which ones they are depends on the noise."""


_QUERY = re.compile(r"(?i)\s*(SELECT|WITH|FROM|PIVOT|UNPIVOT|\()")


@dataclass(frozen=True)
class Compared:
    """Of one statement: its numbers with a bar, those within it, and the rows that the truth does not have."""

    case: Case
    numbers: int
    inside: int
    unmatched: int


def compared(cases: Sequence[Case], folder: Path) -> Iterator[Compared]:
    """Each statement, executed by a session on the tables that it names alone: epsilon is for these."""
    rules = policy()
    truth = duckdb.connect()
    fill(truth, rules)
    groups: dict[tuple[str, ...], list[Case]] = {}
    for case in cases:
        if case.family != DRAFTED:
            words = frozenset(re.findall(r"\w+", case.sql.lower()))
            groups.setdefault(tuple(t.name for t in rules.tables if t.name in words), []).append(case)
    for names, found in groups.items():
        own = replace(rules, tables=tuple(t for t in rules.tables if t.name in names or not names))
        stored = folder / f"{'_'.join(names)}.duckdb"
        with duckdb.connect(str(stored)) as con:
            fill(con, rules)
        yield from _session(found, stored, own, truth)
    truth, drawn = drafted()
    stored = folder / "drafted.duckdb"
    drafted(stored)[0].close()
    yield from _session([c for c in cases if c.family == DRAFTED], stored, drawn, truth)


def _session(
    cases: Sequence[Case], stored: Path, rules: Policy, truth: duckdb.DuckDBPyConnection
) -> Iterator[Compared]:
    with dpsql.connect(stored, policy=rules, ledger=stored.with_suffix(".ledger"), new_budget=True) as session:
        for case in cases:
            result = session.execute(case.sql).result
            if _QUERY.match(case.sql) is None:  # what a command shows is of the policy, and changes nothing
                yield Compared(case, 0, 0, 0)
            else:
                yield _beside(case, result, truth.execute(_CUT.sub("", case.sql)).fetchall())


def _beside(case: Case, result: Result, theirs: Sequence[tuple[Any, ...]]) -> Compared:
    """Rows are matched by the columns that are no released numbers, where these tell rows apart."""
    keys = [i for i in range(len(result.names)) if i not in result.column_answers]
    truth = {_key(row, keys): row for row in theirs}
    if len(truth) < len(theirs):
        return Compared(case, 0, 0, 0)
    numbers = inside = unmatched = 0
    for position, row in enumerate(zip(*(c.to_pylist() for c in result.table.columns), strict=True)):
        true = truth.get(_key(row, keys))
        if true is None:
            unmatched += 1
            continue
        for column, answers in result.column_answers.items():
            bar, exact = answers[position].interval, true[column]
            if bar is None or not isinstance(exact, (int, float, Decimal)):
                continue
            slack = 1e-6 * max(1.0, abs(float(exact)))
            numbers += 1
            inside += bar[0] - slack <= float(exact) <= bar[1] + slack
    return Compared(case, numbers, inside, unmatched)


def _key(row: Sequence[Any], keys: Sequence[int]) -> tuple[str, ...]:
    return tuple(str(row[i]) for i in keys)
