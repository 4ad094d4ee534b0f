"""Do bars hold through arithmetic? ``python -m benchmarks.arithmetic [--table adult6] [--epsilon 1]``.

500 percentages, 100 window shares and 100 sums over CTEs with random conditions, each compared with what DuckDB makes
of the same text on the rows. Coverage of the 95 % bars, their median in medians of what the numbers were off by, how
many numbers had no bar, and how many bars csv and json carry. Each row of a statement's result is a number.
"""

import csv
import io
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import click
import duckdb
import numpy as np

import dpsql
from benchmarks.catalog import TABLES
from benchmarks.options import command_text
from benchmarks.question import Condition
from benchmarks.report import show
from benchmarks.tables import BenchmarkTable
from benchmarks.workload import questions
from dpsql.domain import NumberDomain
from dpsql.interface.render.result import render_result
from dpsql.interface.render.style import PLAIN

Row = dict[str, object]
Truth = dict[tuple[object, ...], float | None]
CONDITIONS_SEED = 500
LARGEST_GROUPS = 30


@dataclass(frozen=True)
class Number:
    """One computed number: how far it was off, its bar, and whether csv and json carry the bar."""

    off: float
    error: float | None
    carried: bool


class Writer:
    """Writes random statements on one table."""

    def __init__(self, table: BenchmarkTable, seed: int) -> None:
        self._table = table.domain.name
        self._rng = np.random.default_rng(seed)
        self._edges = {d.name: d.edges for d in table.domain.columns if isinstance(d, NumberDomain)}
        self._small = [c for c in table.columns if c.name not in self._edges and len(c.values) <= LARGEST_GROUPS]
        asked = questions(self._table, table.columns, 4000, CONDITIONS_SEED + seed)
        self._conditions = iter([list(map(self._sql, q.conditions)) for q in dict.fromkeys(asked) if q.conditions])

    def _sql(self, condition: Condition) -> str:
        """The condition; of a number column a range between edges, which holds every row of its bins."""
        edges = self._edges.get(condition.column)
        if edges is None:
            return condition.sql
        values = [float(str(v)) for v in condition.values]
        above = next(e for e in edges if e > max(values))
        return f"{condition.column} >= {min(values)} AND {condition.column} < {above}"

    def percentage(self) -> str:
        """The share of rows with a property, among all rows, among those of a condition, or in each group."""
        kind = self._rng.random()
        part = " AND ".join(next(self._conditions)[:2])
        share = f"100.0 * COUNT(*) FILTER (WHERE {part}) / COUNT(*) AS p"
        if kind < 0.3:
            return f"SELECT {share} FROM {self._table}"
        if kind < 0.7:
            return f"SELECT {share} FROM {self._table} WHERE {next(self._conditions)[0]}"
        group = self._group()
        return f"SELECT {group}, {share} FROM {self._table} GROUP BY {group}"

    def window_share(self) -> str:
        """Each group's share of all, perhaps of the largest only."""
        group, where = self._group(), self._where()
        cut = " ORDER BY p DESC LIMIT 5" if self._rng.random() < 0.5 else ""
        share = "100.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS p"
        return f"SELECT {group}, {share} FROM {self._table}{where} GROUP BY {group}{cut}"

    def sum_over_cte(self) -> str:
        """Sums over groups: of the large ones, of all as a share, of differences from one group to the next."""
        group, where = self._group(), self._where()
        cte = f"WITH g AS (SELECT {group} AS k, COUNT(*) AS n FROM {self._table}{where} GROUP BY {group})"
        match int(self._rng.integers(3)):
            case 0:
                return f"{cte} SELECT SUM(n) AS p FROM g WHERE n > {int(self._rng.integers(100, 2000))}"
            case 1:
                return f"{cte} SELECT 100.0 * MAX(n) / SUM(n) AS p FROM g"
            case _:
                return f"{cte} SELECT k, SUM(n) OVER (ORDER BY k) AS p FROM g"

    def _group(self) -> str:
        return self._small[int(self._rng.integers(len(self._small)))].name

    def _where(self) -> str:
        return "" if self._rng.random() < 0.3 else f" WHERE {next(self._conditions)[0]}"


