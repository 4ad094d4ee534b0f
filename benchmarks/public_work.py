"""What public work may cost: every allowed function, and statements made to be dear, at the largest input let through.

``python -m benchmarks.public_work`` prints, for each, CPU seconds, by how much memory grew, and what became of it.
About half an hour.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import product

import duckdb
import pyarrow as pa

from dpsql.errors import Error
from dpsql.public import DuckDbPublicSql
from dpsql.public.process import MEMORY
from dpsql.sql.expressions.expansion import MAX_PADDING
from dpsql.sql.expressions.functions import SCALAR
from dpsql.sql.public_sql import GridColumn
from tests.support.grammar.cost import Cost, Meter

LARGEST, FEW = 4096, 16
ARGUMENTS = {
    "string": f"lpad(a::VARCHAR, {MAX_PADDING}, 'ab')",
    "other": f"rpad(b::VARCHAR, {MAX_PADDING}, 'ba')",
    "pattern": "'(a|b|ab)*c'",
    "number": "(a * 4096 + b)",
    "small": "3",
    "day": "(DATE '1900-01-01' + (a + b)::INTEGER)",
    "interval": "to_days(a::INTEGER)",
    "part": "'day'",
}
STATEMENTS = {
    "one long call": "levenshtein(lpad(a::VARCHAR, 10000, 'a'), lpad(b::VARCHAR, 10000, 'b')) > 3",
    "LIKE with many %": "lpad(a::VARCHAR, 10000, 'a') LIKE '%a%a%a%a%a%a%a%a%b'",
    "GLOB with many *": "lpad(a::VARCHAR, 10000, 'a') GLOB '*a*a*a*a*a*a*a*a*b'",
    "regular expression": "lpad(a::VARCHAR, 10000, 'a') SIMILAR TO '((a{1,30}){1,30})*b'",
    "many hashes": "md5(" * 60 + "a::VARCHAR || b" + ")" * 60 + " = 'x'",
    "long strings": " || ".join([f"lpad(a::VARCHAR, {MAX_PADDING}, 'x')"] * 200) + " = b::VARCHAR",
}


def grid(size: int) -> list[GridColumn]:
    """Two columns; 4,096 values of each are as many cells as one condition may span."""
    return [GridColumn(name, "BIGINT", tuple(range(1, size + 1))) for name in ("a", "b")]


def measured(sql: DuckDbPublicSql, work: Callable[[], object]) -> tuple[Cost, str]:
    """What the work cost this process and its children, and what became of it."""
    meter = Meter()
    with meter.around(""):
        try:
            with sql.statement():
                work()
            outcome = "answered"
        except Error as error:
            outcome = error.message
    return meter.costs[0], outcome


def arities(name: str) -> list[int]:
    """How many arguments a function may have, up to 4; all where DuckDB takes it for syntax."""
    text = "SELECT DISTINCT len(parameters), varargs IS NOT NULL FROM duckdb_functions() WHERE function_name = ?"
    found = duckdb.execute(text, [name]).fetchall()
    if not found or any(more for _, more in found):
        return [1, 2, 3]
    return sorted(count for count, _ in found if count <= 4)


def calls(sql: DuckDbPublicSql, name: str) -> Iterator[str]:
    """Calls of a function that DuckDB accepts on one cell."""
    for count in arities(name):
        for chosen in product(ARGUMENTS.values(), repeat=count):
            call = f"{name}({', '.join(chosen)})"
            with suppress(Error):
                sql.truth(grid(1), [f"{call} IS NULL"])
                yield call


def dearest(sql: DuckDbPublicSql, name: str) -> str | None:
    """The accepted call that takes longest on few cells."""
    found = [(measured(sql, lambda c=c: sql.truth(grid(FEW), [f"{c} IS NULL"]))[0].cpu, c) for c in calls(sql, name)]
    return max(found)[1] if found else None


def largest(sql: DuckDbPublicSql, name: str, predicate: str) -> Cost:
    """The cost of a predicate over as many cells as one may span, which is printed."""
    cost, outcome = measured(sql, lambda: sql.truth(grid(LARGEST), [predicate]))
    print(f"{name:28} {cost.cpu:7.2f} s {cost.memory >> 20:5} MB  {outcome[:70]}", flush=True)
    return cost


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="functions; all without any")
    names = sorted(parser.parse_args().names or SCALAR)
    sql = DuckDbPublicSql(lambda _: pa.table({}))
    costs = []
    for name in names:
        call = dearest(sql, name)
        if call is None:
            print(f"{name:28} has no accepted call", file=sys.stderr)
            continue
        costs.append(largest(sql, name, f"{call} IS NULL"))
    costs += [largest(sql, name, predicate) for name, predicate in STATEMENTS.items()]
    seconds, memory = max(c.cpu for c in costs), max(c.memory for c in costs)
    print(f"at most {seconds:.2f} s CPU and {memory >> 20} MB more; the process has {MEMORY >> 20} MB")


if __name__ == "__main__":
    main()
