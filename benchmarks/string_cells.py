"""How near lists with a condition are by cells of strings, simulated: ``python -m benchmarks.string_cells``.

Every string of a table has its true counts by each column, with the noise that a plan of epsilon 1 and 3,000 statements
would give them; those of ``heavy`` sds of it and more count as measured. Lists of 1 to 200 strings, by rows or evenly,
with a condition on the column: mean error in counts by one prior for all cells (the rules before) and by a mixture.
"""

import tempfile
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path

import click
import duckdb
import numpy as np
import numpy.typing as npt

from benchmarks.report import show
from benchmarks.tables import BenchmarkTable
from benchmarks.zipf import LONGEST, TABLES
from dpsql.hypothesis.strings.cells import drawn_cells, strayed
from dpsql.hypothesis.strings.mixture import mixed_cells
from dpsql.hypothesis.strings.rest import rest_beside, rest_of
from dpsql.planning import Shares, make_plan
from dpsql.planning.strings import text_starts

Floats = npt.NDArray[np.float64]
PLANNED, LISTS = 3_000, 500


def counts(table: BenchmarkTable, column: str) -> Floats:
    """True counts, one row a string, one column a value that occurs."""
    assert table.text is not None
    with duckdb.connect(str(table.path)) as con:
        found = con.execute(
            f"SELECT {table.text.name}, CAST({column} AS VARCHAR), COUNT(*) FROM {table.domain.name} "
            f"WHERE {table.text.name} IS NOT NULL GROUP BY ALL ORDER BY ALL"
        ).fetchall()
    strings, values = ({v: i for i, v in enumerate(dict.fromkeys(r[n] for r in found))} for n in (0, 1))
    out = np.zeros((len(strings), len(values)))
    for string, value, n in found:
        out[strings[string], values[value]] = n
    return out


def lists(true: Floats, rng: np.random.Generator) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    """Places of the strings and of the values of each question."""
    strings, values = true.shape
    by_row = true.sum(axis=1) / true.sum()
    for _ in range(LISTS):
        length = min(strings, int(np.rint(np.exp(rng.uniform(0.0, np.log(LONGEST))))))
        p = by_row if rng.random() < 0.5 else None
        number = int(rng.integers(1, max(2, values // 2 + 1)))
        yield rng.choice(strings, size=length, replace=False, p=p), rng.choice(values, size=number, replace=False)


def errors(true: Floats, sigmas: tuple[float, float], heavy: float, seed: int) -> dict[str, float]:
    """Mean errors of the lists; ``sigmas`` of a string's count and of its cells."""
    rng = np.random.default_rng(seed)
    rows, cells = true.sum(axis=1) + rng.normal(0, sigmas[0], len(true)), true + rng.normal(0, sigmas[1], true.shape)
    asked, whole = list(lists(true, rng)), true.sum(axis=0)
    counted = rows >= heavy * sigmas[1]
    noise, shares = np.full(counted.sum(), sigmas[1] ** 2), whole / whole.sum()
    measured = cells[counted], noise, rows[counted], np.full(counted.sum(), sigmas[0] ** 2), shares
    prior, spreads = np.outer(rows[counted], shares), np.outer(rows[counted] ** 2, shares * (1.0 - shares))
    one, mixture = drawn_cells(*measured), mixed_cells(*measured)
    ways = {
        "one prior": (one, rest_of(whole, one, noise)),
        "mixture": (mixture.counts, rest_beside(whole, mixture, strayed(cells[counted], noise, prior, spreads))),
    }
    found = {"strings": float(counted.sum())}
    for name, (estimate, rest) in ways.items():
        all_cells = np.multiply.outer(rows, rest.shares)
        all_cells[counted] = estimate
        found[name] = float(np.mean([abs((all_cells - true)[np.ix_(i, j)].sum()) for i, j in asked]))
    return found


@click.command()
@click.option("--table", "tables", type=click.Choice(list(TABLES)), multiple=True, default=tuple(TABLES))
@click.option("--heavy", type=float, multiple=True, default=(6.0, 4.0, 3.0, 2.0))
@click.option("--seed", default=1)
def main(tables: Sequence[str], heavy: Sequence[float], seed: int) -> None:
    rows: list[dict[str, object]] = []
    for name in tables:
        with tempfile.TemporaryDirectory() as folder:
            table = TABLES[name](Path(folder))
            assert table.text is not None
            policy = table.policy(Fraction(1), PLANNED, strategy="auto")
            start = text_starts(Shares(make_plan(policy), policy), policy.tables[0])[table.text.name]
            for column in table.columns:
                true = counts(table, column.name)
                for least in heavy:
                    sigmas = float(start.count_sigma), float(start.pair_sigma)
                    found = errors(true, sigmas, least, seed)
                    rows.append({"table": name, "column": column.name, "values": true.shape[1], "heavy": least} | found)
    show("Lists of strings with a condition, by cells of strings", rows, "string_cells", ["mean errors in counts"])


if __name__ == "__main__":
    main()