def truths(path: Path, texts: Sequence[str]) -> list[Truth]:
    """What DuckDB makes of the texts on the rows, by the public columns before the number."""
    with duckdb.connect(str(path)) as exact:
        found = [exact.execute(text.partition(" ORDER BY p")[0]).fetchall() for text in texts]
    return [{row[:-1]: row[-1] for row in rows} for rows in found]


def numbers(con: dpsql.Connection, text: str, truth: Truth) -> Iterator[Number]:
    """The computed numbers of a statement beside DuckDB's own; rows that DuckDB does not have are left out."""
    result = con.execute(text).result
    rows = result.table.to_pylist()
    flat = list(csv.DictReader(io.StringIO(str(render_result(result, "csv", PLAIN)))))
    objects = json.loads(render_result(result, "json", PLAIN))
    answers = result.column_answers[result.names.index("p")]
    for row, answer, line, told in zip(rows, answers, flat, objects, strict=True):
        true = truth.get(tuple(row.values())[:-1])
        if true is None or answer.value is None or not np.isfinite(answer.value):
            continue
        carried = answer.error is None or (
            float(line["p_error"]) == answer.error == told["p"]["error"]
            and (float(line["p_low"]), float(line["p_high"]))
            == answer.interval
            == (told["p"]["low"], told["p"]["high"])
            and line["p_source"] == answer.source == told["p"]["source"]
        )
        yield Number(abs(float(answer.value) - float(true)), answer.error, carried)


def row(title: str, found: Sequence[Number], statements: int, seconds: float) -> Row:
    """Coverage and width of one kind."""
    known = [n for n in found if n.error is not None]
    off = float(np.median([n.off for n in known]))
    bar = float(np.median([n.error for n in known if n.error is not None]))
    return {
        "kind": title,
        "statements": statements,
        "numbers": len(found),
        "without bar": len(found) - len(known),
        "coverage": round(float(np.mean([n.off <= (n.error or 0.0) for n in known])), 3),
        "median error": off,
        "median bar": bar,
        "width": round(bar / off, 1),
        "in csv and json": round(float(np.mean([n.carried for n in known])), 3),
        "ms each": round(1000 * seconds / statements, 1),
    }


def study(table: BenchmarkTable, epsilon: Fraction, seed: int, share: float, strategy: str) -> list[Row]:
    """A row per kind, from one session that answers all statements."""
    writer = Writer(table, seed)
    kinds: list[tuple[str, Callable[[], str], int]] = [
        ("percentages", writer.percentage, 500),
        ("window shares", writer.window_share, 100),
        ("sums over CTEs", writer.sum_over_cte, 100),
    ]
    texts = {title: [write() for _ in range(max(1, round(count * share)))] for title, write, count in kinds}
    true = {title: truths(table.path, asked) for title, asked in texts.items()}
    out = []
    policy = table.policy(epsilon, strategy=strategy)
    with dpsql.connect(table.path, policy=policy, ledger=":memory:") as con:
        con.execute(texts["percentages"][0])
        for title, asked in texts.items():
            begin = time.perf_counter()
            found = [n for text, known in zip(asked, true[title], strict=True) for n in numbers(con, text, known)]
            out.append(row(title, found, len(asked), time.perf_counter() - begin))
    return out


@click.command()
@click.option("--table", "names", type=click.Choice(list(TABLES)), multiple=True, default=("adult6", "flights"))
@click.option("--epsilon", default="1")
@click.option("--strategy", default="auto")
@click.option("--seed", default=1)
@click.option("--share", default=1.0, help="Of the statements, for a quick look.")
def main(names: Sequence[str], epsilon: str, strategy: str, seed: int, share: float) -> None:
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            rows = study(TABLES[name](Path(folder)), Fraction(epsilon), seed, share, strategy)
        command = command_text("arithmetic", table=name, epsilon=epsilon, strategy=strategy, seed=seed, share=share)
        title = f"{name}, epsilon {epsilon}, strategy {strategy}: bars of computed numbers against DuckDB's own answers"
        notes = ["width = median bar over the median of what numbers were off by", command]
        show(title, rows, f"arithmetic_{name}_eps{epsilon}_{strategy}", notes)


if __name__ == "__main__":
    main()
